"""`check_expression`: verifies the instructions of an expression by running them on types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from etconfig.device.bundle.bundle_format import EXPRESSION_TYPES, FACT_TYPES
from etconfig.device.bundle.tables import MAX_STACK, BundleTables, ExpressionRow, InstructionRow, StoredKind
from etconfig.expression.operations import OPERATIONS_OF_BUNDLES, Op
from etconfig.expression.types import TYPE_OF_FACT, ExpressionType, common_type

_BOOL, _INT, _FLOAT, _STRING = (
    ExpressionType.BOOL,
    ExpressionType.INT,
    ExpressionType.FLOAT,
    ExpressionType.STRING,
)
_SCALARS = {
    StoredKind.BOOLEAN: _BOOL,
    StoredKind.INTEGER: _INT,
    StoredKind.NUMBER: _FLOAT,
    StoredKind.TEXT: _STRING,
}

_Types = Sequence[ExpressionType]


def check_expression(tables: BundleTables, expression: ExpressionRow, places: range) -> int:
    """Verify one expression: operands, types and the depth of the stack.

    Args:
        tables: The bundle, of which values, items and facts are verified already.
        expression: The expression.
        places: Its instructions.

    Returns:
        The number of items of constant arrays that were looked at.

    Raises:
        ValueError: it cannot be evaluated; the message says why.
    """
    stack: list[ExpressionType] = []
    deepest = looked_at = 0
    for place in places:
        instruction = tables.instructions[place]
        if instruction.op == Op.CONSTANT and instruction.operand < len(tables.values):
            value = tables.values[instruction.operand]
            looked_at += value.length if value.kind == StoredKind.ARRAY else 0
        _apply(tables, instruction, stack)
        deepest = max(deepest, len(stack))
        if deepest > MAX_STACK:
            raise ValueError(f"its stack is deeper than {MAX_STACK}")
    if stack != [EXPRESSION_TYPES[expression.type]]:
        raise ValueError("its instructions do not leave one value of its type")
    if deepest != expression.stack:
        raise ValueError("the depth of its stack is wrong")
    return looked_at


def _apply(tables: BundleTables, instruction: InstructionRow, stack: list[ExpressionType]) -> None:
    """Run one instruction on the types on the stack."""
    if instruction.op > max(Op):
        raise ValueError("an instruction is unknown")
    op, operand = Op(instruction.op), instruction.operand
    if op is Op.CONSTANT:
        stack.append(_constant_type(tables, operand))
        return
    if op in (Op.FACT, Op.HAS_FACT):
        if operand >= len(tables.facts):
            raise ValueError("an instruction reads a fact that is not there")
        fact = TYPE_OF_FACT[FACT_TYPES[tables.facts[operand].type]]
        stack.append(fact if op is Op.FACT else _BOOL)
        return
    info = OPERATIONS_OF_BUNDLES.get(op)
    length, is_variadic, result_of = (
        _SPECIAL[op] if info is None else (info.length, info.is_variadic, info.result)
    )
    count = operand if is_variadic else length
    if is_variadic:
        if operand < length:
            raise ValueError("an instruction has too few operands")
    elif operand:
        raise ValueError("an instruction has an operand that it does not take")
    if count > len(stack):
        raise ValueError("an instruction takes more than the stack has")
    taken = stack[-count:]
    del stack[-count:]
    result = result_of(taken)
    if result is None:
        raise ValueError("an instruction has operands of wrong types")
    stack.append(result)


def _constant_type(tables: BundleTables, operand: int) -> ExpressionType:
    if operand >= len(tables.values):
        raise ValueError("an instruction has a constant that is not there")
    value = tables.values[operand]
    if value.kind == StoredKind.ARRAY:
        if not value.length:
            return ExpressionType.EMPTY_LIST
        items = tables.items[value.bits : value.bits + value.length]
        kinds = {tables.values[item].kind for item in items}
        scalar = _SCALARS.get(StoredKind(min(kinds))) if len(kinds) == 1 else None
        found = None if scalar is None else scalar.list_type
    else:
        found = _SCALARS.get(StoredKind(value.kind))
    if found is None:
        raise ValueError("an instruction has a constant of no type of expressions")
    return found


def _list_of(taken: _Types) -> ExpressionType | None:
    return taken[0].list_type if not taken[0].is_list and len(set(taken)) == 1 else None


def _selected(taken: _Types) -> ExpressionType | None:
    return common_type(taken[1], taken[2]) if taken[0] is _BOOL else None


def _of_bools(taken: _Types) -> ExpressionType | None:
    return _BOOL if all(each is _BOOL for each in taken) else None


_SPECIAL: Mapping[Op, tuple[int, bool, Callable[[_Types], ExpressionType | None]]] = {
    Op.MAKE_LIST: (1, True, _list_of),
    Op.AND: (2, True, _of_bools),
    Op.OR: (2, True, _of_bools),
    Op.SELECT: (3, False, _selected),
}
"""The other instructions: how many values they take, whether of more, and what they give."""
