"""`check_tables`: verifies every index, range and kind in the tables of a bundle, once.

Each rule is local: it looks at one row and the rows that it refers to. The C++ reader has the same rules.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from etconfig.device.bundle.bundle_format import (
    APPLIES,
    EXPRESSION_TYPES,
    FACT_TYPES,
    OPTION_KINDS,
    PROVIDERS,
    SCOPES,
    VOLATILITIES,
)
from etconfig.device.bundle.expression_checks import check_expression
from etconfig.device.bundle.steps import (
    MAX_FACT_ITEMS,
    MAX_FACT_LIST_BYTES,
    MAX_FACT_TEXT_BYTES,
    STEP_FIELDS,
    StepCounter,
)
from etconfig.device.bundle.tables import (
    MAX_DEPTH,
    MAX_FACTS,
    MAX_NAME_BYTES,
    MAX_PROFILES,
    NONE,
    BundleTables,
    CandidateLayer,
    CandidateRow,
    CandidateSource,
    OptionRow,
    StoredKind,
)
from etconfig.expression.types import ExpressionType
from etconfig.facts.registry import FactType
from etconfig.schema.option_type import OptionKind

MAX_VISITED: Final = 1 << 22
"""The most elements of ranges that are looked at; only in a damaged file do ranges overlap."""

_STORED = {
    OptionKind.BOOLEAN: (StoredKind.BOOLEAN,),
    OptionKind.INTEGER: (StoredKind.INTEGER,),
    OptionKind.FLOAT: (StoredKind.NUMBER,),
    OptionKind.STRING: (StoredKind.TEXT,),
    OptionKind.CHOICE: (StoredKind.TEXT, StoredKind.INTEGER),
    OptionKind.ARRAY: (StoredKind.ARRAY,),
    OptionKind.TABLE: (StoredKind.TABLE,),
    OptionKind.RECORD: (StoredKind.TABLE,),
}
_COMPUTED = {
    ExpressionType.BOOL: (OptionKind.BOOLEAN,),
    ExpressionType.INT: (OptionKind.INTEGER, OptionKind.CHOICE),
    ExpressionType.FLOAT: (OptionKind.FLOAT,),
    ExpressionType.STRING: (OptionKind.STRING, OptionKind.CHOICE),
}
_STORED_FACT = {
    FactType.BOOL: StoredKind.BOOLEAN,
    FactType.INT: StoredKind.INTEGER,
    FactType.FLOAT: StoredKind.NUMBER,
    FactType.STRING: StoredKind.TEXT,
    FactType.STRING_LIST: StoredKind.ARRAY,
}


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
        return not type_.is_list and kind in _COMPUTED[type_]
    return type_ is ExpressionType.EMPTY_LIST or (
        type_.element is not None and OPTION_KINDS[row.item_kind] in _COMPUTED[type_.element]
    )


class _TableChecks:
    """The checks of one bundle, in an order in which each relies on the earlier ones only."""

    def __init__(self, tables: BundleTables) -> None:
        self._tables = tables
        self._visited = 0
        self._steps = StepCounter(tables)

    def check(self) -> None:
        """Verify everything."""
        self._values()
        self._facts()
        self._expressions()
        self._backends()
        self._settings()
        self._profiles()
        self._models()

    # --- helpers ---

    def _fail(self, vector: str, index: int, problem: str) -> NoReturn:
        raise ValueError(f"{vector}[{index}]: {problem}")

    def _range(self, vector: str, index: int, first: int, count: int, target: Sequence[object]) -> range:
        if first + count > len(target):
            self._fail(vector, index, f"its range of {count} from {first} leaves {len(target)} elements")
        self._visited += count
        if self._visited > MAX_VISITED:
            raise ValueError("its ranges overlap")
        return range(first, first + count)

    def _index(self, vector: str, index: int, to: int, target: Sequence[object]) -> None:
        if to >= len(target):
            self._fail(vector, index, f"it refers to element {to} of {len(target)}")

    def _name(self, vector: str, index: int, to: int) -> None:
        self._index(vector, index, to, self._tables.texts)
        is_short = self._steps.text_bytes(to) <= MAX_NAME_BYTES
        self._require(vector, index, is_short, f"its name has more than {MAX_NAME_BYTES} bytes")

    def _optional(self, vector: str, index: int, to: int, target: Sequence[object]) -> None:
        if to != NONE:
            self._index(vector, index, to, target)

    def _require(self, vector: str, index: int, holds: bool, problem: str) -> None:
        if not holds:
            self._fail(vector, index, problem)

    def _count(self, vector: str, index: int, add: Callable[[Any], object]) -> None:
        """Count the steps of a row, and compare them with what it says."""
        row = getattr(self._tables, vector)[index]
        try:
            steps = add(row)
        except ValueError as error:
            self._fail(vector, index, str(error))
        if vector in STEP_FIELDS:
            self._require(vector, index, getattr(row, STEP_FIELDS[vector]) == steps, "its steps are wrong")

    def _sorted_by_name(self, vector: str, names: Sequence[int]) -> None:
        texts = self._tables.texts
        for index in range(1, len(names)):
            if not texts[names[index - 1]] < texts[names[index]]:
                self._fail(vector, index, "the names are not sorted")

    # --- the vectors ---

    def _values(self) -> None:
        tables = self._tables
        for index, value in enumerate(tables.values):
            self._require("values", index, value.kind <= StoredKind.TABLE, "its kind is unknown")
            kind = StoredKind(value.kind)
            if kind is StoredKind.BOOLEAN:
                self._require("values", index, value.bits <= 1, "it is neither true nor false")
            elif kind is StoredKind.NUMBER:
                self._require("values", index, math.isfinite(number_of(value.bits)), "it is not finite")
            elif kind is StoredKind.TEXT:
                self._index("values", index, value.bits, tables.texts)
            is_container = kind in (StoredKind.ARRAY, StoredKind.TABLE)
            self._require("values", index, (value.depth > 0) == is_container, "its depth is wrong")
            self._require("values", index, value.depth <= MAX_DEPTH, "it is nested too deep")
            if is_container:
                self._container(index)
            self._count("values", index, self._steps.add_value)

    def _container(self, index: int) -> None:
        tables, value = self._tables, self._tables.values[index]
        is_table = value.kind == StoredKind.TABLE
        width = 2 if is_table else 1
        for at in self._range("values", index, value.bits, width * value.length, tables.items):
            to = tables.items[at]
            if is_table and (at - value.bits) % 2 == 0:
                self._index("values", index, to, tables.texts)
            elif to >= index or tables.values[to].depth >= value.depth:
                self._fail("values", index, "it contains a value that does not come before it")

    def _facts(self) -> None:
        tables = self._tables
        if len(tables.facts) > MAX_FACTS:
            raise ValueError(f"it reads {len(tables.facts)} facts; at most {MAX_FACTS} are allowed")
        for index, fact in enumerate(tables.facts):
            self._name("facts", index, fact.name)
            self._optional("facts", index, fact.unit, tables.texts)
            self._require("facts", index, fact.type < len(FACT_TYPES), "its type is unknown")
            self._require("facts", index, fact.volatility < len(VOLATILITIES), "its volatility is unknown")
            self._require("facts", index, fact.is_identifying <= 1, "a flag is neither 0 nor 1")
            bounds = (fact.minimum, fact.maximum)
            self._require("facts", index, not any(map(math.isnan, bounds)), "a bound is not a number")
            is_text = FACT_TYPES[fact.type] is FactType.STRING
            self._require("facts", index, is_text or not fact.choice_count, "only texts have choices")
            for at in self._range("facts", index, fact.first_choice, fact.choice_count, tables.items):
                self._index("facts", index, tables.items[at], tables.texts)
            self._count("facts", index, self._steps.add_fact)
        self._sorted_by_name("facts", [fact.name for fact in tables.facts])
        for index, each in enumerate(tables.hand_set_facts):
            self._index("hand_set_facts", index, each.fact, tables.facts)
            self._index("hand_set_facts", index, each.value, tables.values)
            self._index("hand_set_facts", index, each.origin, tables.texts)
            self._hand_set_value(index)
        if tables.project_fact_count > len(tables.hand_set_facts):
            raise ValueError("the project sets more facts than there are")

    def _hand_set_value(self, index: int) -> None:
        tables, row = self._tables, self._tables.hand_set_facts[index]
        value = tables.values[row.value]
        wanted = _STORED_FACT[FACT_TYPES[tables.facts[row.fact].type]]
        self._require("hand_set_facts", index, value.kind == wanted, "its value has another type")
        texts = [value] if wanted is StoredKind.TEXT else []
        if wanted is StoredKind.ARRAY:
            items = self._range("hand_set_facts", index, value.bits, value.length, tables.items)
            texts = [tables.values[tables.items[at]] for at in items]
            are_texts = all(text.kind == StoredKind.TEXT for text in texts)
            self._require("hand_set_facts", index, are_texts, "its value has another type")
        size_bytes = sum(self._steps.text_bytes(text.bits) for text in texts)
        most = MAX_FACT_LIST_BYTES if wanted is StoredKind.ARRAY else MAX_FACT_TEXT_BYTES
        is_short = len(texts) <= MAX_FACT_ITEMS and size_bytes <= most
        self._require("hand_set_facts", index, is_short, "its value is longer than devices accept")

    def _expressions(self) -> None:
        tables = self._tables
        for index, expression in enumerate(tables.expressions):
            self._index("expressions", index, expression.text, tables.texts)
            self._require(
                "expressions", index, expression.type < len(EXPRESSION_TYPES), "its type is unknown"
            )
            span = self._range("expressions", index, expression.first, expression.length, tables.instructions)
            try:
                self._visited += check_expression(tables, expression, span)
            except ValueError as error:
                self._fail("expressions", index, str(error))
            self._count("expressions", index, self._steps.add_expression)
        for index, condition in enumerate(tables.conditions):
            self._index("conditions", index, condition.text, tables.texts)
            self._require("conditions", index, condition.length > 0, "it has no clauses")
            clauses = self._range("conditions", index, condition.first, condition.length, tables.expressions)
            are_bool = all(
                EXPRESSION_TYPES[tables.expressions[at].type] is ExpressionType.BOOL for at in clauses
            )
            self._require("conditions", index, are_bool, "a clause is not a condition")
            self._count("conditions", index, self._steps.add_condition)

    def _backends(self) -> None:
        tables = self._tables
        for index, choice in enumerate(tables.choices):
            self._index("choices", index, choice.value, tables.values)
            self._index("choices", index, choice.sent, tables.values)
        for index, option in enumerate(tables.options):
            self._option(index, option)
            self._count("options", index, self._steps.add_option)
        for index, backend in enumerate(tables.backends):
            self._name("backends", index, backend.id)
            self._require("backends", index, backend.program_beats_recommendation <= 1, "a flag is wrong")
            options = self._range(
                "backends", index, backend.first_option, backend.option_count, tables.options
            )
            entries = self._range(
                "backends", index, backend.first_advice, backend.advice_count, tables.advice
            )
            for at in entries:
                self._require("advice", at, tables.advice[at].option in options, "its option is elsewhere")
                self._advice(at)
            self._count("backends", index, self._steps.add_backend)

    def _option(self, index: int, option: OptionRow) -> None:
        tables = self._tables
        kinds = len(OPTION_KINDS)
        self._require("options", index, max(option.kind, option.item_kind) < kinds, "its kind is unknown")
        self._require("options", index, option.scope < len(SCOPES), "its scope is unknown")
        self._require("options", index, option.applies < len(APPLIES), "when it applies is unknown")
        flags = (option.is_minimum_exclusive, option.is_maximum_exclusive, option.is_optional)
        self._require("options", index, max(flags) <= 1, "a flag is wrong")
        bounds = (option.minimum, option.maximum)
        self._require("options", index, not any(map(math.isnan, bounds)), "a bound is not a number")
        is_step = 0 <= option.multiple_of < math.inf
        self._require("options", index, is_step, "the bound of multiples is not a number")
        self._name("options", index, option.name)
        for text in (option.unit, option.doc, option.key):
            self._optional("options", index, text, tables.texts)
        self._needed_by(option.default_value, index, option.default_origin)
        self._needed_by(option.from_fact, index, option.fact_origin)
        self._optional("options", index, option.separator, tables.texts)
        self._optional("options", index, option.from_fact, tables.facts)
        self._range("options", index, option.first_choice, option.choice_count, tables.choices)
        if option.default_value != NONE:
            self._literal("options", index, option, option.default_value)

    def _needed_by(self, present: int, index: int, origin: int) -> None:
        """Verify the origin of a default: it must be there if the default is."""
        check = self._optional if present == NONE else self._index
        check("options", index, origin, self._tables.texts)

    def _literal(self, vector: str, index: int, option: OptionRow, value: int) -> None:
        self._index(vector, index, value, self._tables.values)
        kind = self._tables.values[value].kind
        fits = kind in _STORED[OPTION_KINDS[option.kind]] or (kind == StoredKind.NONE and option.is_optional)
        self._require(vector, index, bool(fits), "a value does not have the type of its option")

    def _computed(self, vector: str, index: int, option: OptionRow, expression: int) -> None:
        self._index(vector, index, expression, self._tables.expressions)
        type_ = EXPRESSION_TYPES[self._tables.expressions[expression].type]
        fits = fits_option(option, type_)
        self._require(vector, index, fits, "an expression does not have the type of its option")

    def _advice(self, index: int) -> None:
        tables, entry = self._tables, self._tables.advice[index]
        self._optional("advice", index, entry.condition, tables.conditions)
        self._index("advice", index, entry.origin, tables.texts)
        self._computed("advice", index, tables.options[entry.option], entry.expression)

    def _settings(self) -> None:
        tables = self._tables
        for index, each in enumerate(tables.option_settings):
            self._index("option_settings", index, each.option, tables.options)
            option = tables.options[each.option]
            if each.program_value != NONE:
                self._literal("option_settings", index, option, each.program_value)
                self._index("option_settings", index, each.program_origin, tables.texts)
            for at in self._range("option_settings", index, each.first, each.length, tables.candidates):
                self._candidate(at, tables.candidates[at], option)
            self._count("option_settings", index, self._steps.add_option_settings)
        for index, settings in enumerate(tables.backend_settings):
            self._index("backend_settings", index, settings.backend, tables.backends)
            backend = tables.backends[settings.backend]
            before = backend.first_option - 1
            for at in self._range(
                "backend_settings", index, settings.first, settings.length, tables.option_settings
            ):
                number = tables.option_settings[at].option
                is_next = before < number < backend.first_option + backend.option_count
                self._require("backend_settings", index, is_next, "its options are in disorder")
                before = number
            self._count("backend_settings", index, self._steps.add_backend_settings)

    def _candidate(self, index: int, candidate: CandidateRow, option: OptionRow) -> None:
        tables = self._tables
        self._optional("candidates", index, candidate.condition, tables.conditions)
        self._index("candidates", index, candidate.origin, tables.texts)
        self._require("candidates", index, candidate.source <= CandidateSource.UNSET, "its source is unknown")
        self._require("candidates", index, candidate.layer <= CandidateLayer.OVERRIDE, "its layer is unknown")
        checks: dict[int, Callable[[str, int, OptionRow, int], None]] = {
            CandidateSource.LITERAL: self._literal,
            CandidateSource.EXPRESSION: self._computed,
        }
        if candidate.source in checks:
            checks[candidate.source]("candidates", index, option, candidate.value)

    def _profiles(self) -> None:
        tables = self._tables
        for index, slot in enumerate(tables.slots):
            self._name("slots", index, slot.method)
            if slot.instance != NONE:
                self._name("slots", index, slot.instance)
            for at in self._range("slots", index, slot.first, slot.length, tables.items):
                self._index("slots", index, tables.items[at], tables.backend_settings)
            self._count("slots", index, self._steps.add_slot)
        if len(tables.profiles) > MAX_PROFILES:
            raise ValueError(f"it has {len(tables.profiles)} profiles; at most {MAX_PROFILES} are allowed")
        for index, profile in enumerate(tables.profiles):
            self._name("profiles", index, profile.name)
            self._optional("profiles", index, profile.condition, tables.conditions)
            self._optional("profiles", index, profile.fingerprint, tables.texts)
            self._require("profiles", index, profile.provider < len(PROVIDERS), "its provider is unknown")
            self._require("profiles", index, profile.is_fallback <= 1, "a flag is wrong")
            for at in self._range("profiles", index, profile.first_base, profile.base_count, tables.items):
                self._index("profiles", index, tables.items[at], tables.profiles)
            self._range("profiles", index, profile.first_fact, profile.fact_count, tables.hand_set_facts)
            self._range("profiles", index, profile.first_slot, profile.slot_count, tables.slots)
            self._count("profiles", index, self._steps.check_profile)
        self._sorted_by_name("profiles", [profile.name for profile in tables.profiles])
        if tables.named_profile != NONE and tables.named_profile >= len(tables.profiles):
            raise ValueError("the profile that it names is not in it")
        self._steps.check_selection()

    def _models(self) -> None:
        tables = self._tables
        for index, model in enumerate(tables.models):
            self._name("models", index, model.name)
            self._require("models", index, model.fallback <= 1, "a flag is wrong")
            self._range("models", index, model.first, model.length, tables.variants)
        for index, variant in enumerate(tables.variants):
            self._index("variants", index, variant.file, tables.texts)
            self._optional("variants", index, variant.condition, tables.conditions)
            for at in self._range("variants", index, variant.first_need, variant.need_count, tables.items):
                self._index("variants", index, tables.items[at], tables.texts)
        for index in range(len(tables.models)):
            self._count("models", index, self._steps.check_model)
