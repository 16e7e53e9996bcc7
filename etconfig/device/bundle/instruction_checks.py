"""`InstructionRun`: verifies the instructions of an expression by running them on types and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from etconfig.device.bundle.tables import (
    FACT_TYPES,
    MAX_FACT_ITEMS,
    MAX_FACT_LIST_BYTES,
    MAX_FACT_TEXT_BYTES,
    MAX_STACK,
    BundleTables,
    InstructionRow,
    StoredKind,
)
from etconfig.expression.operations import OPERANDS, OPERATIONS_OF_BUNDLES, Op
from etconfig.expression.types import TYPE_OF_FACT, ExpressionType, common_type
from etconfig.facts.registry import FactType

ITEM_BYTES = 32
"""The bytes that an item of a built list counts."""

_SCALARS = {
    StoredKind.BOOLEAN: ExpressionType.BOOL,
    StoredKind.INTEGER: ExpressionType.INT,
    StoredKind.NUMBER: ExpressionType.FLOAT,
    StoredKind.TEXT: ExpressionType.STRING,
}


def text_steps(size_bytes: int) -> int:
    """Return the steps of a text."""
    return 1 + size_bytes // 8


class Operand(NamedTuple):
    """An element of the stack: its type, and the most that it may be.

    Attributes:
        type: Its type.
        items: The items of a list; 1 for a scalar.
        steps: The steps to visit all of it.
        text_bytes: The bytes of a text.
        end: The scratch bytes that were taken when it was joined; -1 if it is not a joined text.
    """

    type: ExpressionType
    items: int = 1
    steps: int = 1
    text_bytes: int = 0
    end: int = -1


def fact_operand(type_: FactType) -> Operand:
    """Return the most that a fact of a type may be."""
    if type_ is FactType.STRING:
        return Operand(ExpressionType.STRING, 1, text_steps(MAX_FACT_TEXT_BYTES), MAX_FACT_TEXT_BYTES)
    steps = MAX_FACT_ITEMS + text_steps(MAX_FACT_LIST_BYTES) if type_ is FactType.STRING_LIST else 1
    return Operand(TYPE_OF_FACT[type_], MAX_FACT_ITEMS if steps > 1 else 1, steps)


class InstructionRun:
    """The stack of one expression, while its instructions are run.

    Attributes:
        stack: The elements.
        deepest: The most elements so far.
        steps: The steps so far.
        scratch_bytes: The bytes of joined texts and lists so far.
        visited: The items of constant arrays so far.

    Args:
        tables: The bundle, of which values, items and facts are verified already.
        values: The steps of the values.
        text_bytes: The sizes of the texts.
    """

    def __init__(self, tables: BundleTables, values: Sequence[int], text_bytes: Sequence[int]) -> None:
        self._tables, self._values, self._text_bytes = tables, values, text_bytes
        self.stack: list[Operand] = []
        self.deepest = self.steps = self.scratch_bytes = self.visited = 0

    def step(self, instruction: InstructionRow) -> None:
        """Run one instruction.

        Raises:
            ValueError: it cannot be run; the message says why.
        """
        op, operand = Op(instruction.op), instruction.operand
        count, is_variadic = OPERANDS[op]
        if is_variadic:
            if operand < count:
                raise ValueError("an instruction has too few operands")
            count = operand
        elif count and operand:
            raise ValueError("an instruction has an operand that it does not take")
        below = len(self.stack) - count
        if below < 0:
            raise ValueError("an instruction takes more than the stack has")
        taken = self.stack[below:]
        self.stack[below:] = (self._result(op, operand, taken),)
        self.deepest = max(self.deepest, below + 1)
        if self.deepest > MAX_STACK:
            raise ValueError(f"its stack is deeper than {MAX_STACK}")

    def _result(self, op: Op, operand: int, taken: Sequence[Operand]) -> Operand:
        if not taken:
            self.steps += 1
            return self._constant(operand) if op is Op.CONSTANT else self._fact(op, operand)
        info, types = OPERATIONS_OF_BUNDLES.get(op), [each.type for each in taken]
        type_ = _structural_type(op, types) if info is None else info.result(types)
        if type_ is None:
            raise ValueError("an instruction has operands of wrong types")
        self.steps += 1 + (len(taken) if info is None else info.work(taken))
        if op is Op.SELECT:
            _, left, right = taken
            return Operand(type_, *(max(pair) for pair in zip(left[1:4], right[1:4], strict=True)))
        if op is Op.MAKE_LIST:
            self.scratch_bytes += ITEM_BYTES * len(taken)
            return Operand(type_, len(taken), 1 + sum(each.steps for each in taken))
        if op is Op.VERSION:  # for a device, it is a text: only the checker keeps the two apart
            size_bytes = taken[0].text_bytes + 1
            self.scratch_bytes += size_bytes
            return Operand(ExpressionType.STRING, 1, text_steps(size_bytes), size_bytes)
        return self._joined(*taken) if op is Op.JOIN else Operand(type_)

    def _fact(self, op: Op, index: int) -> Operand:
        if index >= len(self._tables.facts):
            raise ValueError("an instruction reads a fact that is not there")
        if op is Op.HAS_FACT:
            return Operand(ExpressionType.BOOL)
        return fact_operand(FACT_TYPES[self._tables.facts[index].type])

    def _constant(self, index: int) -> Operand:
        tables = self._tables
        if index >= len(tables.values):
            raise ValueError("an instruction has a constant that is not there")
        value, steps = tables.values[index], self._values[index]
        self.steps += steps
        is_array = value.kind == StoredKind.ARRAY
        kinds = {value.kind}
        if is_array:
            self.visited += value.length
            if not value.length:
                return Operand(ExpressionType.EMPTY_LIST, 0, steps)
            items = tables.items[value.bits : value.bits + value.length]
            kinds = {tables.values[item].kind for item in items}
        scalar = _SCALARS.get(StoredKind(kinds.pop())) if len(kinds) == 1 else None
        if scalar is None:
            raise ValueError("an instruction has a constant of no type of expressions")
        if is_array:
            return Operand(scalar.list_type, value.length, steps)
        text_bytes = self._text_bytes[value.bits] if value.kind == StoredKind.TEXT else 0
        return Operand(scalar, 1, steps, text_bytes)

    def _joined(self, left: Operand, right: Operand) -> Operand:
        """Join two texts: the left one grows where it lies if nothing lies behind it."""
        size_bytes = left.text_bytes + right.text_bytes
        self.scratch_bytes += right.text_bytes if left.end == self.scratch_bytes else size_bytes
        return Operand(ExpressionType.STRING, 1, text_steps(size_bytes), size_bytes, self.scratch_bytes)


def _structural_type(op: Op, types: Sequence[ExpressionType]) -> ExpressionType | None:
    """Return the type of what an instruction gives that is not an operation; None if it takes other types."""
    if op is Op.MAKE_LIST:
        return types[0].list_type if not types[0].is_list and len(set(types)) == 1 else None
    if op is Op.SELECT:
        return common_type(types[1], types[2]) if types[0] is ExpressionType.BOOL else None
    return ExpressionType.BOOL if set(types) == {ExpressionType.BOOL} else None
