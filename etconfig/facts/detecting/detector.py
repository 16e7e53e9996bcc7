"""Detectors and the readings that they return. Plugins implement `Detector` too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
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


MODULES = {"Android": "android", "Darwin": "macos", "Windows": "windows"}
"""The modules of the systems, by `Host.system`; each is imported only on its system."""


@record(frozen=True)
class SystemDetector:
    """A detector of one topic.

    Attributes:
        name: The name in reasons, and the key in `FINDERS` of each system's module.
        provides: The facts that it finds.
        in_files: Finds them in the files of Linux. It runs wherever the system's own function gives no
            reading, and reports the files that are missing.
        elsewhere: The systems in `MODULES` that have a function of their own.
    """

    name: str
    provides: tuple[str, ...]
    in_files: Find
    elsewhere: tuple[str, ...] = ()

    def detect(self, system: System) -> Iterator[Reading]:
        """Return the readings of the system's function, and unknown ones for facts that it does not find."""
        given: set[str] = set()
        for find in self._functions(system):
            for reading in find(system):
                given.add(reading.name)
                yield reading
            if given:
                break
        for fact in self.provides:
            if fact not in given and "<" not in fact:  # the number of a family's members is unknown
                reason = f"etconfig does not look for it on {system.host.system or 'an unnamed system'}"
                yield Reading.unknown(fact, f"detector {self.name}", reason)

    def _functions(self, system: System) -> Iterator[Find]:
        name = system.host.system
        if name in self.elsewhere:
            yield import_module(f"etconfig.facts.detecting.detectors.{MODULES[name]}").FINDERS[self.name]
        yield self.in_files
