"""What a detector is, and what it returns. Plugins implement `Detector` too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias

from etconfig.facts.registry import FactValue
from etconfig.facts.system import System
from etconfig.records import record


@record(frozen=True)
class Reading:
    """What a detector found out about one fact.

    Attributes:
        name: The fact, such as `cpu.model` or `gpu.0.name`.
        value: The value, or None when it is unknown.
        source: Where it was read or looked for: a path on the device, a call.
        detail: How the value follows from the source, where that is not plain.
        reason: Why the value is unknown, in words; None when it is known.
    """

    name: str
    value: FactValue | None
    source: str
    detail: str | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None):
            raise ValueError(f"a reading of {self.name!r} needs either a value or a reason")

    @classmethod
    def of(
        cls, name: str, value: FactValue | None, source: str, *, otherwise: str, detail: str | None = None
    ) -> Reading:
        """A reading of `value`; when that is None, an unknown one for the reason `otherwise`."""
        if value is None:
            return cls(name, None, source, reason=otherwise)
        return cls(name, value, source, detail)

    @classmethod
    def unknown(cls, name: str, source: str, reason: str) -> Reading:
        """A reading that tells why the fact is unknown."""
        return cls(name, None, source, reason=reason)


Find: TypeAlias = "Callable[[System], Iterable[Reading]]"
"""A function that looks for the facts of one topic."""


class Detector(Protocol):
    """Finds facts. It may take 2 s; what it has given by then counts, the rest is unknown."""

    @property
    def name(self) -> str:
        """What reasons call it, such as `memory`."""

    @property
    def provides(self) -> Sequence[str]:
        """The facts that it looks for, by their names in the registry: `gpu.<n>.name`."""

    def detect(self, system: System) -> Iterable[Reading]:
        """Give the readings one by one. It runs in a thread of its own.

        An exception makes the facts that were not yet given unknown, with the exception as
        the reason. Whoever reads and runs commands only through `system` can be tested on
        captured trees, and leaves no process behind.
        """


@record(frozen=True)
class FunctionDetector:
    """A detector made of one function.

    Attributes:
        name: What reasons call it.
        provides: The facts that it looks for.
        function: Gives the readings.
    """

    name: str
    provides: tuple[str, ...]
    function: Callable[[System], Iterable[Reading]]

    def detect(self, system: System) -> Iterable[Reading]:
        """Give the readings of the function."""
        return self.function(system)
