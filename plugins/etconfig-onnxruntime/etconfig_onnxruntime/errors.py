"""The errors and warnings of this package."""

from __future__ import annotations

from dataclasses import dataclass

from etconfig.plugin.v1 import BackendUnavailableError, EtconfigError

BACKEND_ID = "OnnxRuntimeBackend"


class ProviderFallbackWarning(UserWarning):
    """An execution provider that was asked for is not here, and the options allow to go on without it."""


@dataclass(kw_only=True, eq=False, repr=False)
class ModelRefusedError(EtconfigError):
    """A model does not fit the options of its session.

    Attributes:
        model: The model: its path, or its size if it was passed as bytes.
        cause: What does not fit.
    """

    model: str
    cause: str

    template = "{model}: {cause}"


def unavailable(reason: str, help: str) -> BackendUnavailableError:
    """Return the error that ONNX Runtime, or a part of it, is not here."""
    return BackendUnavailableError(backend=BACKEND_ID, reason=reason, help=help)


class DelegateArgumentError(ValueError):
    """The arguments of a delegate call do not fit its model."""
