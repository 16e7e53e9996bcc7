"""`ContributedFacts`: the facts of plugins, known and detected without importing what declares them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING

from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactInfo, FactRegistry, LazyFactRegistry, Volatility
from etconfig.plugin.entry_points import FACTS, EntryPoint
from etconfig.plugin.failure import load_error

if TYPE_CHECKING:
    from etconfig.facts.detecting.detector import Detector
    from etconfig.facts.fact import Fact
    from etconfig.facts.sheet import FactSheet
    from etconfig.plugin.hookspecs import FactsContribution
    from etconfig.plugin.index import PluginIndex
    from etconfig.plugin.registry import PluginRegistry


class ContributedFacts:
    """The facts of the plugins of an installation.

    A plugin whose distribution declares its facts is imported when one of them is detected. Others are
    imported when a fact is named that nobody declares, and when facts of this device are detected.

    Args:
        index: The installed plugins.
        plugins: Returns what imports them; called when one must be imported.
    """

    def __init__(self, index: PluginIndex, plugins: Callable[[], PluginRegistry]) -> None:
        self._entries = index.entries(FACTS)
        self._plugins = plugins
        self._index = index

    @cached_property
    def registry(self) -> FactRegistry:
        """The built-in facts and the plugins' facts."""
        if not self._entries:
            return BUILTIN_FACTS
        declared = FactRegistry(tuple(chain.from_iterable(self._declared.values())))
        return LazyFactRegistry(BUILTIN_FACTS, lambda: declared, self._complete_registry)

    def detect(self) -> FactSheet:
        """Detect the facts of this device; facts that never change, when something asks for them.

        That are declared facts which are not live: a later look finds the same.
        """
        from etconfig.facts.deferred import DeferredPart
        from etconfig.facts.detecting.detection import detect
        from etconfig.facts.sheet import deferring_sheet

        if not self._entries:
            return detect()
        later = {entry: infos for entry, infos in self._declared.items() if _stay(infos)}
        if not later:
            return detect(registry=self.registry, detectors=self._detectors_of(self._declared))
        present = FactRegistry(
            BUILTIN_FACTS.infos
            + tuple(chain.from_iterable(self._infos_of(each) for each in self._entries if each not in later))
        )
        others = [entry for entry in self._declared if entry not in later]
        sheet = detect(registry=present, detectors=self._detectors_of(others))
        parts = (
            DeferredPart(frozenset(info.namespace for info in infos), partial(self._detect_one, entry))
            for entry, infos in later.items()
        )
        return deferring_sheet(sheet, tuple(parts), self.registry)

    def redetect(self, sheet: FactSheet) -> FactSheet:
        """Return a sheet whose live facts are detected again."""
        from etconfig.facts.detecting.detection import redetect

        live = [entry for entry, infos in self._declared.items() if not _stay(infos)]
        return redetect(sheet, detectors=self._detectors_of(live))

    @cached_property
    def _declared(self) -> Mapping[EntryPoint, tuple[FactInfo, ...]]:
        """The facts of the plugins that declare them, and whose namespaces nobody else has."""
        found: dict[EntryPoint, tuple[FactInfo, ...]] = {}
        taken = {info.namespace for info in BUILTIN_FACTS.infos}
        for entry in self._entries:
            infos = self._index.declarations.facts(entry)
            if infos is not None and not taken.intersection(info.namespace for info in infos):
                found[entry] = infos
                taken.update(info.namespace for info in infos)
        return found

    @cached_property
    def _imported(self) -> Mapping[EntryPoint, FactsContribution]:
        """The contributions of the plugins that do not declare their facts; broken ones are left out."""
        others = [entry for entry in self._entries if entry not in self._declared]
        if not others:
            return {}
        from etconfig.plugin.contributions import FACTS_HOOK
        from etconfig.plugin.hookspecs import FactsContribution
        from etconfig.schema.spec import ApiRange

        api = ApiRange(min=1, built=1)
        beside = [FactsContribution(api=api, facts=infos) for infos in self._declared.values()]
        return self._plugins().contributions_by_entry(FACTS_HOOK, others, beside)

    def _infos_of(self, entry: EntryPoint) -> tuple[FactInfo, ...]:
        if entry in self._declared:
            return self._declared[entry]
        return self._imported[entry].facts if entry in self._imported else ()

    def _complete_registry(self) -> FactRegistry:
        return FactRegistry(
            BUILTIN_FACTS.infos + tuple(chain.from_iterable(map(self._infos_of, self._entries)))
        )

    def _detectors_of(self, declaring: Sequence[EntryPoint] | Mapping[EntryPoint, object]) -> list[Detector]:
        """Return the built-in detectors, and detectors of plugins without declarations and of `declaring`."""
        from etconfig.facts.detecting.detectors import BUILTIN_DETECTORS

        found: list[Detector] = [*BUILTIN_DETECTORS]
        for entry in self._entries:
            if entry in declaring:
                found.extend(self._detectors(entry))
            elif entry in self._imported:
                found.extend(self._imported[entry].detectors)
        return found

    def _detectors(self, entry: EntryPoint) -> tuple[Detector, ...]:
        """Return the detectors of a plugin that declares its facts; none if it is broken."""
        from etconfig.plugin.contributions import FACTS_HOOK

        found = self._plugins().contributions_by_entry(FACTS_HOOK, [entry], check=self._check_declared)
        return found[entry].detectors if found else ()

    def _check_declared(self, entry: EntryPoint, contribution: FactsContribution) -> None:
        """Raise PluginLoadError if a plugin has other facts than its distribution declares."""
        declared = self._declared[entry]
        if tuple(contribution.facts) != declared:
            pairs = zip((*declared, None), (*contribution.facts, None), strict=False)
            first, second = next(pair for pair in pairs if pair[0] != pair[1])
            name = first.name if first is not None else second.name if second is not None else ""
            cause = f"its facts are not those in the file that etconfig.declared names; first {name!r}"
            raise load_error(entry, cause, "write the same facts in that file, in the same order")
        names = {info.name for info in declared}
        for detector in contribution.detectors:
            strange = [name for name in detector.provides if name not in names]
            if strange:
                cause = (
                    f"detector {detector.name!r} provides {strange[0]!r}, which the file that "
                    "etconfig.declared names does not have"
                )
                raise load_error(entry, cause, "leave the facts of this plugin out of that file")

    def _detect_one(self, entry: EntryPoint) -> Mapping[str, Fact]:
        from etconfig.base.provenance import Origin, OriginKind
        from etconfig.facts.detecting.detection import detect
        from etconfig.facts.fact import unknown_facts

        registry, detectors = FactRegistry(self._declared[entry]), self._detectors(entry)
        plugin = (entry.group, entry.name, entry.distribution)
        for failure in self._plugins().failures:
            if (failure.group, failure.name, failure.distribution) == plugin:
                origin = Origin(OriginKind.DETECTED, entry.source)
                return unknown_facts(registry, f"its plugin is broken: {failure.cause}", origin)
        return detect(registry=registry, detectors=detectors).facts


def _stay(infos: Sequence[FactInfo]) -> bool:
    """Return True if no fact changes by itself while a process runs."""
    return all(info.volatility is not Volatility.LIVE for info in infos)
