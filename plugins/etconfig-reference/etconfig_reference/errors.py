"""The errors of this plugin; the executor reports them as causes of its `DelegateError`.

ValueError
├── PayloadError              the payload cannot be used
│   ├── NotAPayloadError        it is not a payload of this plugin
│   ├── TruncatedPayloadError   it ends too early
│   ├── DamagedPayloadError     its checksum does not match
│   ├── MissingDataError        the program lacks data that it refers to
│   └── InvalidGraphError       its contents contradict themselves
├── CompileSpecError          a compile spec is unknown or wrongly encoded
└── DelegateArgumentError     the caller's tensors do not fit the delegate

RuntimeError
└── DeviceError               the simulated device does not answer

A payload whose format has another version is etconfig's DelegateInvalidCompatibilityError.
"""

from __future__ import annotations


class PayloadError(ValueError):
    """The payload cannot be used."""


class NotAPayloadError(PayloadError):
    """The bytes are not a payload of this plugin."""


class TruncatedPayloadError(PayloadError):
    """The payload is shorter than its header says."""


class DamagedPayloadError(PayloadError):
    """The payload's bytes were changed after they were written."""


class MissingDataError(PayloadError):
    """The payload refers to named data that the program does not have."""


class InvalidGraphError(PayloadError):
    """The payload is intact, but its graph cannot be computed."""


class CompileSpecError(ValueError):
    """A compile spec is unknown or wrongly encoded."""


class DelegateArgumentError(ValueError):
    """The tensors of a call do not fit the delegate."""


class DeviceError(RuntimeError):
    """The simulated device does not answer."""
