"""The errors of this package, and its id."""

from __future__ import annotations

from etconfig.plugin.v1 import BackendUnavailableError

BACKEND_ID = "TorchBackend"


class SettingRefusedError(RuntimeError):
    """PyTorch refuses a setting of the process, or something else in the process needs another value."""


class UnsafeArchiveError(ValueError):
    """An exported program contains code, or what PyTorch would run as code while it reads the file."""


class CallRefusedError(ValueError):
    """A delegate was called with values that its program does not take."""


def unavailable(reason: str, help: str) -> BackendUnavailableError:
    """Return the error that PyTorch, or a device of it, is not here."""
    return BackendUnavailableError(backend=BACKEND_ID, reason=reason, help=help)
