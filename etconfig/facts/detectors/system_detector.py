"""`SystemDetector`: one topic, looked into in another way on each operating system."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from etconfig.facts.detector import Find, Reading
from etconfig.facts.system import System
from etconfig.records import record

MODULES = {"Android": "android", "Darwin": "macos", "Windows": "windows"}
"""The modules that know a system, by `Host.system`; each is imported on its system only."""


@record(frozen=True)
class SystemDetector:
    """A detector of one topic.

    Attributes:
        name: What reasons call it, and its key in `FINDERS` of each system's module.
        provides: The facts that it looks for.
        in_files: Finds them in the files of Linux. It is asked wherever no function of the
            system's own gives a reading, and says truly which files are missing.
        elsewhere: The systems, as in `MODULES`, that have a function of their own.
    """

    name: str
    provides: tuple[str, ...]
    in_files: Find
    elsewhere: tuple[str, ...] = ()

    def detect(self, system: System) -> Iterator[Reading]:
        """Give the readings of the system's function, and a reason for what it does not look for."""
        given: set[str] = set()
        for find in self._functions(system):
            for reading in find(system):
                given.add(reading.name)
                yield reading
            if given:
                break
        for fact in self.provides:
            if fact not in given and "<" not in fact:  # how many members a family has is not known
                reason = f"etconfig does not look for it on {system.host.system or 'an unnamed system'}"
                yield Reading.unknown(fact, f"detector {self.name}", reason)

    def _functions(self, system: System) -> Iterator[Find]:
        name = system.host.system
        if name in self.elsewhere:
            yield import_module(f"etconfig.facts.detectors.{MODULES[name]}").FINDERS[self.name]
        yield self.in_files
