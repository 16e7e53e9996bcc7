"""`FactSheet`: all facts of one device, whether detected, read from a file or set by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from etconfig.base.parameters import AnyPath, as_path, check_type
from etconfig.base.provenance import Origin, OriginKind
from etconfig.facts import sheet_json
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.deferred import DeferredFacts, DeferredPart, DeferredValues, LazyFacts
from etconfig.facts.fact import Fact, known_facts, unknown_facts
from etconfig.facts.facts_by_hand import FactOverrides, checked_values, source_facts
from etconfig.facts.registry import HIDDEN_VALUE, FactRegistry, FactValue
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, count_text, shown_text

_TELLING = ("device.model", "os.name", "cpu.arch", "cpu.available_cores", "power.source")
"""The facts by which a device is recognized in one line."""


@dataclass(frozen=True, eq=False, repr=False)
class FactSheet(HasView):
    """All facts of one device, by name.

    A sheet contains every fact of its registry, unknown ones with a reason, and the members of indexed
    families that were found. Two sheets are equal if the same facts are known with equal values; origins and
    reasons do not count.

    Attributes:
        facts: The facts, by name.
        registry: The declarations of the facts.
        values: The values of the known facts by name, read-only. Conditions are evaluated on them.
    """

    facts: Mapping[str, Fact] = field(repr=False)
    registry: FactRegistry = field(default=BUILTIN_FACTS, repr=False)
    values: Mapping[str, FactValue] = field(init=False)

    def __post_init__(self) -> None:
        known = {name: fact.value for name, fact in self.facts.items() if fact.value is not None}
        # read-only, since vendors' code gets the values and must not change the sheet
        object.__setattr__(self, "values", MappingProxyType(known))

    @classmethod
    def _of(
        cls, facts: Mapping[str, Fact], values: Mapping[str, FactValue | None], registry: FactRegistry
    ) -> FactSheet:
        """Return a sheet whose values are at hand, so that its facts need not be looked at."""
        known = {name: value for name, value in values.items() if value is not None}
        sheet = object.__new__(cls)
        vars(sheet).update(facts=facts, registry=registry, values=MappingProxyType(registry.in_order(known)))
        return sheet

    @classmethod
    def _of_deferred(cls, facts: DeferredFacts, registry: FactRegistry) -> FactSheet:
        sheet = object.__new__(cls)
        vars(sheet).update(facts=facts, registry=registry, values=DeferredValues(facts))
        return sheet

    @classmethod
    def from_values(
        cls,
        values: Mapping[str, FactValue | list[str] | None],
        source: str = "values",
        registry: FactRegistry = BUILTIN_FACTS,
    ) -> FactSheet:
        """Return a sheet of plain values. It is cheap: for thousands of devices, for example rows of a table.

        Example:
            >>> sheet = etconfig.FactSheet.from_values({"cpu.available_cores": 4, "power.source": None})
            >>> sheet["cpu.available_cores"].value, sheet["power.source"].is_known
            (4, False)

        Args:
            values: The values by name, of the types of the registry; None is unknown. Facts that are missing
                are unknown, too.
            source: The name of the place that they come from, for origins and errors.
            registry: The facts that the sheet may hold.

        Raises:
            FactError: some facts do not exist or have values of another type; the error contains all of them.
        """
        check_type("values", values, Mapping, 'values by name, as {"cpu.available_cores": 4}')
        checked = checked_values(values, registry, source)

        def make_facts() -> dict[str, Fact]:
            origin = Origin(OriginKind.SHEET, source)
            return unknown_facts(registry, "no value was given", origin) | known_facts(
                checked, registry, origin
            )

        return cls._of(LazyFacts(make_facts, {}), checked, registry)

    @classmethod
    def empty(
        cls, registry: FactRegistry = BUILTIN_FACTS, reason: str = "it was not looked for"
    ) -> FactSheet:
        """Return a sheet on which every fact is unknown; `with_overrides` can fill it."""
        origin = Origin(OriginKind.DEFAULT, "empty fact sheet")
        return cls._of(LazyFacts(lambda: unknown_facts(registry, reason, origin), {}), {}, registry)

    def __getitem__(self, name: str) -> Fact:
        try:
            return self.facts[name]
        except KeyError:
            raise KeyError(self._lacks(name)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    def __contains__(self, name: object) -> bool:
        return name in self.facts

    def _lacks(self, name: object) -> str:
        if not isinstance(name, str) or self.registry.get(name) is not None:
            return f"the sheet has no fact {name!r}"
        from etconfig.facts.problems import unknown_fact  # most names are right

        problem = unknown_fact(name, self.registry)
        return f"{problem.message}; {problem.help}"

    def get(self, name: str) -> Fact | None:
        """Return the fact of this name, or None if the sheet does not contain it."""
        return self.facts.get(name)

    def is_hidden(self, name: str) -> bool:
        """Return True if reports do not show the value of a fact, since it identifies the device."""
        info = self.registry.get(name)
        return info is not None and info.is_identifying is True

    @property
    def shown_values(self) -> Mapping[str, FactValue]:
        """The values of the known facts as reports show them."""
        return {name: HIDDEN_VALUE if self.is_hidden(name) else value for name, value in self.values.items()}

    def __eq__(self, other: object) -> bool:
        return self.values == other.values if isinstance(other, FactSheet) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self.values.items()))

    def __repr__(self) -> str:
        named = ", ".join(
            f"{name} {shown_text(fact_text(self.values[name]))}" for name in _TELLING if name in self.values
        )
        known = f"{len(self.values)} of {count_text(len(self.facts), 'fact')} known"
        return f"<FactSheet: {known}{f'; {named}' if named else ''}>"

    def _view(self) -> View:
        shown = self.shown_values
        known = [fact for fact in self.facts.values() if fact.is_known]
        unknown = [fact for fact in self.facts.values() if not fact.is_known]
        return View(
            title=f"FactSheet: {len(known)} of {count_text(len(self.facts), 'fact')} known",
            tables=(
                Table(
                    caption="",
                    headers=("FACT", "VALUE", "UNIT", "FROM"),
                    rows=[
                        (fact.name, fact_text(shown[fact.name]), fact.unit or "", str(fact.origin))
                        for fact in known
                    ],
                ),
                Table(
                    caption=count_text(len(unknown), "unknown fact"),
                    headers=("FACT", "REASON"),
                    rows=[(fact.name, fact.reason or "") for fact in unknown],
                    is_folded=True,
                ),
            ),
        )

    def __reduce__(self) -> tuple[object, ...]:
        return FactSheet, (self.facts, self.registry)  # a MappingProxyType cannot be pickled

    def fingerprint(self) -> str:
        """Return the SHA-256 of the known values in hexadecimal; equal sheets have equal fingerprints."""
        import hashlib  # imported late: it takes longer than the rest of this module

        canonical = json.dumps(dict(self.values), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def with_overrides(self, overrides: FactOverrides) -> FactSheet:
        """Return a sheet with the facts in `overrides` replaced, including their origins.

        Example:
            >>> sheet = etconfig.load_fact_sheet("pi-5.json")
            >>> sheet.with_overrides({"power.source": "battery"})["power.source"].value
            'battery'

        Args:
            overrides: Plain values by name, or values with their origins.

        Raises:
            FactError: some facts do not exist or have values of another type; the error contains all of them.
            TypeError: `overrides` is not a mapping with names as keys.
        """
        replaced: dict[str, Fact] = {}
        for name, sourced in source_facts(overrides, self.registry, "overrides").items():
            info = self.registry.get(name)
            assert info is not None
            replaced[name] = Fact.known(name, info, sourced.value, sourced.origin)
        facts = self.facts
        if isinstance(facts, DeferredFacts):
            return self._of_deferred(facts.replacing(replaced), self.registry)
        lazy = facts if isinstance(facts, LazyFacts) else LazyFacts(lambda: facts, {})
        values = {**self.values, **{name: fact.value for name, fact in replaced.items() if fact.is_known}}
        return self._of(lazy.replacing(replaced), values, self.registry)

    def to_json(self) -> str:
        """Return the sheet as JSON text, one fact per line; `from_json` reads it back."""
        return sheet_json.sheet_text(self.facts.values())

    @classmethod
    def from_json(cls, text: str, source: str, registry: FactRegistry = BUILTIN_FACTS) -> FactSheet:
        """Read a sheet that was written by `to_json` or by hand. Facts that it lacks are unknown.

        Example:
            >>> text = '{"etconfig_fact_sheet": 1, "facts": {"cpu.available_cores": {"value": 4}}}'
            >>> etconfig.FactSheet.from_json(text, "board.json")["cpu.available_cores"].value
            4

        Args:
            source: The name of the text, for origins and diagnostics.

        Raises:
            FactError: the text has problems; the error contains all of them, with line and column.
        """
        read = sheet_json.parse_sheet(text, source, registry)

        def make_facts() -> dict[str, Fact]:
            origin = Origin(OriginKind.SHEET, source)
            return unknown_facts(registry, "the sheet does not contain it", origin) | read.facts()

        return cls._of(LazyFacts(make_facts, {}), read.values, registry)


def deferring_sheet(sheet: FactSheet, parts: tuple[DeferredPart, ...], registry: FactRegistry) -> FactSheet:
    """Return a sheet with more facts, which are detected when something asks for one of them."""
    return FactSheet._of_deferred(DeferredFacts(sheet.facts, parts, registry), registry)


def load_fact_sheet(path: AnyPath, registry: FactRegistry = BUILTIN_FACTS) -> FactSheet:
    """Read the fact sheet in a file, such as `etconfig facts --save` writes.

    Example:
        >>> facts = etconfig.load_fact_sheet("pi-5.json")
        >>> facts["device.model"].value
        'Raspberry Pi 5 Model B Rev 1.0'

    Args:
        path: The file.
        registry: The facts that the sheet may hold.

    Raises:
        FactError: the file cannot be read, or `FactSheet.from_json` refuses it.
        TypeError: `path` is not a path.
    """
    path = as_path("path", path)
    return FactSheet.from_json(sheet_json.load_text(path), str(path), registry)


def fact_text(value: FactValue | None) -> str:
    """Return the value of a fact as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(value) if isinstance(value, tuple) else str(value)
