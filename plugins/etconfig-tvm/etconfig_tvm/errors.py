"""The errors of this plugin.

EtconfigError
└── TvmError             TVM cannot do what was asked
    ├── ThreadPoolError    the pool of the calling thread has fewer threads than asked
    ├── DeviceError        the device is absent, or cannot run delegates
    ├── PrivateFileError   a library cannot be put where it is loaded from
    ├── TargetError        the target of a compilation is unknown to LLVM
    └── CompileError       a model cannot be compiled
"""

from __future__ import annotations

from dataclasses import dataclass

from etconfig.plugin.v1 import EtconfigError


@dataclass(kw_only=True, eq=False, repr=False)
class TvmError(EtconfigError):
    """TVM cannot do what was asked.

    Attributes:
        problem: What is wrong, in a sentence.
    """

    problem: str

    template = "{problem}"


class ThreadPoolError(TvmError):
    """The pool of the calling thread has fewer threads than asked."""


class DeviceError(TvmError):
    """The device is absent, or cannot run delegates."""


class PrivateFileError(TvmError):
    """A library cannot be put where it is loaded from, such as without room for it."""


class TargetError(TvmError):
    """The target of a compilation is unknown to LLVM."""


class CompileError(TvmError):
    """A model cannot be compiled."""
