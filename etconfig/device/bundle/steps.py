"""`StepCounter`: counts the steps that deciding a bundle takes at most.

A step is an instruction, an item of a list or table, or 8 bytes of a text. Every row says how many steps it
takes. A reader verifies each number from those of the rows that it refers to, so no accepted bundle keeps a
device busy. `docs/bundle.md` states the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from etconfig.device.bundle.bundle_format import FACT_TYPES, OPTION_KINDS
from etconfig.device.bundle.tables import (
    NONE,
    BackendRow,
    BackendSettingsRow,
    BundleTables,
    CandidateRow,
    CandidateSource,
    ConditionRow,
    ExpressionRow,
    FactRow,
    InstructionRow,
    ModelRow,
    OptionRow,
    OptionSettingsRow,
    ProfileRow,
    SlotRow,
    StoredKind,
    ValueRow,
)
from etconfig.expression.operations import OPERATIONS_OF_BUNDLES, Op
from etconfig.facts.registry import FactType
from etconfig.report.model import shown_text
from etconfig.schema.option_type import OptionKind

MAX_STEPS: Final = 1 << 20
"""The most steps of a selection, of all method instances of a profile, and of the choice of a variant."""
MAX_VALUE_STEPS: Final = 0xFFFF
"""The most steps of one value."""
MAX_INSTRUCTIONS: Final = 4096
"""The most instructions of one expression; each needs a character at least, of which there are as many."""
MAX_SCRATCH_BYTES: Final = 8192
"""The most bytes of joined texts and of lists that one expression builds; 32 for each item of a list."""
MAX_SLOTS: Final = 1024
"""The most method instances of one profile."""

MAX_FACT_TEXT_BYTES: Final = 1024
"""The longest text of a fact that a device accepts."""
MAX_FACT_ITEMS: Final = 1024
MAX_FACT_LIST_BYTES: Final = 16384
"""The longest list of a fact that a device accepts: its items, and the bytes of their texts in all."""

_ITEM_BYTES = 32


def is_short_fact(value: str | Sequence[str]) -> bool:
    """Return True if a device accepts a text or list of texts as a fact."""
    if isinstance(value, str):
        return len(value.encode()) <= MAX_FACT_TEXT_BYTES
    size_bytes = sum(len(text.encode()) for text in value)
    return len(value) <= MAX_FACT_ITEMS and size_bytes <= MAX_FACT_LIST_BYTES


def text_steps(size_bytes: int) -> int:
    """Return the steps of a text."""
    return 1 + size_bytes // 8


class _Element(NamedTuple):
    """The most that an element of the stack may be.

    Attributes:
        items: The items of a list; 1 for a scalar.
        steps: The steps to visit all of it.
        text_bytes: The bytes of a text.
        end: The scratch bytes that were taken when it was joined; -1 if it is not a joined text.
    """

    items: int = 1
    steps: int = 1
    text_bytes: int = 0
    end: int = -1


_SCALAR = _Element()
_FACTS = {
    FactType.STRING: _Element(1, text_steps(MAX_FACT_TEXT_BYTES), MAX_FACT_TEXT_BYTES),
    FactType.STRING_LIST: _Element(MAX_FACT_ITEMS, 1 + MAX_FACT_ITEMS + MAX_FACT_LIST_BYTES // 8),
}


class StepCounter:
    """The steps of the rows of one bundle, vector by vector. Each relies on those before it, which are sound.

    Attributes:
        values: The steps of the values counted so far; other vectors likewise.

    Args:
        tables: The bundle. What it says about steps does not matter.
    """

    def __init__(self, tables: BundleTables) -> None:
        self._tables = tables
        self._text_bytes: dict[int, int] = {}
        self.values: list[int] = []
        self.expressions: list[int] = []
        self.conditions: list[int] = []
        self.options: list[int] = []
        self.backends: list[int] = []
        self.option_settings: list[int] = []
        self.backend_settings: list[int] = []
        self.slots: list[int] = []
        self._facts = 0

    def text_bytes(self, index: int) -> int:
        """Return the number of bytes of a text."""
        if index not in self._text_bytes:
            self._text_bytes[index] = len(self._tables.texts[index].encode())
        return self._text_bytes[index]

    def _text(self, index: int) -> int:
        return 0 if index == NONE else text_steps(self.text_bytes(index))

    # --- values and facts ---

    def add_value(self, value: ValueRow) -> int:
        """Count the next value.

        Raises:
            ValueError: it takes too many steps, as do the other rows that are added.
        """
        steps = 1
        if value.kind == StoredKind.TEXT:
            steps = self._text(value.bits)
        elif value.kind in (StoredKind.ARRAY, StoredKind.TABLE):
            is_table = value.kind == StoredKind.TABLE
            width = 2 if is_table else 1
            flat = self._tables.items[value.bits : value.bits + width * value.length]
            steps += sum(self.values[item] for item in flat[width - 1 :: width])
            steps += sum(map(self._text, flat[::2])) if is_table else 0
        if steps > MAX_VALUE_STEPS:
            raise ValueError(f"it is larger than {MAX_VALUE_STEPS:,} items, or 8 bytes of texts each")
        self.values.append(steps)
        return steps

    def add_fact(self, fact: FactRow) -> None:
        """Count the steps to look up a fact of a device and check it."""
        choices = self._tables.items[fact.first_choice : fact.first_choice + fact.choice_count]
        self._facts += 1 + self._text(fact.name) + sum(map(self._text, choices))
        _limited(self._facts)

    # --- expressions ---

    def add_expression(self, expression: ExpressionRow) -> int:
        """Count the next expression."""
        if expression.length > MAX_INSTRUCTIONS:
            raise ValueError(
                f"it has {expression.length} instructions; at most {MAX_INSTRUCTIONS} are allowed"
            )
        end = expression.first + expression.length
        run = _Run(self._tables, self.values, self.text_bytes)
        for instruction in self._tables.instructions[expression.first : end]:
            run.step(instruction)
            _limited(run.steps)
            if run.scratch_bytes > MAX_SCRATCH_BYTES:
                raise ValueError(f"it may join texts or build lists of more than {MAX_SCRATCH_BYTES} bytes")
        self.expressions.append(_limited(run.steps + run.stack[-1].steps))
        return self.expressions[-1]

    def add_condition(self, condition: ConditionRow) -> int:
        """Count the next condition."""
        clauses = self.expressions[condition.first : condition.first + condition.length]
        self.conditions.append(_limited(sum(clauses)))
        return self.conditions[-1]

    def _condition(self, index: int) -> int:
        return 0 if index == NONE else self.conditions[index]

    # --- backends and settings ---

    def add_option(self, option: OptionRow) -> int:
        """Count the choices of the next option."""
        choices = self._tables.choices[option.first_choice : option.first_choice + option.choice_count]
        self.options.append(_limited(sum(self.values[choice.value] for choice in choices)))
        return self.options[-1]

    def _checked(self, number: int, steps: int) -> int:
        """Return the steps to check a value of an option, which takes as many steps."""
        is_array = OPTION_KINDS[self._tables.options[number].kind] is OptionKind.ARRAY
        return steps * (1 + self.options[number]) if is_array else steps + self.options[number]

    def _default(self, number: int) -> int:
        option = self._tables.options[number]
        steps = 1 + (0 if option.default_value == NONE else self.values[option.default_value])
        if option.from_fact != NONE:
            fact = FACT_TYPES[self._tables.facts[option.from_fact].type]
            steps += self._checked(number, _FACTS.get(fact, _SCALAR).steps)
        return steps

    def add_backend(self, backend: BackendRow) -> int:
        """Count the next backend: the defaults and recommendations of all its options."""
        tables = self._tables
        options = range(backend.first_option, backend.first_option + backend.option_count)
        advice = tables.advice[backend.first_advice : backend.first_advice + backend.advice_count]
        steps = len(options) * len(advice) + sum(map(self._default, options))
        for entry in advice:
            steps += self._condition(entry.condition)
            steps += self._checked(entry.option, self.expressions[entry.expression])
        self.backends.append(_limited(steps))
        return steps

    def add_option_settings(self, row: OptionSettingsRow) -> int:
        """Count the next option that is set."""
        option = self._tables.options[row.option]
        candidates = self._tables.candidates[row.first : row.first + row.length]
        steps = 1 + sum(self._candidate(row.option, candidate) for candidate in candidates)
        literals = [c.value for c in candidates if c.source == CandidateSource.LITERAL]
        literals += [each for each in (row.program_value, option.default_value) if each != NONE]
        if row.program_value != NONE:
            steps += self.values[row.program_value]
        if OPTION_KINDS[option.kind] is OptionKind.TABLE:  # each key is compared with those before it
            keys = sum(self._tables.values[value].length for value in literals)
            steps += keys * sum(self.values[value] for value in literals)
        self.option_settings.append(_limited(steps))
        return steps

    def _candidate(self, option: int, candidate: CandidateRow) -> int:
        steps = 1 + self._condition(candidate.condition)
        if candidate.source == CandidateSource.LITERAL:
            return steps + self.values[candidate.value]
        if candidate.source == CandidateSource.EXPRESSION:
            return steps + self._checked(option, self.expressions[candidate.value])
        return steps

    def add_backend_settings(self, settings: BackendSettingsRow) -> int:
        """Count the next settings of a backend, with all that it has without them."""
        rows = self.option_settings[settings.first : settings.first + settings.length]
        steps = self.backends[settings.backend] + sum(rows)
        self.backend_settings.append(_limited(steps))
        return steps

    # --- profiles and models ---

    def add_slot(self, slot: SlotRow) -> int:
        """Count the next method instance."""
        numbers = self._tables.items[slot.first : slot.first + slot.length]
        steps = self._facts + 1 + self._text(slot.method) + self._text(slot.instance)
        steps += sum(self.backend_settings[number] for number in numbers)
        self.slots.append(_limited(steps))
        return steps

    def check_profile(self, profile: ProfileRow) -> None:
        """Count the method instances of a profile, each with the facts that it sets by hand."""
        if profile.slot_count > MAX_SLOTS:
            raise ValueError(f"it has {profile.slot_count} method instances; at most {MAX_SLOTS} are allowed")
        slots = self.slots[profile.first_slot : profile.first_slot + profile.slot_count]
        _limited(sum(slots) + len(slots) * profile.fact_count)

    def check_selection(self) -> None:
        """Count the selection of a profile."""
        tables = self._tables
        steps = self._facts + tables.project_fact_count
        steps += sum(
            1 + profile.base_count + self._condition(profile.condition) for profile in tables.profiles
        )
        _limited(steps)

    def check_model(self, model: ModelRow) -> None:
        """Count the choice of a variant: its facts, condition and needs, which are looked up in a list."""
        tables = self._tables
        variants = tables.variants[model.first : model.first + model.length]
        each = self._facts + tables.project_fact_count + 1
        needs = sum(variant.need_count for variant in variants) * _FACTS[FactType.STRING_LIST].steps
        conditions = sum(self._condition(variant.condition) for variant in variants)
        _limited(len(variants) * each + needs + conditions)


class _Run:
    """The steps of one expression: its instructions are run on sizes.

    Attributes:
        stack: The elements.
        steps: The steps so far.
        scratch_bytes: The bytes of joined texts and lists so far.
    """

    def __init__(self, tables: BundleTables, values: Sequence[int], text_bytes: Callable[[int], int]) -> None:
        self._tables, self._values, self._text_bytes = tables, values, text_bytes
        self.stack: list[_Element] = []
        self.steps = self.scratch_bytes = 0

    def step(self, instruction: InstructionRow) -> None:
        """Run one instruction."""
        op, operand = Op(instruction.op), instruction.operand
        info = OPERATIONS_OF_BUNDLES.get(op)
        length = _LENGTHS.get(op, operand) if info is None or info.is_variadic else info.length
        taken = self.stack[len(self.stack) - length :]
        del self.stack[len(self.stack) - length :]
        self.steps += 1 + self._work(op, operand, taken)
        self.stack.append(self._result(op, operand, taken))

    def _work(self, op: Op, operand: int, taken: Sequence[_Element]) -> int:
        """Return the steps of an instruction besides itself."""
        if op is Op.CONSTANT:
            return self._values[operand]
        info = OPERATIONS_OF_BUNDLES.get(op)
        return len(taken) if info is None else info.work(taken)

    def _result(self, op: Op, operand: int, taken: Sequence[_Element]) -> _Element:
        if op is Op.CONSTANT:
            return self._constant(operand)
        if op is Op.FACT:
            return _FACTS.get(FACT_TYPES[self._tables.facts[operand].type], _SCALAR)
        if op is Op.SELECT:
            most = [max(pair) for pair in zip(*(each[:3] for each in taken[1:]), strict=True)]
            return _Element(*most)
        if op is Op.MAKE_LIST:
            self.scratch_bytes += _ITEM_BYTES * len(taken)
            return _Element(len(taken), 1 + sum(each.steps for each in taken))
        return self._joined(*taken) if op is Op.JOIN else _SCALAR

    def _constant(self, index: int) -> _Element:
        value, steps = self._tables.values[index], self._values[index]
        if value.kind == StoredKind.TEXT:
            return _Element(1, steps, self._text_bytes(value.bits))
        return _Element(value.length, steps) if value.kind == StoredKind.ARRAY else _SCALAR

    def _joined(self, left: _Element, right: _Element) -> _Element:
        """Join two texts: the left one grows where it lies if nothing lies behind it."""
        size_bytes = left.text_bytes + right.text_bytes
        self.scratch_bytes += right.text_bytes if left.end == self.scratch_bytes else size_bytes
        return _Element(1, text_steps(size_bytes), size_bytes, self.scratch_bytes)


_LENGTHS = {**dict.fromkeys((Op.CONSTANT, Op.FACT, Op.HAS_FACT), 0), Op.SELECT: 3}
"""The number of operands of the other instructions, where they do not say it."""


def _limited(steps: int) -> int:
    if steps > MAX_STEPS:
        raise ValueError(f"it may take more than {MAX_STEPS:,} steps")
    return steps


def counted(tables: BundleTables) -> BundleTables:
    """Return sound tables with the steps of each row.

    Raises:
        ValueError: some row takes too many; the message says which.
    """
    counter = StepCounter(tables)

    def each(vector: str, add: Callable[[Any], Any]) -> None:
        for index, row in enumerate(getattr(tables, vector)):
            try:
                add(row)
            except ValueError as error:
                raise ValueError(f"{_named(tables, vector, index)}: {error}") from None

    each("values", counter.add_value)
    each("facts", counter.add_fact)
    each("expressions", counter.add_expression)
    each("conditions", counter.add_condition)
    each("options", counter.add_option)
    each("backends", counter.add_backend)
    each("option_settings", counter.add_option_settings)
    each("backend_settings", counter.add_backend_settings)
    each("slots", counter.add_slot)
    each("profiles", counter.check_profile)
    each("models", counter.check_model)
    try:
        counter.check_selection()
    except ValueError as error:
        raise ValueError(f"the selection of a profile: {error}") from None
    with_steps: dict[str, Any] = {
        name: tuple(
            row._replace(**{field: steps})
            for row, steps in zip(getattr(tables, name), getattr(counter, name), strict=True)
        )
        for name, field in STEP_FIELDS.items()
    }
    return replace(tables, **with_steps)


def _named(tables: BundleTables, vector: str, index: int) -> str:
    """Return what a row is, in the words of who wrote it."""
    row = getattr(tables, vector)[index]
    if vector in ("expressions", "conditions"):
        return f"the expression {shown_text(tables.texts[row.text])}"
    if vector in ("profiles", "models"):
        return f"{vector[:-1]} {tables.texts[row.name]}"
    return f"{vector}[{index}]"


STEP_FIELDS: Mapping[str, str] = {
    "values": "steps",
    "expressions": "steps",
    "conditions": "steps",
    "options": "choice_steps",
    "backends": "steps",
    "option_settings": "steps",
    "backend_settings": "steps",
    "slots": "steps",
}
"""The vectors whose rows say how many steps they take, and the field that does."""
