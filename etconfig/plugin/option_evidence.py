"""Evidence that an option has an effect: what changes with its value, or why nothing can be observed."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from etconfig.base.records import record

LEAST_WORDS = 3
"""A shorter reason explains nothing."""


class Observable(enum.Enum):
    """Something that the conformance kit can observe from outside while a method loads and runs."""

    OUTPUT = "output"
    """The bits of the outputs, or the error in their place."""
    TIME = "time"
    """The time of an execute."""
    MEMORY = "memory"
    """The largest amount of memory in use, from load to the end of execute."""
    THREADS = "threads"
    """The number of threads that share the work of an execute, or that are there after it."""
    FILES = "files"
    """The files that are opened, and the files in the directory `{tmp}` of the kit afterwards."""
    TRACE = "trace"
    """The names of the trace events that the backend records."""


Expect: TypeAlias = Literal["more", "less", "other"]
"""The change from the first value to the second; `other` is any difference."""

_MEASURED = {Observable.TIME, Observable.MEMORY, Observable.THREADS}


@record(frozen=True)
class Observed:
    """The observable that changes with an option: evidence that the option has an effect.

    Attributes:
        observable: An `Observable`, or its value, such as `output`.
        values: Two values of the option that differ in it. By default, the usual value and another value that
            the schema allows. `{tmp}` in a text is a directory that the kit makes.
        expect: `more` or `less`: the change of what is counted or measured, from the first value to the
            second; `other`: any difference.
        case: The case of the kit to run; by default, the first case that shows a difference.
        beside: Other options that both values are combined with.

    Raises:
        ValueError: the observable or `expect` is not known, or `time` has no direction.
        TypeError: `values` are not two.
    """

    observable: Observable | Literal["output", "time", "memory", "threads", "files", "trace"]
    values: tuple[object, object] | None = None
    expect: Expect = "other"
    case: str | None = None
    beside: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = [each.value for each in Observable]
        if not isinstance(self.observable, Observable) and self.observable not in known:
            raise ValueError(f"observable is {self.observable!r}; expected one of {', '.join(known)}")
        object.__setattr__(self, "observable", Observable(self.observable))
        if self.values is not None and (not isinstance(self.values, tuple) or len(self.values) != 2):
            raise TypeError(f"values are {self.values!r}; expected two in a tuple, such as (1, 4)")
        if self.expect not in ("more", "less", "other"):
            raise ValueError(f"expect is {self.expect!r}; expected more, less or other")
        if self.observable is Observable.TIME and (self.expect == "other" or self.values is None):
            raise ValueError('time needs values=(A, B), and expect="more" or "less"')
        if self.expect != "other" and self.observable not in _MEASURED:
            raise ValueError(f"{self.kind.value} has no direction; leave out expect")

    @property
    def kind(self) -> Observable:
        """The observable as a member of the enum."""
        return Observable(self.observable)


@record(frozen=True)
class Unobservable:
    """An option whose effect cannot be observed from outside.

    Attributes:
        reason: Why; the report of the conformance kit shows it.

    Raises:
        ValueError: the reason is too short to explain anything.
    """

    reason: str

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str) or len(self.reason.split()) < LEAST_WORDS:
            raise ValueError(f"the reason is {self.reason!r}; expected a sentence")


Evidence: TypeAlias = "Observed | Unobservable"
"""The evidence of one option."""
