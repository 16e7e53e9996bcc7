"""The native extension, loaded only if it fits the installed runtime.

The runtime's C++ interface is not stable, so an extension that was built against another release
would crash instead of raising an error.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from etconfig_executorch._build import EXECUTORCH_VERSION


def _check_runtime() -> None:
    try:
        installed = version("executorch")
    except PackageNotFoundError:
        raise ImportError(
            f"etconfig-executorch needs executorch {_public(EXECUTORCH_VERSION)}, which is not installed; "
            f"pip install executorch=={_public(EXECUTORCH_VERSION)}"
        ) from None
    if _public(installed) != _public(EXECUTORCH_VERSION):
        raise ImportError(
            f"etconfig-executorch was built against executorch {_public(EXECUTORCH_VERSION)}, but "
            f"{_public(installed)} is installed; install that release: "
            f"pip install executorch=={_public(EXECUTORCH_VERSION)}"
        )


def _public(full_version: str) -> str:
    """Return the version without its local part, such as `+cpu`."""
    return full_version.partition("+")[0]


RUNTIME = f"executorch {_public(EXECUTORCH_VERSION)}"
"""The name and version of the runtime."""


_check_runtime()

from etconfig_executorch import _native as native  # noqa: E402  # after the check

__all__ = ["RUNTIME", "native"]
