"""ONNX Runtime itself: whether it is installed, and its import on first use."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from itertools import takewhile
from typing import Any

from etconfig.plugin.v1 import Availability
from etconfig_onnxruntime.errors import unavailable

MINIMUM_VERSION = (1, 23)
"""The first version that lists devices (`get_ep_devices`)."""

_DISTRIBUTIONS = (
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-openvino",
    "onnxruntime-directml",
    "onnxruntime-qnn",
    "onnxruntime-rocm",
)
"""The distributions of the module `onnxruntime`: each has other providers."""

_INSTALL = "install it: pip install onnxruntime"


def installed_version() -> str | None:
    """Return the version of the installed distribution; None if none of the known ones is installed."""
    from importlib import metadata  # 15 ms, for all that only read the schema

    for name in _DISTRIBUTIONS:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def engine_availability() -> Availability:
    """Check whether ONNX Runtime is installed in a version that this package knows, without importing it."""
    if find_spec("onnxruntime") is None:
        return Availability.no("ONNX Runtime is not installed", _INSTALL)
    found = installed_version()
    if found is not None and (version_numbers(found) or MINIMUM_VERSION) < MINIMUM_VERSION:
        needed = ".".join(map(str, MINIMUM_VERSION))
        reason = f"ONNX Runtime {found} is installed, and {needed} or newer is needed"
        return Availability.no(reason, "update it: pip install --upgrade onnxruntime")
    return Availability.yes()


def import_engine() -> Any:
    """Return the module `onnxruntime`.

    Raises:
        BackendUnavailableError: it is not installed, too old, or its import fails.
    """
    found = engine_availability()
    if not found.is_available:
        raise unavailable(found.reason or "", found.fix or "")
    try:
        return importlib.import_module("onnxruntime")
    except (ImportError, OSError) as error:  # a shared library of it is missing or broken
        raise unavailable(
            f"importing onnxruntime failed: {error}", "install it again, for this Python and this machine"
        ) from error


def version_numbers(text: str) -> tuple[int, ...] | None:
    """Return the numbers of a version, such as (1, 24, 4); None if it does not begin with two numbers.

    Numbers end at the first part that is none: a development version counts as the release that it becomes.
    """
    numbers = tuple(map(int, takewhile(str.isdecimal, text.split("."))))
    return numbers if len(numbers) >= 2 else None
