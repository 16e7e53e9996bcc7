"""What this plugin refuses; the executor reports it as the cause of its `DelegateError`.

ValueError
├── PayloadError              the payload cannot be used
│   ├── NotAPayloadError        it is something else
│   ├── PayloadVersionError     its format has another version
│   ├── TruncatedPayloadError   it ends too early
│   ├── DamagedPayloadError     its checksum does not match
│   └── InvalidGraphError       its contents contradict themselves
├── CompileSpecError          a compile spec is not known
└── DelegateArgumentError     the caller's tensors do not fit the delegate
"""

from __future__ import annotations


class PayloadError(ValueError):
    """The payload cannot be used."""


class NotAPayloadError(PayloadError):
    """The bytes are not a payload of this plugin."""


class PayloadVersionError(PayloadError):
    """The payload has a format version that this plugin does not read."""


class TruncatedPayloadError(PayloadError):
    """The payload is shorter than it says."""


class DamagedPayloadError(PayloadError):
    """The payload's bytes are not those that were written."""


class InvalidGraphError(PayloadError):
    """The payload is intact, but what it describes cannot be computed."""


class CompileSpecError(ValueError):
    """A compile spec is not known."""


class DelegateArgumentError(ValueError):
    """The tensors of a call do not fit the delegate."""
