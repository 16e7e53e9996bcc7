"""`check_expression`: verifies the instructions of an expression by running them on types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from etconfig.device.bundle_format import EXPRESSION_TYPES, FACT_TYPES
from etconfig.device.tables import MAX_STACK, BundleTables, ExpressionRow, InstructionRow, Op, StoredKind
from etconfig.profile.expression.types import TYPE_OF_FACT, ExpressionType, are_comparable, common_type

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
    if instruction.op > Op.BUCKET:
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
    count = operand if op in _VARIADIC else _ARITY[op]
    if op in _VARIADIC:
        if operand < _VARIADIC[op]:
            raise ValueError("an instruction has too few operands")
    elif operand:
        raise ValueError("an instruction has an operand that it does not take")
    if count > len(stack):
        raise ValueError("an instruction takes more than the stack has")
    taken = stack[-count:]
    del stack[-count:]
    result = _RESULTS[op](taken)
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


def _all_of(type_: ExpressionType, result: ExpressionType) -> Callable[[_Types], ExpressionType | None]:
    return lambda taken: result if all(each is type_ for each in taken) else None


def _list_of(taken: _Types) -> ExpressionType | None:
    return taken[0].list_type if not taken[0].is_list and len(set(taken)) == 1 else None


def _selected(taken: _Types) -> ExpressionType | None:
    return common_type(taken[1], taken[2]) if taken[0] is _BOOL else None


def _equality(taken: _Types) -> ExpressionType | None:
    return _BOOL if are_comparable(*taken) else None


def _order(taken: _Types) -> ExpressionType | None:
    are_ordered = all(each.is_number for each in taken) or list(taken) == [_STRING, _STRING]
    return _BOOL if are_ordered else None


def _membership(taken: _Types) -> ExpressionType | None:
    item, items = taken
    fits = items is ExpressionType.EMPTY_LIST or (
        items.element is not None and are_comparable(item, items.element)
    )
    return _BOOL if fits else None


def _size(taken: _Types) -> ExpressionType | None:
    return _INT if taken[0].is_list or taken[0] is _STRING else None


def _extreme(taken: _Types) -> ExpressionType | None:
    return taken[0] if taken[0].is_number and len(set(taken)) == 1 else None


_VARIADIC = {Op.MAKE_LIST: 1, Op.AND: 2, Op.OR: 2, Op.MIN: 2, Op.MAX: 2}
"""The operations that take as many values as their operand says, and the least number."""

_RESULTS: Mapping[Op, Callable[[_Types], ExpressionType | None]] = {
    Op.MAKE_LIST: _list_of,
    Op.NOT: _all_of(_BOOL, _BOOL),
    Op.AND: _all_of(_BOOL, _BOOL),
    Op.OR: _all_of(_BOOL, _BOOL),
    Op.SELECT: _selected,
    **dict.fromkeys((Op.EQUAL, Op.NOT_EQUAL), _equality),
    **dict.fromkeys((Op.LESS, Op.LESS_EQUAL, Op.GREATER, Op.GREATER_EQUAL), _order),
    Op.IN: _membership,
    **dict.fromkeys(
        (Op.ADD_INT, Op.SUBTRACT_INT, Op.MULTIPLY_INT, Op.DIVIDE_INT, Op.REMAINDER_INT, Op.NEGATE_INT),
        _all_of(_INT, _INT),
    ),
    **dict.fromkeys(
        (Op.ADD_FLOAT, Op.SUBTRACT_FLOAT, Op.MULTIPLY_FLOAT, Op.DIVIDE_FLOAT, Op.NEGATE_FLOAT),
        _all_of(_FLOAT, _FLOAT),
    ),
    Op.JOIN: _all_of(_STRING, _STRING),
    Op.BUCKET: _all_of(_STRING, _FLOAT),
    **dict.fromkeys((Op.STARTS_WITH, Op.ENDS_WITH, Op.CONTAINS), _all_of(_STRING, _BOOL)),
    Op.SIZE: _size,
    Op.MIN: _extreme,
    Op.MAX: _extreme,
}
"""The type of each operation's result, None for operands of wrong types."""

_ARITY = {
    **dict.fromkeys((op for op in _RESULTS if op not in _VARIADIC), 2),
    **dict.fromkeys((Op.NOT, Op.NEGATE_INT, Op.NEGATE_FLOAT, Op.SIZE), 1),
    Op.SELECT: 3,
}
"""The number of values that each other operation takes."""
