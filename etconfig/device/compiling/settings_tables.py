"""`SettingsTables`: the assignments of all method instances; equal ones are kept once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

from etconfig.base.plain_data import jsonable
from etconfig.base.provenance import OriginKind
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.tables import (
    BackendSettingsRow,
    CandidateLayer,
    CandidateRow,
    CandidateSource,
    OptionSettingsRow,
    SlotRow,
)
from etconfig.device.compiling.schema_tables import SchemaTables
from etconfig.device.compiling.table_builder import CannotBundleError, TableBuilder
from etconfig.diagnostics import Diagnostic
from etconfig.expression import Expression
from etconfig.profile.layer import UNSET
from etconfig.resolver.deciding.backend_candidates import BackendCandidates
from etconfig.resolver.deciding.option_candidates import Candidate, OptionCandidates

_Row = TypeVar("_Row", bound=Hashable)

_LAYERS = {
    OriginKind.DEFAULT: CandidateLayer.DEFAULT,
    OriginKind.PROGRAM: CandidateLayer.PROGRAM,
    OriginKind.RECOMMENDATION: CandidateLayer.RECOMMENDATION,
    OriginKind.PROFILE: CandidateLayer.PROFILE,
    OriginKind.PROJECT: CandidateLayer.PROJECT,
    OriginKind.ENVIRONMENT: CandidateLayer.ENVIRONMENT,
    OriginKind.OVERRIDE: CandidateLayer.OVERRIDE,
}


class SettingsTables:
    """The rows of candidates, of the settings made of them, and of method instances.

    Attributes:
        problems: What the format cannot carry.
    """

    def __init__(self, builder: TableBuilder, schema: SchemaTables) -> None:
        self.candidates: list[CandidateRow] = []
        self.option_settings: list[OptionSettingsRow] = []
        self.backend_settings: list[BackendSettingsRow] = []
        self.slots: list[SlotRow] = []
        self.problems: list[Diagnostic] = []
        self._builder, self._schema = builder, schema
        self._ranges: dict[Hashable, int] = {}
        self._known: dict[int, tuple[BackendCandidates, int]] = {}

    def add_slots(
        self, instances: Mapping[tuple[str, str | None], Sequence[BackendCandidates]]
    ) -> tuple[int, int]:
        """Add the method instances of a profile, and return where they begin and their number."""
        text = self._builder.text
        rows = []
        for (method, instance), backends in instances.items():
            settings = [self._backend(backend) for backend in backends]
            first = self._builder.item_range(settings)
            rows.append(SlotRow(text(method), text(instance), first, len(settings)))
        return self._interned(rows, self.slots), len(rows)

    def _interned(self, rows: Sequence[_Row], target: list[_Row]) -> int:
        """Return where a range of rows begins in its vector; equal ranges share their place."""
        key = (id(target), *rows)
        if not rows:
            return 0
        if key not in self._ranges:
            self._ranges[key] = len(target)
            target += rows
        return self._ranges[key]

    def _backend(self, backend: BackendCandidates) -> int:
        """Return the index of the settings of one backend."""
        if id(backend) not in self._known:  # it is kept alive beside its index, so ids stay unique
            rows = [*self._option_rows(backend)]
            number = self._schema.backend_number[backend.spec.id]
            row = BackendSettingsRow(number, self._interned(rows, self.option_settings), len(rows))
            self._known[id(backend)] = backend, self._interned([row], self.backend_settings)
        return self._known[id(backend)][1]

    def _option_rows(self, backend: BackendCandidates) -> Iterator[OptionSettingsRow]:
        for name, option in backend.options.items():
            if not option.effective and option.program is None:
                continue
            candidates = [*self._candidate_rows(backend.spec.id, option)]
            program_value = program_origin = NONE
            if option.program is not None:
                program_value = self._builder.value(jsonable(option.program.value))
                program_origin = self._builder.origin(option.program.origin)
            yield OptionSettingsRow(
                option=self._schema.option_number[backend.spec.id, name],
                first=self._interned(candidates, self.candidates),
                length=len(candidates),
                program_value=program_value,
                program_origin=program_origin,
            )

    def _candidate_rows(self, backend: str, option: OptionCandidates) -> Iterator[CandidateRow]:
        for candidate in option.effective:
            try:
                yield self._candidate(candidate)
            except CannotBundleError as error:
                path = f"{backend}.{option.info.name}"
                self.problems.append(cannot_bundle(path, str(error), candidate))

    def _candidate(self, candidate: Candidate) -> CandidateRow:
        origin = candidate.origin
        if candidate.value is UNSET:
            source, value = CandidateSource.UNSET, 0
        elif isinstance(candidate.value, Expression):
            source, value = CandidateSource.EXPRESSION, self._builder.expression(candidate.value)
        else:
            source, value = CandidateSource.LITERAL, self._builder.value(jsonable(candidate.value))
        return CandidateRow(
            value=value,
            condition=self._builder.condition(candidate.condition),
            origin=self._builder.origin(origin),
            source=source,
            layer=CandidateLayer.BUNDLED_PROFILE if candidate.is_bundled else _LAYERS[origin.kind],
        )


def cannot_bundle(option: str, reason: str, candidate: Candidate | None = None) -> Diagnostic:
    """Return the problem of a value that a bundle cannot carry, at its place."""
    return Diagnostic(
        code="cannot-carry",
        message=f"a bundle cannot carry {option}: {reason}",
        spans=() if candidate is None else (candidate.span,),
        help="write another value, or pack for known devices with --facts",
    )
