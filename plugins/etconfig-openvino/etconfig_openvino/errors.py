"""The errors of this plugin.

EtconfigError
└── OpenvinoError          OpenVINO cannot do what was asked
    ├── ModelError           it cannot read, compile or import the model; a RuntimeError, too
    ├── AdjustedValueError   it uses other values than those asked for; a RuntimeError, too
    └── PropertyError        an option does not suit the device or OpenVINO's version; a ValueError, too

ValueError
├── OptionConflictsError   options do not fit together
└── PayloadError           a delegate's payload cannot be used

OpenVINO that is missing or too old is etconfig's BackendUnavailableError; a payload for another OpenVINO or
processor is its DelegateInvalidCompatibilityError.
"""

from __future__ import annotations

from dataclasses import dataclass

from etconfig.plugin.v1 import EtconfigError


@dataclass(eq=False, repr=False)
class OpenvinoError(EtconfigError):
    """OpenVINO cannot do what was asked.

    Attributes:
        problem: What is wrong and what to do, in a sentence.
    """

    problem: str

    template = "{problem}"


class ModelError(OpenvinoError, RuntimeError):
    """OpenVINO cannot read, compile or import the model."""


class AdjustedValueError(OpenvinoError, RuntimeError):
    """OpenVINO uses other values than those asked for."""


class PropertyError(OpenvinoError, ValueError):
    """An option does not suit the device or OpenVINO's version."""


class OptionConflictsError(ValueError):
    """Options do not fit together; each argument is one problem, and etconfig reports each by itself."""

    def __str__(self) -> str:
        return "; ".join(self.args)


class PayloadError(ValueError):
    """The payload of a delegate cannot be used."""
