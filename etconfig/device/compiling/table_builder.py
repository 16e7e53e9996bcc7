"""`TableBuilder`: the tables of a bundle while they are filled; equal rows are kept once.

Conditions become instructions for a stack.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from etconfig.base.provenance import Origin
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.tables import (
    EXPRESSION_TYPES,
    MAX_DEPTH,
    MAX_STACK,
    ConditionRow,
    ExpressionRow,
    InstructionRow,
    StoredKind,
    ValueRow,
)
from etconfig.expression import Expression, ExpressionType
from etconfig.expression.checked import (
    Checked,
    CheckedConditional,
    Constant,
    FactValueOf,
    HasFact,
    ListOf,
    Logic,
    Operation,
    children,
)
from etconfig.expression.operations import OPERATIONS, Op

_MAX_OPERAND = 0xFFFF


class CannotBundleError(Exception):
    """A value or expression that the format cannot carry. It never leaves `etconfig.device` and `app`."""


class TableBuilder:
    """The texts, values, expressions and conditions of a bundle, in the order of their first use.

    Attributes:
        facts: The index of each fact that is read.

    Args:
        facts: The names of these facts.
        directories: What stands for each directory in origins; of two that contain a file, the first counts.
    """

    def __init__(self, facts: Sequence[str], directories: Mapping[Path, str] = MappingProxyType({})) -> None:
        self._directories = directories
        self.facts: Mapping[str, int] = {name: index for index, name in enumerate(facts)}
        self.texts: dict[str, int] = {}
        self.values: dict[Hashable, int] = {}
        self.value_rows: list[ValueRow] = []
        self.items: list[int] = []
        self.instructions: list[InstructionRow] = []
        self.expressions: list[ExpressionRow] = []
        self.conditions: list[ConditionRow] = []
        self._ranges: dict[Hashable, int] = {}
        self._code: dict[tuple[InstructionRow, ...], int] = {}
        self._expressions: dict[tuple[str, int], int] = {}
        self._conditions: dict[str, int] = {}

    def origin(self, origin: Origin) -> int:
        """Return the index of an origin's text, in which files are relative to the directories.

        Raises:
            CannotBundleError: UTF-8 cannot encode it.
        """
        path = Path(origin.source)
        for directory, name in self._directories.items() if path.is_absolute() else ():
            if path.is_relative_to(directory):
                origin = replace(origin, source=(name / path.relative_to(directory)).as_posix())
                break
        return self.text(str(origin))

    def text(self, text: str | None) -> int:
        """Return the index of a text; `NONE` for None.

        Raises:
            CannotBundleError: UTF-8 cannot encode it.
        """
        if text is None:
            return NONE
        if text not in self.texts:
            try:
                text.encode()
            except UnicodeEncodeError:
                raise CannotBundleError("it contains half a character, which UTF-8 cannot encode") from None
            self.texts[text] = len(self.texts)
        return self.texts[text]

    def item_range(self, items: Sequence[int]) -> int:
        """Return where a range of `items` begins; equal ranges share their place."""
        key = tuple(items)
        if not key:
            return 0
        if key not in self._ranges:
            self._ranges[key] = len(self.items)
            self.items += items
        return self._ranges[key]

    def value(self, value: Any) -> int:
        """Return the index of a value: a scalar, a list or tuple, a mapping with texts as keys, or None.

        Raises:
            CannotBundleError: it has an integer of more than 64 bits, or is nested too deep.
        """
        if isinstance(value, Mapping):
            flat = [each for key, item in value.items() for each in (self.text(key), self.value(item))]
            return self._container(StoredKind.TABLE, flat, len(value), flat[1::2])
        if isinstance(value, (list, tuple)):
            items = [self.value(item) for item in value]
            return self._container(StoredKind.ARRAY, items, len(items), items)
        kind, bits = self._scalar(value)
        return self._row(ValueRow(bits, 0, kind, 0))

    def _scalar(self, value: object) -> tuple[StoredKind, int]:
        if value is None:
            return StoredKind.NONE, 0
        if isinstance(value, bool):
            return StoredKind.BOOLEAN, int(value)
        if isinstance(value, int):
            if not -(2**63) <= value < 2**63:
                raise CannotBundleError(f"its integers have 64 bits, and {value} needs more")
            return StoredKind.INTEGER, value % 2**64
        if isinstance(value, float):
            return StoredKind.NUMBER, int.from_bytes(struct.pack("<d", value), "little")
        assert isinstance(value, str)
        return StoredKind.TEXT, self.text(value)

    def _container(self, kind: StoredKind, flat: Sequence[int], length: int, items: Sequence[int]) -> int:
        depth = 1 + max((self.value_rows[item].depth for item in items), default=0)
        if depth > MAX_DEPTH:
            raise CannotBundleError(f"its arrays and tables nest {MAX_DEPTH} deep at most")
        return self._row(ValueRow(self.item_range(flat), length, kind, depth))

    def _row(self, row: ValueRow) -> int:
        if row not in self.values:
            self.values[row] = len(self.value_rows)
            self.value_rows.append(row)
        return self.values[row]

    def expression(self, expression: Expression) -> int:
        """Return the index of an expression that gives a value.

        Raises:
            CannotBundleError: it needs a stack that is too deep, or the bundle has too many values.
        """
        key = (expression.source, expression_type_number(expression.type))
        if key not in self._expressions:
            self._expressions[key] = len(self.expressions)
            self.expressions.append(self._compiled(expression.tree, *key))
        return self._expressions[key]

    def condition(self, condition: Expression | None) -> int:
        """Return the index of a condition; `NONE` for None. Raises as `expression`."""
        if condition is None:
            return NONE
        if condition.source not in self._conditions:
            trees: Sequence[Checked] = (condition.tree,)
            if len(condition.clause_texts) > 1 and isinstance(condition.tree, Logic):
                trees = condition.tree.operands
            type_ = expression_type_number(condition.type)
            clauses = [
                self._compiled(tree, text, type_)
                for text, tree in zip(condition.clause_texts, trees, strict=True)
            ]
            row = ConditionRow(len(self.expressions), len(clauses), self.text(condition.source))
            self.expressions += clauses
            self._conditions[condition.source] = len(self.conditions)
            self.conditions.append(row)
        return self._conditions[condition.source]

    def _compiled(self, tree: Checked, text: str, type_: int) -> ExpressionRow:
        """Return the row of an expression; equal instructions are kept once.

        Trees cannot be keys: `Constant("a")` and `FactValueOf("a")` are equal, as are 1, 1.0 and True.
        """
        code, depth = postfix_code(tree, self.facts, self.value)
        if depth > MAX_STACK:
            raise CannotBundleError(f"it needs a stack of {depth}, and a device has {MAX_STACK}")
        if any(each.operand > _MAX_OPERAND for each in code):
            raise CannotBundleError("a bundle has 65,536 constants of expressions at most")
        if tuple(code) not in self._code:
            self._code[tuple(code)] = len(self.instructions)
            self.instructions += code
        return ExpressionRow(self._code[tuple(code)], len(code), self.text(text), type_, depth)


def expression_type_number(type_: ExpressionType) -> int:
    """Return the number of a type in a bundle."""
    return EXPRESSION_TYPES.index(type_)


def postfix_code(
    tree: Checked, facts: Mapping[str, int], constant: Callable[[object], int]
) -> tuple[Sequence[InstructionRow], int]:
    """Return the instructions that compute `tree`, and the depth of the stack that they need.

    Args:
        tree: The expression.
        facts: The index of each fact.
        constant: Returns the index of a constant.
    """
    code: list[InstructionRow] = []
    depth = _emit(tree, facts, constant, code)
    return code, depth


def _emit(
    tree: Checked, facts: Mapping[str, int], constant: Callable[[object], int], code: list[InstructionRow]
) -> int:
    """Append the instructions of `tree`, and return the depth that they need above the stack before."""
    if isinstance(tree, Constant):
        code.append(InstructionRow(Op.CONSTANT, constant(tree.value)))
        return 1
    if isinstance(tree, FactValueOf):
        code.append(InstructionRow(Op.FACT, facts[tree.name]))
        return 1
    if isinstance(tree, HasFact):
        code.append(InstructionRow(Op.HAS_FACT, facts[tree.name]))
        return 1
    operands = children(tree)
    depth = max(at + _emit(operand, facts, constant, code) for at, operand in enumerate(operands))
    code.append(_last_instruction(tree, len(operands)))
    return depth


def _last_instruction(tree: Checked, length: int) -> InstructionRow:
    if isinstance(tree, Operation):
        info = OPERATIONS[tree.function]
        return InstructionRow(info.op, length if info.is_variadic else 0)
    if isinstance(tree, ListOf):
        return InstructionRow(Op.MAKE_LIST, length)
    if isinstance(tree, Logic):
        return InstructionRow(Op.OR if tree.decisive else Op.AND, length)
    assert isinstance(tree, CheckedConditional)
    return InstructionRow(Op.SELECT, 0)
