"""`SchemaTables`: the backends of a bundle, their options, and the recommendations of their vendors."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.base.plain_data import jsonable
from etconfig.base.provenance import Origin, OriginKind
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.tables import (
    APPLIES,
    OPTION_KINDS,
    SCOPES,
    AdviceRow,
    BackendRow,
    ChoiceRow,
    OptionRow,
)
from etconfig.device.compiling.option_bounds import option_bounds
from etconfig.device.compiling.table_builder import TableBuilder
from etconfig.resolver.deciding.backend_candidates import BackendCandidates
from etconfig.schema.declaration import MISSING, OptionInfo
from etconfig.schema.spec import BackendSpec


class SchemaTables:
    """The rows of backends and options.

    Attributes:
        backend_number: The index of each backend, by id.
        option_number: The index of each option, by backend and name.
    """

    def __init__(self, builder: TableBuilder, backends: Mapping[str, BackendCandidates]) -> None:
        self.backends: list[BackendRow] = []
        self.options: list[OptionRow] = []
        self.choices: list[ChoiceRow] = []
        self.advice: list[AdviceRow] = []
        self.backend_number: dict[str, int] = {}
        self.option_number: dict[tuple[str, str], int] = {}
        self._choice_ranges: dict[tuple[ChoiceRow, ...], int] = {}
        self._builder = builder
        for backend in backends.values():
            self._add(backend)

    def _add(self, backend: BackendCandidates) -> None:
        spec, first_option, first_advice = backend.spec, len(self.options), len(self.advice)
        for name, option in backend.options.items():
            self.option_number[spec.id, name] = len(self.options)
            self.options.append(self._option(spec, option.info))
        for name, option in backend.options.items():
            for entry in option.advice:
                row = AdviceRow(
                    option=self.option_number[spec.id, name],
                    condition=self._builder.condition(entry.condition),
                    expression=self._builder.expression(entry.value),
                    origin=self._builder.origin(entry.origin),
                )
                self.advice.append(row)
        self.backend_number[spec.id] = len(self.backends)
        self.backends.append(
            BackendRow(
                id=self._builder.text(spec.id),
                first_option=first_option,
                option_count=len(self.options) - first_option,
                first_advice=first_advice,
                advice_count=len(self.advice) - first_advice,
                program_beats_recommendation=int(spec.program_beats_recommendation),
            )
        )

    def _option(self, spec: BackendSpec, info: OptionInfo) -> OptionRow:
        text, bounds = self._builder.text, option_bounds(info.type)
        item = info.type.item
        choices = self._choices(info)
        has_fact = info.from_fact is not None and info.from_fact in self._builder.facts
        origin = Origin(OriginKind.DEFAULT, spec.options.__name__)
        of_fact = Origin(OriginKind.DEFAULT, spec.options.__name__, detail=f"fact {info.from_fact}")
        return OptionRow(
            minimum=bounds.minimum,
            maximum=bounds.maximum,
            multiple_of=bounds.multiple_of,
            name=text(info.name),
            unit=text(None if info.unit is None else info.unit.value),
            doc=NONE,
            default_value=NONE if info.default is MISSING else self._builder.value(jsonable(info.default)),
            from_fact=self._builder.facts[info.from_fact] if has_fact and info.from_fact else NONE,
            default_origin=text(str(origin)),
            fact_origin=text(str(of_fact) if has_fact else None),
            key=text(info.wire.key),
            separator=text("" if info.wire.as_text else info.wire.separator),
            first_choice=choices[0],
            choice_count=choices[1],
            min_length=bounds.min_length,
            max_length=bounds.max_length,
            kind=OPTION_KINDS.index(info.type.kind),
            item_kind=0 if item is None else OPTION_KINDS.index(item.kind),
            scope=SCOPES.index(info.scope),
            applies=APPLIES.index(info.applies),
            is_minimum_exclusive=int(bounds.is_minimum_exclusive),
            is_maximum_exclusive=int(bounds.is_maximum_exclusive),
            is_optional=int(info.type.is_optional),
        )

    def _choices(self, info: OptionInfo) -> tuple[int, int]:
        """Return where the choices of an option begin, and their number; equal lists are kept once."""
        of_items = info.type.item
        choices = info.type.choices or (of_items.choices if of_items is not None else ())
        sent = info.wire.values or {}
        value = self._builder.value
        rows = tuple(
            ChoiceRow(value(each), value(sent[each] if isinstance(each, str) and each in sent else each))
            for each in choices
        )
        if rows and rows not in self._choice_ranges:
            self._choice_ranges[rows] = len(self.choices)
            self.choices += rows
        return self._choice_ranges.get(rows, 0), len(rows)
