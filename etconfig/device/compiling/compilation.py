"""`compile_bundle`: the tables of a bundle from what the resolver compiled for each profile."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from etconfig.base.provenance import Sourced
from etconfig.device.bundle.bundle_writer import fits_file
from etconfig.device.bundle.row_fields import MAX_NAME_BYTES, NONE
from etconfig.device.bundle.step_counter import counted, is_short_fact
from etconfig.device.bundle.table_checks import check_tables
from etconfig.device.bundle.tables import (
    FACT_TYPES,
    MAX_BYTES,
    MAX_FACTS,
    MAX_PROFILES,
    PROVIDERS,
    VOLATILITIES,
    BundleTables,
    FactRow,
    HandSetFactRow,
    ModelRow,
    ProfileRow,
    VariantRow,
)
from etconfig.device.compiling.content import BundleContent, BundledModel, BundledProfile
from etconfig.device.compiling.schema_tables import SchemaTables
from etconfig.device.compiling.settings_tables import SettingsTables
from etconfig.device.compiling.table_builder import CannotBundleError, TableBuilder
from etconfig.device.deciding.bundle_fingerprints import content_fingerprint
from etconfig.diagnostics import Diagnostic
from etconfig.errors import OptionError
from etconfig.facts.registry import FactInfo, FactRegistry

_SHOWN = 40
"""The characters of a name that is too long that are shown."""


def compile_bundle(content: BundleContent) -> BundleTables:
    """Return the tables of a bundle; equal content gives equal tables.

    Raises:
        OptionError: the format cannot carry a value, an expression, a name, or so much.
    """
    read = content.facts_read()
    if len(read) > MAX_FACTS:
        raise _refused(f"its profiles read {len(read)} facts, and a device keeps {MAX_FACTS}")
    if problems := [*_long_names(content, read)]:
        raise OptionError(diagnostics=tuple(problems))
    if len(content.profiles) > MAX_PROFILES:
        raise _refused(f"it has {len(content.profiles)} profiles, and a device takes {MAX_PROFILES}")
    try:
        tables = _Compilation(content, TableBuilder(read, content.named_directories())).tables()
    except CannotBundleError as error:
        raise _refused(str(error)) from None
    try:
        tables = counted(tables)
        check_tables(tables)  # no reader refuses what is written
    except ValueError as error:
        raise _refused(str(error)) from None
    tables = replace(tables, fingerprint=content_fingerprint(tables))
    if not fits_file(tables):
        raise _refused(f"it is larger than {MAX_BYTES >> 20} MiB, the most that a device reads")
    return tables


def _long_names(content: BundleContent, facts: Iterable[str]) -> Iterator[Diagnostic]:
    """Yield a problem for each name that is longer than a bundle allows."""
    names = {("fact", name) for name in facts} | {("model", model.name) for model in content.models}
    for profile in content.profiles:
        names.add(("profile", profile.name))
        for method, instance in profile.instances:
            names |= {("method", method)} | ({("instance", instance)} if instance is not None else set())
    for backend, candidates in content.backends().items():
        names |= {(f"option of {backend}", name) for name in candidates.options}  # ids have 63 bytes at most
    for kind, name in sorted(names):
        size_bytes = len(name.encode(errors="replace"))
        if size_bytes > MAX_NAME_BYTES:
            yield Diagnostic(
                code="cannot-carry",
                message=f"a bundle cannot carry the {kind} {name[:_SHOWN] + '...'!r}: its name has "
                f"{size_bytes} bytes, and names in a bundle have {MAX_NAME_BYTES} at most",
                help="give it a shorter name",
            )


def _refused(reason: str) -> OptionError:
    message = f"a bundle cannot carry this configuration: {reason}"
    help = "pack fewer profiles, each named with --profile"
    return OptionError(diagnostics=(Diagnostic(code="cannot-carry", message=message, help=help),))


class _Compilation:
    """The tables of one bundle while they are filled, in the order of evaluation."""

    def __init__(self, content: BundleContent, builder: TableBuilder) -> None:
        self._content, self._builder = content, builder
        self._hand_set: list[HandSetFactRow] = []
        self._hand_set_ranges: dict[tuple[HandSetFactRow, ...], int] = {}

    def tables(self) -> BundleTables:
        """Return everything but the fingerprint.

        Raises:
            CannotBundleError, OptionError: the format cannot carry something.
        """
        content, builder = self._content, self._builder
        facts = [*self._fact_rows(content.registry)]
        project = self._hand_set_rows(content.project_facts)
        self._hand_set_range(project)
        schema = SchemaTables(builder, content.backends())
        settings = SettingsTables(builder, schema)
        ordered = sorted(content.profiles, key=lambda profile: profile.name)
        numbers = {profile.name: number for number, profile in enumerate(ordered)}
        profiles = [self._profile(profile, numbers, settings) for profile in ordered]
        if settings.problems:
            raise OptionError(diagnostics=tuple(dict.fromkeys(settings.problems)))
        models, variants = self._models(content.models)
        return BundleTables(
            producer=content.producer,
            fingerprint="",
            sources=content.sources,
            texts=tuple(builder.texts),
            values=builder.value_rows,
            items=builder.items,
            instructions=builder.instructions,
            expressions=builder.expressions,
            conditions=builder.conditions,
            facts=facts,
            hand_set_facts=self._hand_set,
            project_fact_count=len(project),
            backends=schema.backends,
            options=schema.options,
            choices=schema.choices,
            advice=schema.advice,
            candidates=settings.candidates,
            option_settings=settings.option_settings,
            backend_settings=settings.backend_settings,
            slots=settings.slots,
            profiles=profiles,
            named_profile=NONE if content.named is None else numbers[content.named],
            require_match=content.require_match,
            models=models,
            variants=variants,
        )

    def _fact_rows(self, registry: FactRegistry) -> Iterator[FactRow]:
        for name in self._builder.facts:
            info = registry.get(name)
            assert info is not None
            yield self._fact(name, info)

    def _fact(self, name: str, info: FactInfo) -> FactRow:
        text = self._builder.text
        choices = [text(choice) for choice in info.choices]
        return FactRow(
            minimum=-math.inf if info.minimum is None else float(info.minimum),
            maximum=math.inf if info.maximum is None else float(info.maximum),
            name=text(name),
            unit=text(info.unit),
            first_choice=self._builder.item_range(choices),
            choice_count=len(choices),
            type=FACT_TYPES.index(info.type),
            volatility=VOLATILITIES.index(info.volatility),
            is_identifying=int(info.is_identifying is True),
        )

    def _hand_set_rows(self, facts: Mapping[str, Sourced[object]]) -> tuple[HandSetFactRow, ...]:
        """Return the facts that documents set, as far as anything reads them, sorted by name."""
        numbers, builder = self._builder.facts, self._builder
        read = {name: fact for name, fact in sorted(facts.items()) if name in numbers}
        for name, fact in read.items():
            if isinstance(fact.value, (str, tuple)) and not is_short_fact(fact.value):
                raise CannotBundleError(f"the fact {name} is longer than devices accept")
        return tuple(
            HandSetFactRow(numbers[name], builder.value(fact.value), builder.origin(fact.origin))
            for name, fact in read.items()
        )

    def _hand_set_range(self, rows: tuple[HandSetFactRow, ...]) -> int:
        if rows and rows not in self._hand_set_ranges:
            self._hand_set_ranges[rows] = len(self._hand_set)
            self._hand_set += rows
        return self._hand_set_ranges.get(rows, 0)

    def _profile(
        self, profile: BundledProfile, numbers: Mapping[str, int], settings: SettingsTables
    ) -> ProfileRow:
        bases = sorted(numbers[base] for base in profile.bases if base in numbers)
        facts = self._hand_set_rows(profile.facts)
        first_slot, slot_count = settings.add_slots(profile.instances)
        return ProfileRow(
            name=self._builder.text(profile.name),
            condition=self._builder.condition(profile.match),
            first_base=self._builder.item_range(bases),
            base_count=len(bases),
            first_fact=self._hand_set_range(facts),
            fact_count=len(facts),
            first_slot=first_slot,
            slot_count=slot_count,
            fingerprint=self._builder.text(profile.fingerprint),
            provider=PROVIDERS.index(profile.provider),
            is_fallback=int(profile.is_fallback),
        )

    def _models(self, models: Sequence[BundledModel]) -> tuple[list[ModelRow], list[VariantRow]]:
        rows: list[ModelRow] = []
        variants: list[VariantRow] = []
        for model in models:
            text = self._builder.text
            rows.append(ModelRow(text(model.name), len(variants), len(model.variants), int(model.fallback)))
            for variant in model.variants:
                needs = [text(need) for need in variant.needs]
                variants.append(
                    VariantRow(
                        file=text(variant.file),
                        condition=self._builder.condition(variant.when),
                        first_need=self._builder.item_range(needs),
                        need_count=len(needs),
                        backend=text(variant.backend),
                    )
                )
        return rows, variants
