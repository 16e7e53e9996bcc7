"""The other contributions of a backend's distribution: its entry points, facts and detectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError
from etconfig.conformance.subject.subject import Subject
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.detecting.detection import detect, fact_of
from etconfig.facts.detecting.detector import Detector, FunctionDetector, Reading
from etconfig.facts.detecting.sources import DEVICE_ROOT
from etconfig.facts.detecting.system import System
from etconfig.facts.registry import FactRegistry
from etconfig.facts.sheet import FactSheet
from etconfig.plugin import FACTS, EntryPoint
from etconfig.plugin.call_check import code_place
from etconfig.plugin.contributions import FACTS_HOOK
from etconfig.plugin.hookspecs import FactsContribution
from etconfig.plugin.loader import load_plugin


def entries_of_vendor(subject: Subject) -> Iterator[EntryPoint]:
    """Yield every entry point that the backend's distribution declares for etconfig."""
    for entry in subject.installation.index.installed:
        if entry.distribution == subject.entry.distribution:
            yield entry


def facts_of_vendor(subject: Subject) -> tuple[FactsContribution, ...]:
    """Return the facts and detectors of the backend's distribution. Raises PluginLoadError."""
    entries = [entry for entry in entries_of_vendor(subject) if entry.group == FACTS]
    return tuple(load_plugin(entry, FACTS_HOOK) for entry in entries)


class VendorFacts:
    """The facts of a distribution, and its detectors, observed.

    Args:
        subject: The backend.

    Attributes:
        registry: The built-in facts and the distribution's.
        detectors: The distribution's detectors.

    Raises:
        NotApplicableError: it contributes no detector.
        PluginLoadError: its contribution cannot be loaded.
        CheckFailedError: it declares facts that others declare already.
    """

    def __init__(self, subject: Subject) -> None:
        contributions = facts_of_vendor(subject)
        self.registry = BUILTIN_FACTS
        try:
            for each in contributions:
                self.registry = self.registry.extended(each.facts)
        except ValueError as error:
            raise CheckFailedError(f"{subject.entry.source}: {error}") from error
        self.detectors = [
            WatchedDetector(detector, self.registry) for each in contributions for detector in each.detectors
        ]
        if not self.detectors:
            raise NotApplicableError(f"{subject.entry.source} contributes no detector of facts")

    def detect(self, system: System | None = None) -> FactSheet:
        """Return what the detectors find, by default on this device; their time is limited."""
        return detect(system or DEVICE_ROOT, registry=self.registry, detectors=self.detectors)

    def require_no_error(self, where: str) -> None:
        """Raise CheckFailedError if a detector failed, or returned something that the core refuses."""
        for each in self.detectors:
            if each.error is not None:
                raise CheckFailedError(
                    f"{each} failed {where}: {type(each.error).__name__}: {each.error}; return "
                    "Reading.unknown with a reason for a fact that cannot be found out"
                )


class WatchedDetector:
    """Forwards the readings of a detector, and notes how it ended.

    Attributes:
        has_ended: True if it returned or raised.
        error: The error that it raised, or that one of its readings caused.
    """

    def __init__(self, inner: Detector, registry: FactRegistry) -> None:
        self._inner = inner
        self._registry = registry
        self.has_ended = False
        self.error: BaseException | None = None

    @property
    def name(self) -> str:
        """The name that the vendor gave it."""
        return self._inner.name

    @property
    def provides(self) -> Sequence[str]:
        """The names of the facts that it looks for."""
        return self._inner.provides

    def __str__(self) -> str:
        code = self._inner.function if isinstance(self._inner, FunctionDetector) else type(self._inner)
        return f"{code_place(code)}detector {self.name!r}"

    def detect(self, system: System) -> Iterable[Reading]:
        """Yield the vendor's readings, each checked as the core checks it."""
        self.has_ended, self.error = False, None
        try:
            for reading in self._inner.detect(system):
                fact_of(reading, self._inner, self._registry)
                yield reading
        except GeneratorExit:
            raise
        except BaseException as error:  # also SystemExit, which the core treats as a failure
            self.error = error
            raise
        finally:
            self.has_ended = True
