"""What the distribution of a backend contributes besides the backend."""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.conformance.subject import Subject
from etconfig.plugin import FACTS, EntryPoint
from etconfig.plugin.hookspecs import FactsContribution
from etconfig.plugin.loader import FACTS_HOOK, load_plugin


def entries_of_vendor(subject: Subject) -> Iterator[EntryPoint]:
    """All that the backend's distribution declares to etconfig."""
    for entry in subject.installation.index.installed:
        if entry.distribution == subject.entry.distribution:
            yield entry


def facts_of_vendor(subject: Subject) -> tuple[FactsContribution, ...]:
    """The facts and detectors of the backend's distribution. Raises PluginLoadError."""
    return tuple(
        load_plugin(entry, FACTS_HOOK) for entry in entries_of_vendor(subject) if entry.group == FACTS
    )
