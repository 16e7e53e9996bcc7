"""Detectors and the readings that they return. Plugins implement `Detector` too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias

from etconfig.base.records import record
from etconfig.facts.detecting.system import System
from etconfig.facts.registry import FactValue


@record(frozen=True)
class Reading:
    """The result of a detector for one fact.

    Attributes:
        name: The fact, such as `cpu.model` or `gpu.0.name`.
        value: The value, or None if it is unknown.
        source: The place that was read: a path on the device, or a call.
        detail: How the value follows from the source, if that is not obvious.
        reason: Why the value is unknown, in words; None if it is known.
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
        """Return a reading of `value`, or an unknown one with the reason `otherwise` if it is None."""
        if value is None:
            return cls(name, None, source, reason=otherwise)
        return cls(name, value, source, detail)

    @classmethod
    def unknown(cls, name: str, source: str, reason: str) -> Reading:
        """Return a reading of a fact that is unknown, with the reason."""
        return cls(name, None, source, reason=reason)


Find: TypeAlias = "Callable[[System], Iterable[Reading]]"
"""A function that looks for the facts of one topic."""


class Detector(Protocol):
    """Finds facts within 2 s; the readings given by then count, the other facts are unknown."""

    @property
    def name(self) -> str:
        """The name in reasons, such as `memory`."""

    @property
    def provides(self) -> Sequence[str]:
        """The names in the registry of the facts that it finds, such as `gpu.<n>.name`."""

    def detect(self, system: System) -> Iterable[Reading]:
        """Return the readings one by one. This runs in another thread.

        An exception makes the remaining facts unknown, with the exception as the reason. A detector that
        reads files and runs commands only through `system` can be tested on captured trees and leaves no
        process behind.
        """


@record(frozen=True)
class FunctionDetector:
    """A detector made of one function.

    Attributes:
        name: The name in reasons.
        provides: The facts that it finds.
        function: Returns the readings.
    """

    name: str
    provides: tuple[str, ...]
    function: Callable[[System], Iterable[Reading]]

    def detect(self, system: System) -> Iterable[Reading]:
        """Return the readings of the function."""
        return self.function(system)
