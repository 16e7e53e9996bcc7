"""The errors of this package, and its id."""

from __future__ import annotations

from dataclasses import dataclass

from etconfig.plugin.v1 import BackendUnavailableError, EtconfigError

BACKEND_ID = "TorchBackend"


@dataclass(eq=False, repr=False)
class TorchError(EtconfigError):
    """PyTorch cannot do what was asked.

    Attributes:
        problem: What is wrong and what to do, in a sentence.
    """

    problem: str

    template = "{problem}"


class SettingRefusedError(TorchError, RuntimeError):
    """PyTorch refuses a setting of the process, or something else in the process needs another value."""


class UnreadableModelError(TorchError, ValueError):
    """A model's file is absent, damaged or something else than an exported program."""


class UnsafeArchiveError(UnreadableModelError):
    """An exported program contains code, or what PyTorch would run as code while it reads the file."""


class CallRefusedError(ValueError):
    """A delegate was called with values that its program does not take."""


def unavailable(reason: str, help: str) -> BackendUnavailableError:
    """Return the error that PyTorch, or a device of it, is not here."""
    return BackendUnavailableError(backend=BACKEND_ID, reason=reason, help=help)
