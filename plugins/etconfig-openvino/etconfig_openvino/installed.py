"""The installed OpenVINO: whether it is there, and new enough. Nothing here imports it."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

from etconfig.plugin.v1 import Availability, BackendUnavailableError

BACKEND_ID = "OpenvinoBackend"
OLDEST = (2025, 0)
"""The first release with the names in `openvino` that this plugin uses."""

INSTALL = 'pip install "openvino>=2025"'


def installed_version() -> str | None:
    """Return the version of the installed OpenVINO, such as `2026.4.1`; None if there is none."""
    from importlib import metadata  # 15 ms, for all that only read the schema

    try:
        return metadata.version("openvino")
    except metadata.PackageNotFoundError:
        return None


def availability() -> Availability:
    """Return whether OpenVINO can be imported here, without importing it."""
    if importlib.util.find_spec("openvino") is None:
        return Availability.no("OpenVINO is not installed", INSTALL)
    version = installed_version()
    if version is not None and _release(version) < OLDEST:
        return Availability.no(
            f"OpenVINO {version} is too old; this plugin needs {OLDEST[0]}.{OLDEST[1]} or later", INSTALL
        )
    return Availability.yes()


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


@cache
def openvino() -> Any:
    """Return the module `openvino`.

    Raises:
        BackendUnavailableError: it is missing, too old, or cannot be imported.
    """
    answer = availability()
    if not answer.is_available:
        raise BackendUnavailableError(backend=BACKEND_ID, reason=str(answer.reason), help=answer.fix)
    try:
        import openvino
    except (ImportError, OSError) as error:
        raise BackendUnavailableError(
            backend=BACKEND_ID, reason=f"OpenVINO cannot be imported: {error}", help=INSTALL
        ) from error
    return openvino
