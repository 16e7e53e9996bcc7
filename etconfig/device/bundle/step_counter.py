"""`StepCounter`: counts the steps that deciding a bundle takes at most.

A step is an instruction, an item of a list or table, or 8 bytes of a text. Every row says how many steps it
takes. A reader verifies each number from the rows that it refers to, so no accepted bundle keeps a
device busy. `docs/bundle.md` states the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from etconfig.device.bundle.instruction_checks import InstructionRun, fact_operand, text_steps
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.tables import (
    EXPRESSION_TYPES,
    FACT_TYPES,
    MAX_FACT_ITEMS,
    MAX_FACT_LIST_BYTES,
    MAX_FACT_TEXT_BYTES,
    OPTION_KINDS,
    BackendRow,
    BackendSettingsRow,
    BundleTables,
    CandidateRow,
    CandidateSource,
    ConditionRow,
    ExpressionRow,
    FactRow,
    ModelRow,
    OptionRow,
    OptionSettingsRow,
    ProfileRow,
    SlotRow,
    StoredKind,
    ValueRow,
)
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

_LIST_STEPS = fact_operand(FactType.STRING_LIST).steps

STEP_FIELDS: Mapping[str, str] = {
    **dict.fromkeys(("values", "expressions", "conditions"), "steps"),
    "options": "choice_steps",
    **dict.fromkeys(("backends", "option_settings", "backend_settings", "slots"), "steps"),
}
"""The vectors whose rows say how many steps they take, and the field that does."""


def is_short_fact(value: str | Sequence[str]) -> bool:
    """Return True if a device accepts a text or list of texts as a fact."""
    if isinstance(value, str):
        return len(value.encode()) <= MAX_FACT_TEXT_BYTES
    size_bytes = sum(len(text.encode()) for text in value)
    return len(value) <= MAX_FACT_ITEMS and size_bytes <= MAX_FACT_LIST_BYTES


class StepCounter:
    """The steps of the rows of one bundle, vector by vector. Each relies on those before it, which are sound.

    Attributes:
        counts: Counts the next row of a vector, by the name of the vector, in the order of counting.
            Raises a `ValueError` if it takes too many steps, or if it is an expression that cannot be run.
        steps: The steps of the rows counted so far, by vector.
        text_bytes: The sizes of the texts.
        visited: The items of constant arrays in the expressions counted so far.

    Args:
        tables: The bundle. What it says about steps does not matter.
    """

    def __init__(self, tables: BundleTables) -> None:
        self._tables = tables
        self._facts = 0
        self.visited = 0
        self.text_bytes = [len(text.encode()) for text in tables.texts]
        self.steps: dict[str, list[int]] = {name: [] for name in STEP_FIELDS}
        self.counts: Mapping[str, Callable[[Any], int]] = {
            "values": self._value,
            "facts": self._fact,
            "expressions": self._expression,
            "conditions": self._condition,
            "options": self._option,
            "backends": self._backend,
            "option_settings": self._option_settings,
            "backend_settings": self._backend_settings,
            "slots": self._slot,
            "profiles": self._profile,
            "models": self._model,
        }

    def add(self, vector: str, row: Any) -> int:
        """Count the next row of a vector, and return its steps. Raises as `counts`."""
        steps = self.counts[vector](row)
        if steps > MAX_STEPS:
            raise ValueError(f"it may take more than {MAX_STEPS:,} steps")
        if vector in self.steps:
            self.steps[vector].append(steps)
        return steps

    def _text(self, index: int) -> int:
        return 0 if index == NONE else text_steps(self.text_bytes[index])

    def _sum(self, vector: str, first: int, length: int) -> int:
        return sum(self.steps[vector][first : first + length])

    # --- values and facts ---

    def _value(self, value: ValueRow) -> int:
        steps = 1
        if value.kind == StoredKind.TEXT:
            steps = self._text(value.bits)
        elif value.kind in (StoredKind.ARRAY, StoredKind.TABLE):
            width = 2 if value.kind == StoredKind.TABLE else 1
            flat = self._tables.items[value.bits : value.bits + width * value.length]
            steps += sum(self.steps["values"][item] for item in flat[width - 1 :: width])
            steps += sum(map(self._text, flat[::2])) if width == 2 else 0
        if steps > MAX_VALUE_STEPS:
            raise ValueError(f"it is larger than {MAX_VALUE_STEPS:,} items, or 8 bytes of texts each")
        return steps

    def _fact(self, fact: FactRow) -> int:
        """Count the steps to look up all facts of a device until this one, and check them."""
        choices = self._tables.items[fact.first_choice : fact.first_choice + fact.choice_count]
        self._facts += 1 + self._text(fact.name) + sum(map(self._text, choices))
        return self._facts

    # --- expressions ---

    def _expression(self, expression: ExpressionRow) -> int:
        """Run an expression on the types and sizes of its operands."""
        if expression.length > MAX_INSTRUCTIONS:
            raise ValueError(
                f"it has {expression.length} instructions; at most {MAX_INSTRUCTIONS} are allowed"
            )
        end = expression.first + expression.length
        run = InstructionRun(self._tables, self.steps["values"], self.text_bytes)
        for instruction in self._tables.instructions[expression.first : end]:
            run.step(instruction)
            if run.scratch_bytes > MAX_SCRATCH_BYTES:
                raise ValueError(f"it may join texts or build lists of more than {MAX_SCRATCH_BYTES} bytes")
            if run.steps > MAX_STEPS:
                return run.steps
        self.visited += run.visited
        if [each.type for each in run.stack] != [EXPRESSION_TYPES[expression.type]]:
            raise ValueError("its instructions do not leave one value of its type")
        if run.deepest != expression.stack:
            raise ValueError("the depth of its stack is wrong")
        return run.steps + run.stack[0].steps

    def _condition(self, condition: ConditionRow) -> int:
        return self._sum("expressions", condition.first, condition.length)

    def _when(self, condition: int) -> int:
        return 0 if condition == NONE else self.steps["conditions"][condition]

    # --- backends and settings ---

    def _option(self, option: OptionRow) -> int:
        """Count the choices of an option."""
        choices = self._tables.choices[option.first_choice : option.first_choice + option.choice_count]
        return sum(self.steps["values"][choice.value] for choice in choices)

    def _checked(self, number: int, steps: int) -> int:
        """Return the steps to check a value of an option, which takes as many steps."""
        is_array = OPTION_KINDS[self._tables.options[number].kind] is OptionKind.ARRAY
        choices = self.steps["options"][number]
        return steps * (1 + choices) if is_array else steps + choices

    def _default(self, number: int) -> int:
        option = self._tables.options[number]
        steps = 1 + (0 if option.default_value == NONE else self.steps["values"][option.default_value])
        if option.from_fact != NONE:
            fact = fact_operand(FACT_TYPES[self._tables.facts[option.from_fact].type])
            steps += self._checked(number, fact.steps)
        return steps

    def _backend(self, backend: BackendRow) -> int:
        """Count the defaults and recommendations of all options of a backend."""
        options = range(backend.first_option, backend.first_option + backend.option_count)
        end = backend.first_advice + backend.advice_count
        advice = self._tables.advice[backend.first_advice : end]
        steps = len(options) * len(advice) + sum(map(self._default, options))
        for entry in advice:
            steps += self._when(entry.condition)
            steps += self._checked(entry.option, self.steps["expressions"][entry.expression])
        return steps

    def _option_settings(self, row: OptionSettingsRow) -> int:
        option = self._tables.options[row.option]
        candidates = self._tables.candidates[row.first : row.first + row.length]
        steps = 1 + sum(self._candidate(row.option, candidate) for candidate in candidates)
        literals = [c.value for c in candidates if c.source == CandidateSource.LITERAL]
        literals += [each for each in (row.program_value, option.default_value) if each != NONE]
        values = self.steps["values"]
        if row.program_value != NONE:
            steps += values[row.program_value]
        if OPTION_KINDS[option.kind] is OptionKind.TABLE:  # each key is compared with those before it
            keys = sum(self._tables.values[value].length for value in literals)
            steps += keys * sum(values[value] for value in literals)
        return steps

    def _candidate(self, option: int, candidate: CandidateRow) -> int:
        steps = 1 + self._when(candidate.condition)
        if candidate.source == CandidateSource.LITERAL:
            return steps + self.steps["values"][candidate.value]
        if candidate.source == CandidateSource.EXPRESSION:
            return steps + self._checked(option, self.steps["expressions"][candidate.value])
        return steps

    def _backend_settings(self, settings: BackendSettingsRow) -> int:
        """Count the settings of a backend, with all that it has without them."""
        own = self._sum("option_settings", settings.first, settings.length)
        return self.steps["backends"][settings.backend] + own

    # --- profiles and models ---

    def _slot(self, slot: SlotRow) -> int:
        numbers = self._tables.items[slot.first : slot.first + slot.length]
        steps = self._facts + 1 + self._text(slot.method) + self._text(slot.instance)
        return steps + sum(self.steps["backend_settings"][number] for number in numbers)

    def _profile(self, profile: ProfileRow) -> int:
        """Count the method instances of a profile, each with the facts that it sets by hand."""
        if profile.slot_count > MAX_SLOTS:
            raise ValueError(f"it has {profile.slot_count} method instances; at most {MAX_SLOTS} are allowed")
        slots = self._sum("slots", profile.first_slot, profile.slot_count)
        return slots + profile.slot_count * profile.fact_count

    def _model(self, model: ModelRow) -> int:
        """Count the choice of a variant: its facts, condition and needs, which are looked up in a list."""
        variants = self._tables.variants[model.first : model.first + model.length]
        steps = len(variants) * (self._facts + self._tables.project_fact_count + 1)
        steps += sum(variant.need_count for variant in variants) * _LIST_STEPS
        return steps + sum(self._when(variant.condition) for variant in variants)

    def check_selection(self) -> None:
        """Verify that the selection of a profile is quick.

        Raises:
            ValueError: it is not.
        """
        steps = self._facts + self._tables.project_fact_count
        for profile in self._tables.profiles:
            steps += 1 + profile.base_count + self._when(profile.condition)
        if steps > MAX_STEPS:
            raise ValueError(f"the selection of a profile may take more than {MAX_STEPS:,} steps")


def counted(tables: BundleTables) -> BundleTables:
    """Return sound tables with the steps of each row.

    Raises:
        ValueError: some row takes too many; the message says which.
    """
    counter = StepCounter(tables)
    for vector in counter.counts:
        for index, row in enumerate(getattr(tables, vector)):
            try:
                counter.add(vector, row)
            except ValueError as error:
                raise ValueError(f"{_named(tables, vector, index)}: {error}") from None
    counter.check_selection()
    with_steps: dict[str, Any] = {
        name: tuple(
            row._replace(**{field: steps})
            for row, steps in zip(getattr(tables, name), counter.steps[name], strict=True)
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
