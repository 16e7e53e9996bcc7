"""The errors of this plugin.

RuntimeError
├── ModelError             OpenVINO cannot read, compile or import the model
└── AdjustedValueError     OpenVINO uses other values than those asked for

ValueError
├── PropertyError          an option does not suit the device or OpenVINO's version
└── PayloadError           a delegate's payload cannot be used

OpenVINO that is missing or too old is etconfig's BackendUnavailableError; a payload for another OpenVINO or
processor is its DelegateInvalidCompatibilityError.
"""

from __future__ import annotations


class ModelError(RuntimeError):
    """OpenVINO cannot read, compile or import the model."""


class AdjustedValueError(RuntimeError):
    """OpenVINO uses other values than those asked for."""


class PropertyError(ValueError):
    """An option does not suit the device or OpenVINO's version."""


class PayloadError(ValueError):
    """The payload of a delegate cannot be used."""
