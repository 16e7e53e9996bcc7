"""`check_tables`: verifies every index, range and kind in the tables of a bundle, once.

First the fields of all rows, as `tables.py` declares them; then what rows mean together, which is local, too:
a row and the rows that it refers to. The C++ reader has the same rules.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from etconfig.device.bundle.row_fields import MAX_NAME_BYTES, NONE, RowField
from etconfig.device.bundle.step_counter import STEP_FIELDS, StepCounter
from etconfig.device.bundle.tables import (
    EXPRESSION_TYPES,
    FACT_TYPES,
    MAX_DEPTH,
    MAX_FACT_ITEMS,
    MAX_FACT_LIST_BYTES,
    MAX_FACT_TEXT_BYTES,
    MAX_FACTS,
    MAX_PROFILES,
    OPTION_KINDS,
    ROWS,
    BackendRow,
    BackendSettingsRow,
    BundleTables,
    CandidateSource,
    ConditionRow,
    FactRow,
    HandSetFactRow,
    OptionRow,
    OptionSettingsRow,
    ProfileRow,
    StoredKind,
    ValueRow,
)
from etconfig.expression.types import ExpressionType
from etconfig.facts.registry import FactType
from etconfig.flatbuffer.layout import F64
from etconfig.schema.option_type import OptionKind

MAX_VISITED: Final = 1 << 22
"""The most elements of ranges that are looked at; only in a damaged file do ranges overlap."""

STORED: Mapping[OptionKind, Sequence[StoredKind]] = {
    OptionKind.BOOLEAN: (StoredKind.BOOLEAN,),
    OptionKind.INTEGER: (StoredKind.INTEGER,),
    OptionKind.FLOAT: (StoredKind.NUMBER,),
    OptionKind.STRING: (StoredKind.TEXT,),
    OptionKind.CHOICE: (StoredKind.TEXT, StoredKind.INTEGER),
    OptionKind.ARRAY: (StoredKind.ARRAY,),
    OptionKind.TABLE: (StoredKind.TABLE,),
    OptionKind.RECORD: (StoredKind.TABLE,),
}
"""The kinds of values that an option of each kind takes."""

COMPUTED: Mapping[ExpressionType, Sequence[OptionKind]] = {
    ExpressionType.BOOL: (OptionKind.BOOLEAN,),
    ExpressionType.INT: (OptionKind.INTEGER, OptionKind.CHOICE),
    ExpressionType.FLOAT: (OptionKind.FLOAT,),
    ExpressionType.STRING: (OptionKind.STRING, OptionKind.CHOICE),
}
"""The kinds of options, and of items, that take the value of an expression of each type."""

_STORED_FACT = {
    FactType.BOOL: StoredKind.BOOLEAN,
    FactType.INT: StoredKind.INTEGER,
    FactType.FLOAT: StoredKind.NUMBER,
    FactType.STRING: StoredKind.TEXT,
    FactType.STRING_LIST: StoredKind.ARRAY,
}

_Problems: TypeAlias = Iterator[tuple[int, str]]


def check_tables(tables: BundleTables) -> None:
    """Verify the content of a bundle.

    Raises:
        ValueError: an index leads nowhere, or a row contradicts another one; the message names the vector.
    """
    _TableChecks(tables).check()


def number_of(bits: int) -> float:
    """Return the number that the bits of a value mean."""
    return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])


def fits_option(row: OptionRow, type_: ExpressionType) -> bool:
    """Return True if an expression of a type can give values of an option."""
    kind = OPTION_KINDS[row.kind]
    if kind is not OptionKind.ARRAY:
        return not type_.is_list and kind in COMPUTED[type_]
    return type_ is ExpressionType.EMPTY_LIST or (
        type_.element is not None and OPTION_KINDS[row.item_kind] in COMPUTED[type_.element]
    )


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _require_index(index: int, target: Sequence[object]) -> None:
    if index >= len(target):
        raise ValueError(f"it refers to element {index} of {len(target)}")


class _TableChecks:
    """The checks of one bundle, in an order in which each relies on the earlier ones only."""

    def __init__(self, tables: BundleTables) -> None:
        self._tables = tables
        self._visited = 0
        self._steps = StepCounter(tables)

    def check(self) -> None:
        """Verify everything."""
        tables, steps = self._tables, self._steps
        for name, most in (("facts", MAX_FACTS), ("profiles", MAX_PROFILES)):
            count = len(getattr(tables, name))
            _require(count <= most, f"it has {count} {name}; at most {most} are allowed")
        for vector in ROWS:
            self._check_fields(vector)
        meanings: Mapping[str, Callable[[Any, int], None]] = {
            "values": self._value,
            "facts": self._fact,
            "hand_set_facts": self._hand_set_fact,
            "conditions": self._condition,
            "options": self._option,
            "backends": self._backend,
            "option_settings": self._option_settings,
            "backend_settings": self._backend_settings,
            "profiles": self._profile,
        }
        for vector in (*steps.counts, "hand_set_facts"):
            check, field = meanings.get(vector), STEP_FIELDS.get(vector)
            for index, row in enumerate(getattr(tables, vector)):
                try:
                    if check is not None:
                        check(row, index)
                    if vector in steps.counts:
                        counted = steps.add(vector, row)
                        _require(field is None or getattr(row, field) == counted, "its steps are wrong")
                    self._require_few_visits()
                except ValueError as error:
                    raise ValueError(f"{vector}[{index}]: {error}") from None
        steps.check_selection()
        _require(
            tables.project_fact_count <= len(tables.hand_set_facts),
            "the project sets more facts than there are",
        )
        is_there = tables.named_profile == NONE or tables.named_profile < len(tables.profiles)
        _require(is_there, "the profile that it names is not in it")

    # --- fields ---

    def _check_fields(self, vector: str) -> None:
        rows, fields = getattr(self._tables, vector), ROWS[vector].fields
        columns = dict(zip(fields, zip(*rows, strict=True), strict=False))  # none if there are no rows
        for (name, field), following in zip(fields.items(), (*[*columns][1:], ""), strict=False):
            if not columns:
                return
            other = columns.get(following if field.range_of else field.needed_by, ())
            for index, problem in self._wrong(field, columns[name], other):
                raise ValueError(f"{vector}[{index}]: {problem}")

    def _wrong(self, field: RowField, column: Sequence[Any], other: Sequence[int]) -> _Problems:
        """Yield the index of each row with a wrong number in a field, and the problem.

        Args:
            field: The field.
            column: Its numbers.
            other: The lengths of ranges, or the numbers of the field that needs this one.
        """
        if field.kind is F64:
            yield from _wrong_bounds(field, column)
        elif field.meanings:
            yield from ((index, field.problem) for index, n in enumerate(column) if n >= len(field.meanings))
        elif field.range_of:
            yield from self._wrong_ranges(field, column, other)
        elif field.to:
            yield from self._wrong_references(field, column, other)

    def _wrong_references(self, field: RowField, column: Sequence[int], needed: Sequence[int]) -> _Problems:
        size = len(getattr(self._tables, field.to))
        needs = needed or [NONE if field.may_be_none else 0] * len(column)
        for index, (number, need) in enumerate(zip(column, needs, strict=True)):
            if number >= size and not number == need == NONE:
                yield index, f"it refers to element {number} of {size}"
        for index, number in enumerate(column if field.is_name else ()):
            if number != NONE and self._steps.text_bytes[number] > MAX_NAME_BYTES:
                yield index, f"its name has more than {MAX_NAME_BYTES} bytes"

    def _wrong_ranges(self, field: RowField, firsts: Sequence[int], lengths: Sequence[int]) -> _Problems:
        size, items = len(getattr(self._tables, field.range_of)), self._tables.items
        bound = len(getattr(self._tables, field.items_of)) if field.items_of else NONE
        self._visited += sum(lengths)
        for index, (first, length) in enumerate(zip(firsts, lengths, strict=True)):
            if first + length > size:
                yield index, f"its range of {length} from {first} leaves {size} elements"
        self._require_few_visits()
        if field.items_of:
            for index, (first, length) in enumerate(zip(firsts, lengths, strict=True)):
                largest = max(items[first : first + length], default=-1)
                if largest >= bound:
                    yield index, f"it refers to element {largest} of {bound}"

    def _require_few_visits(self) -> None:
        _require(self._visited + self._steps.visited <= MAX_VISITED, "its ranges overlap")

    # --- what rows mean ---

    def _value(self, value: ValueRow, index: int) -> None:
        kind = StoredKind(value.kind)
        if kind is StoredKind.BOOLEAN:
            _require(value.bits <= 1, "it is neither true nor false")
        elif kind is StoredKind.NUMBER:
            _require(math.isfinite(number_of(value.bits)), "it is not finite")
        elif kind is StoredKind.TEXT:
            _require_index(value.bits, self._tables.texts)
        is_container = kind in (StoredKind.ARRAY, StoredKind.TABLE)
        _require((value.depth > 0) == is_container, "its depth is wrong")
        _require(value.depth <= MAX_DEPTH, "it is nested too deep")
        if is_container:
            self._container(value, index)

    def _container(self, value: ValueRow, index: int) -> None:
        tables, width = self._tables, 2 if value.kind == StoredKind.TABLE else 1
        end, size = value.bits + width * value.length, len(tables.items)
        _require(end <= size, f"its range of {end - value.bits} from {value.bits} leaves {size} elements")
        self._visited += end - value.bits
        self._require_few_visits()
        flat = tables.items[value.bits : end]
        for key in flat[::2] if width == 2 else ():
            _require_index(key, tables.texts)
        for item in flat[width - 1 :: width]:
            if item >= index or tables.values[item].depth >= value.depth:
                raise ValueError("it contains a value that does not come before it")

    def _fact(self, fact: FactRow, index: int) -> None:
        is_text = FACT_TYPES[fact.type] is FactType.STRING
        _require(is_text or not fact.choice_count, "only texts have choices")
        self._follows(self._tables.facts, index)

    def _follows(self, rows: Sequence[FactRow] | Sequence[ProfileRow], index: int) -> None:
        """Verify that the name of a row is larger than the name of the row before."""
        texts = self._tables.texts
        is_sorted = index == 0 or texts[rows[index - 1].name] < texts[rows[index].name]
        _require(is_sorted, "the names are not sorted")

    def _hand_set_fact(self, row: HandSetFactRow, _index: int) -> None:
        tables, value = self._tables, self._tables.values[row.value]
        wanted = _STORED_FACT[FACT_TYPES[tables.facts[row.fact].type]]
        is_right, is_list = value.kind == wanted, wanted is StoredKind.ARRAY
        texts = [value] if wanted is StoredKind.TEXT else []
        if is_right and is_list:
            self._visited += value.length
            items = tables.items[value.bits : value.bits + value.length]
            texts = [tables.values[item] for item in items]
            is_right = all(text.kind == StoredKind.TEXT for text in texts)
        _require(is_right, "its value has another type")
        size_bytes = sum(self._steps.text_bytes[text.bits] for text in texts)
        most = MAX_FACT_LIST_BYTES if is_list else MAX_FACT_TEXT_BYTES
        is_short = len(texts) <= MAX_FACT_ITEMS and size_bytes <= most
        _require(is_short, "its value is longer than devices accept")

    def _condition(self, condition: ConditionRow, _index: int) -> None:
        _require(condition.length > 0, "it has no clauses")
        for clause in self._tables.expressions[condition.first : condition.first + condition.length]:
            is_condition = EXPRESSION_TYPES[clause.type] is ExpressionType.BOOL
            _require(is_condition, "a clause is not a condition")

    def _option(self, option: OptionRow, _index: int) -> None:
        if option.default_value != NONE:
            self._literal(option, option.default_value)

    def _literal(self, option: OptionRow, value: int) -> None:
        _require_index(value, self._tables.values)
        kind = self._tables.values[value].kind
        fits = kind in STORED[OPTION_KINDS[option.kind]] or (kind == StoredKind.NONE and option.is_optional)
        _require(bool(fits), "a value does not have the type of its option")

    def _computed(self, option: OptionRow, expression: int) -> None:
        _require_index(expression, self._tables.expressions)
        fits = fits_option(option, EXPRESSION_TYPES[self._tables.expressions[expression].type])
        _require(fits, "an expression does not have the type of its option")

    def _backend(self, backend: BackendRow, _index: int) -> None:
        options = range(backend.first_option, backend.first_option + backend.option_count)
        end = backend.first_advice + backend.advice_count
        for entry in self._tables.advice[backend.first_advice : end]:
            _require(entry.option in options, "the option of its advice is elsewhere")
            self._computed(self._tables.options[entry.option], entry.expression)

    def _option_settings(self, row: OptionSettingsRow, _index: int) -> None:
        option = self._tables.options[row.option]
        if row.program_value != NONE:
            self._literal(option, row.program_value)
        for candidate in self._tables.candidates[row.first : row.first + row.length]:
            if candidate.source == CandidateSource.LITERAL:
                self._literal(option, candidate.value)
            elif candidate.source == CandidateSource.EXPRESSION:
                self._computed(option, candidate.value)

    def _backend_settings(self, row: BackendSettingsRow, _index: int) -> None:
        backend = self._tables.backends[row.backend]
        before, end = backend.first_option - 1, backend.first_option + backend.option_count
        for settings in self._tables.option_settings[row.first : row.first + row.length]:
            _require(before < settings.option < end, "its options are in disorder")
            before = settings.option

    def _profile(self, _profile: ProfileRow, index: int) -> None:
        self._follows(self._tables.profiles, index)


def _wrong_bounds(field: RowField, column: Sequence[float]) -> _Problems:
    what = "the bound of multiples" if field.is_step else "a bound"
    for index, number in enumerate(column):
        if math.isnan(number) or (field.is_step and not 0 <= number < math.inf):
            yield index, f"{what} is not a number"
