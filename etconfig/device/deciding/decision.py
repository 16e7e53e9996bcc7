"""`BundleDecision`: decides the options of one profile on one device, from the tables of a bundle alone.

It follows the documented rules on the rows of the bundle, as the C++ reader does, and shares no code with the
resolver, with which tests compare it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from etconfig.base.records import record
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.tables import (
    OPTION_KINDS,
    SCOPES,
    BackendRow,
    BundleTables,
    CandidateLayer,
    CandidateRow,
    CandidateSource,
    OptionRow,
    OptionSettingsRow,
    ProfileRow,
    SlotRow,
)
from etconfig.device.deciding.evaluation import ExpressionEvaluator, stored_value
from etconfig.expression import Fault, Unknown
from etconfig.schema.declaration import Scope
from etconfig.schema.option_type import INT64_MAX, INT64_MIN, OptionKind

_NOTHING = object()
"""The value of an option that nothing sets; candidates with `unset` have it, too."""


@record(frozen=True)
class DecidedOption:
    """The value of one option on one device.

    Attributes:
        value: The value as plain data: a choice by its name, an array as a list.
        origin: The place that it comes from.
        is_default: True if no document, program or recommendation sets it.
        is_set: True if somebody set it. Profiles that come with etconfig recommend values, too.
    """

    value: object
    origin: str
    is_default: bool = False
    is_set: bool = False


@record(frozen=True)
class OptionFailure:
    """The reason why an option has no valid value on one device.

    Attributes:
        code: The code of the diagnostic, such as `invalid-value`.
        message: A sentence that names the option.
        place: The origin of the value; empty if there is none.
    """

    code: str
    message: str
    place: str = ""


@record(frozen=True)
class SlotDecision:
    """The options of one method instance: by backend and name, a value or why there is none."""

    method: str
    instance: str | None
    backends: Mapping[str, Mapping[str, DecidedOption | OptionFailure]]

    @property
    def failures(self) -> tuple[OptionFailure, ...]:
        """The options without a valid value. Of one backend, missing options count if nothing else fails."""
        return tuple(each for options in self.backends.values() for each in _counting(options.values()))


def _counting(options: Any) -> list[OptionFailure]:
    failures = [each for each in options if isinstance(each, OptionFailure)]
    wrong = [each for each in failures if each.code != "missing-option"]
    return wrong or failures


class BundleDecision:
    """The options of a profile on a device.

    Args:
        tables: The bundle.
        profile: The profile.
        facts: The known facts of the device, by name. Facts that the profile sets by hand replace them.
    """

    def __init__(self, tables: BundleTables, profile: ProfileRow, facts: Mapping[str, object]) -> None:
        self._tables, self._profile = tables, profile
        self.facts = {**facts, **hand_set_facts(tables, profile.first_fact, profile.fact_count)}
        self._evaluator = ExpressionEvaluator(tables, self.facts)
        self._known: dict[tuple[int, int], DecidedOption | OptionFailure] = {}

    @cached_property
    def slots(self) -> tuple[SlotDecision, ...]:
        """The options of each method instance."""
        first = self._profile.first_slot
        return tuple(map(self._slot, self._tables.slots[first : first + self._profile.slot_count]))

    @cached_property
    def failures(self) -> tuple[OptionFailure, ...]:
        """The reasons why the profile does not resolve here; empty if it does."""
        named = {slot.method for slot in self.slots if slot.instance is not None}
        found = [
            failure
            for slot in self.slots
            for failure in slot.failures
            if not (_is_incomplete(slot) and slot.instance is None and slot.method in named)
        ]
        return tuple(dict.fromkeys((*found, *self._conflicts())))

    @property
    def complete(self) -> tuple[SlotDecision, ...]:
        """The method instances all of whose options have a value."""
        return tuple(slot for slot in self.slots if not slot.failures)

    def _conflicts(self) -> Iterator[OptionFailure]:
        """Yield the options of the whole process on which method instances disagree."""
        first: dict[tuple[str, str], object] = {}
        conflicts: set[tuple[str, str]] = set()
        for slot in self.complete:
            for path, decided in self._of_process(slot):
                if first.setdefault(path, decided.value) != decided.value:
                    conflicts.add(path)
        for backend, option in sorted(conflicts):
            message = f"{backend}.{option} applies to the whole process, but method instances disagree on it"
            yield OptionFailure("process-scope-conflict", message)

    def _of_process(self, slot: SlotDecision) -> Iterator[tuple[tuple[str, str], DecidedOption]]:
        """Yield the options of the whole process that a method instance decides."""
        for backend, options in slot.backends.items():
            for option, decided in options.items():
                assert isinstance(decided, DecidedOption)  # the method instance is complete
                is_mere_default = slot.method == "*" and decided.is_default
                if (backend, option) in self._process_options and not is_mere_default:
                    yield (backend, option), decided

    @cached_property
    def _process_options(self) -> frozenset[tuple[str, str]]:
        return frozenset(
            (self._text(backend.id), self._text(option.name))
            for backend in self._tables.backends
            for option in self._options_of(backend)
            if SCOPES[option.scope] is Scope.PROCESS
        )

    # --- method instances and backends ---

    def _slot(self, slot: SlotRow) -> SlotDecision:
        tables = self._tables
        backends = {}
        for number in tables.items[slot.first : slot.first + slot.length]:
            settings = tables.backend_settings[number]
            rows = tables.option_settings[settings.first : settings.first + settings.length]
            backend = tables.backends[settings.backend]
            backends[self._text(backend.id)] = self._backend(backend, {row.option: row for row in rows})
        instance = None if slot.instance == NONE else self._text(slot.instance)
        return SlotDecision(self._text(slot.method), instance, backends)

    def _backend(
        self, backend: BackendRow, settings: Mapping[int, OptionSettingsRow]
    ) -> Mapping[str, DecidedOption | OptionFailure]:
        last = backend.first_option + backend.option_count
        found = {}
        for number in range(backend.first_option, last):
            option = _OptionDecision(self._tables, self._evaluator, backend, number, settings.get(number))
            found[self._text(self._tables.options[number].name)] = option.decide()
        return found

    def _options_of(self, backend: BackendRow) -> Sequence[OptionRow]:
        return self._tables.options[backend.first_option : backend.first_option + backend.option_count]

    def _text(self, number: int) -> str:
        return self._tables.texts[number]


def _is_incomplete(slot: SlotDecision) -> bool:
    """Return True if required options are all that a method instance lacks."""
    return all(failure.code == "missing-option" for failure in slot.failures)


def hand_set_facts(tables: BundleTables, first: int, length: int) -> Mapping[str, object]:
    """Return facts that documents set, by name; a later one replaces an earlier one."""
    rows = tables.hand_set_facts[first : first + length]
    return {tables.texts[tables.facts[row.fact].name]: stored_value(tables, row.value) for row in rows}


def hidden_facts(tables: BundleTables) -> frozenset[str]:
    """Return the names of the facts that identify the device, so that reports do not show their values."""
    return frozenset(tables.texts[fact.name] for fact in tables.facts if fact.is_identifying)


class _OptionDecision:
    """The value of one option on one device."""

    def __init__(
        self,
        tables: BundleTables,
        evaluator: ExpressionEvaluator,
        backend: BackendRow,
        number: int,
        settings: OptionSettingsRow | None,
    ) -> None:
        self._tables, self._evaluator, self._backend = tables, evaluator, backend
        self._number, self._option, self._settings = number, tables.options[number], settings
        # a table of options is replaced as a whole
        self._merges_keys = OPTION_KINDS[self._option.kind] is OptionKind.TABLE

    @property
    def _path(self) -> str:
        return f"{self._tables.texts[self._backend.id]}.{self._tables.texts[self._option.name]}"

    def decide(self) -> DecidedOption | OptionFailure:
        """Return the value, or why there is none."""
        holding = [c for c in self._candidates() if c.condition == NONE or self._is_met(c.condition)]
        below = [*self._below()]
        value: Any = _NOTHING
        for candidate in holding:
            value = self._merged(value, self._value_of(candidate), below)
        if value is _NOTHING:
            value = self._merged_below(below)
        if value is _NOTHING:
            return OptionFailure("missing-option", f"{self._path} must be set")
        if isinstance(value, OptionFailure):
            return value
        if holding and holding[-1].source != CandidateSource.UNSET:
            layer = holding[-1].layer
            is_default, is_set = layer == CandidateLayer.DEFAULT, layer >= CandidateLayer.PROFILE
            return DecidedOption(value, self._tables.texts[holding[-1].origin], is_default, is_set)
        return DecidedOption(value, below[-1][1], is_default=len(below) == 1 and below[0][2])

    def _candidates(self) -> Sequence[CandidateRow]:
        settings = self._settings
        if settings is None:
            return ()
        return self._tables.candidates[settings.first : settings.first + settings.length]

    def _is_met(self, condition: int) -> bool:
        return self._evaluator.is_met(condition)

    def _value_of(self, candidate: CandidateRow) -> object:
        if candidate.source == CandidateSource.UNSET:
            return _NOTHING
        if candidate.source == CandidateSource.LITERAL:
            return stored_value(self._tables, candidate.value)
        return self._computed(candidate.value, self._tables.texts[candidate.origin])

    def _merged(self, before: object, value: object, below: Sequence[tuple[object, str, bool]]) -> object:
        """Merge a value over those before it: a table key by key, others as a whole."""
        if isinstance(value, dict) and self._merges_keys:
            base = self._merged_below(below) if before is _NOTHING else before
            return {**base, **value} if isinstance(base, dict) else value
        return value

    def _merged_below(self, below: Sequence[tuple[object, str, bool]]) -> object:
        result: object = _NOTHING
        for value, _, _ in below:
            merges = self._merges_keys and isinstance(value, dict) and isinstance(result, dict)
            result = {**result, **value} if merges else value  # type: ignore[dict-item]  # both are tables
        return result

    def _below(self) -> Iterator[tuple[object, str, bool]]:
        """Yield the values below all candidates, the lowest first: value, origin, and if it is a default."""
        yield from self._default()
        above = [*self._recommended(), *self._of_program()]
        yield from above if self._backend.program_beats_recommendation else reversed(above)

    def _default(self) -> Iterator[tuple[object, str, bool]]:
        option, texts = self._option, self._tables.texts
        if option.from_fact != NONE:
            name = texts[self._tables.facts[option.from_fact].name]
            if name in self._evaluator.facts:
                value = self._evaluator.facts[name]
                origin = texts[option.fact_origin]
                yield self._checked(value, origin), origin, True
                return
        if option.default_value != NONE:
            yield stored_value(self._tables, option.default_value), texts[option.default_origin], True

    def _recommended(self) -> Iterator[tuple[object, str, bool]]:
        first = self._backend.first_advice
        for entry in self._tables.advice[first : first + self._backend.advice_count]:
            if entry.option != self._number or (
                entry.condition != NONE and not self._is_met(entry.condition)
            ):
                continue
            origin = self._tables.texts[entry.origin]
            value = self._computed(entry.expression, origin)
            if not (isinstance(value, OptionFailure) and value.code == "unknown-fact-value"):
                yield value, origin, False
                return

    def _of_program(self) -> Iterator[tuple[object, str, bool]]:
        settings = self._settings
        if settings is not None and settings.program_value != NONE:
            value = stored_value(self._tables, settings.program_value)
            yield value, self._tables.texts[settings.program_origin], False

    def _computed(self, expression: int, origin: str) -> object:
        """Return the value of an expression, or why the option does not have it."""
        value = self._evaluator.evaluate(expression)
        text = self._tables.texts[self._tables.expressions[expression].text]
        if isinstance(value, Unknown):
            message = (
                f"{self._path}: {text!r} has no value: {', '.join(value.missing)} not known on this device"
            )
            return OptionFailure("unknown-fact-value", message, origin)
        if isinstance(value, Fault):
            message = f"{self._path}: {text!r} has no value: {value.reason}"
            return OptionFailure("evaluation-failed", message, origin)
        return self._checked(value, origin)

    def _checked(self, value: object, origin: str) -> object:
        """Return a value that was not known when packing, or a failure if the option does not accept it."""
        if fits_bounds(self._tables, self._option, value):
            return value
        message = f"{self._path}: {value!r} is not among the values that the option accepts"
        return OptionFailure("invalid-value", message, origin)


def fits_bounds(tables: BundleTables, option: OptionRow, value: object) -> bool:
    """Return True if an option accepts a value that an expression or a fact gives."""
    kind = OPTION_KINDS[option.kind]
    if kind is OptionKind.ARRAY:
        return (
            isinstance(value, list)
            and option.min_length <= len(value) <= option.max_length
            and all(_fits_scalar(tables, option, OPTION_KINDS[option.item_kind], item) for item in value)
        )
    if kind is OptionKind.STRING and isinstance(value, str):
        return option.min_length <= len(value) <= option.max_length
    return _fits_scalar(tables, option, kind, value)


def _fits_scalar(tables: BundleTables, option: OptionRow, kind: OptionKind, value: Any) -> bool:
    if kind is OptionKind.BOOLEAN:
        return isinstance(value, bool)
    if kind is OptionKind.STRING:
        return isinstance(value, str)
    if kind is OptionKind.CHOICE:
        choices = tables.choices[option.first_choice : option.first_choice + option.choice_count]
        known = (stored_value(tables, choice.value) for choice in choices)
        return any(type(value) is type(choice) and value == choice for choice in known)
    if kind is OptionKind.INTEGER:
        is_number = type(value) is int and INT64_MIN <= value <= INT64_MAX
    else:
        is_number = kind is OptionKind.FLOAT and type(value) is float and math.isfinite(value)
    return is_number and _is_within(option, value)


def _is_within(option: OptionRow, value: float) -> bool:
    above = value > option.minimum if option.is_minimum_exclusive else value >= option.minimum
    under = value < option.maximum if option.is_maximum_exclusive else value <= option.maximum
    return above and under and _is_multiple(option.multiple_of, value)


def _is_multiple(step: float, value: float) -> bool:
    """Return True for a multiple of a step, which is whole in every bundle that was packed."""
    if step == 0 or not isinstance(value, int):
        return True
    return value % int(step) == 0 if 1 <= step < 2**63 else value == 0
