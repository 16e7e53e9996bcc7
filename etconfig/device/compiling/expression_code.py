"""`postfix_code`: compiles a checked expression to the instructions of a bundle.

The instructions are in postfix order without jumps, so every operand is evaluated. That changes no result:
unknown facts and faults are elements of the stack like any value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from etconfig.device.bundle.tables import EXPRESSION_TYPES, InstructionRow
from etconfig.expression import ExpressionType
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
