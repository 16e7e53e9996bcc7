"""`SystemDetector`: a detector of one topic, with a function for each operating system."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from etconfig.base.records import record
from etconfig.facts.detecting.detector import Find, Reading
from etconfig.facts.detecting.system import System

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
        finds, own = [self.in_files], system.host.system
        if own in self.elsewhere:
            module = import_module(f"etconfig.facts.detecting.detectors.{MODULES[own]}")
            finds.insert(0, module.FINDERS[self.name])
        given: set[str] = set()
        for find in finds:
            for reading in find(system):
                given.add(reading.name)
                yield reading
            if given:
                break
        for fact in self.provides:
            if fact not in given and "<" not in fact:  # the number of a family's members is unknown
                reason = f"etconfig does not look for it on {system.host.system or 'an unnamed system'}"
                yield Reading.unknown(fact, f"detector {self.name}", reason)
