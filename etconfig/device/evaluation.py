"""`ExpressionEvaluator`: runs the instructions of a bundle, as a device does."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from etconfig.device.bundle_checks import number_of
from etconfig.device.tables import BundleTables, Op, StoredKind, ValueRow
from etconfig.profile.expression import Fault, Unknown

BY_ZERO, TOO_LARGE = "it divides by zero", "it does not fit in 64 bits"
"""The reasons of faults."""

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1


def stored_value(tables: BundleTables, index: int) -> Any:
    """Return a value of a bundle as plain data: arrays are lists, tables are dictionaries."""
    row = tables.values[index]
    if row.kind == StoredKind.ARRAY:
        return [stored_value(tables, item) for item in tables.items[row.bits : row.bits + row.length]]
    if row.kind == StoredKind.TABLE:
        flat = tables.items[row.bits : row.bits + 2 * row.length]
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return {tables.texts[key]: stored_value(tables, item) for key, item in pairs}
    return _scalar(tables, row)


def _scalar(tables: BundleTables, row: ValueRow) -> object:
    if row.kind == StoredKind.BOOLEAN:
        return bool(row.bits)
    if row.kind == StoredKind.INTEGER:
        return row.bits - 2**64 if row.bits > _INT_MAX else row.bits
    if row.kind == StoredKind.NUMBER:
        return number_of(row.bits)
    return tables.texts[row.bits] if row.kind == StoredKind.TEXT else None


class ExpressionEvaluator:
    """Evaluates the expressions and conditions of a bundle on one device.

    Attributes:
        facts: The known facts by name; a list of texts is a list.

    Args:
        tables: The bundle.
        facts: These facts; a list of texts may be a tuple.
    """

    def __init__(self, tables: BundleTables, facts: Mapping[str, object]) -> None:
        self._tables = tables
        self.facts = {
            name: list(value) if isinstance(value, tuple) else value for name, value in facts.items()
        }
        self._conditions: dict[int, bool] = {}

    def is_met(self, condition: int) -> bool:
        """Return True if all clauses of a condition are true."""
        if condition not in self._conditions:
            row = self._tables.conditions[condition]
            clauses = range(row.first, row.first + row.length)
            self._conditions[condition] = all(self.evaluate(clause) is True for clause in clauses)
        return self._conditions[condition]

    def evaluate(self, expression: int) -> Any:
        """Return the value of an expression, `Unknown` with the missing facts, or a `Fault`."""
        row = self._tables.expressions[expression]
        stack: list[Any] = []
        for instruction in self._tables.instructions[row.first : row.first + row.length]:
            self._run(Op(instruction.op), instruction.operand, stack)
        return stack.pop()

    def _run(self, op: Op, operand: int, stack: list[Any]) -> None:
        if op is Op.CONSTANT:
            stack.append(stored_value(self._tables, operand))
        elif op in (Op.FACT, Op.HAS_FACT):
            name = self._tables.texts[self._tables.facts[operand].name]
            stack.append(name in self.facts if op is Op.HAS_FACT else self._fact(name))
        else:
            length = operand or _LENGTHS.get(op, 2)
            taken = stack[-length:]
            del stack[-length:]
            stack.append(_SPECIAL[op](taken) if op in _SPECIAL else _applied(_FUNCTIONS[op], taken))

    def _fact(self, name: str) -> object:
        return self.facts[name] if name in self.facts else Unknown((name,))


def _state_of(elements: Iterable[object]) -> Unknown | Fault | None:
    """Return what keeps an operation on these elements from having a value: any unknown, else a fault."""
    elements = list(elements)
    missing = {name for each in elements if isinstance(each, Unknown) for name in each.missing}
    if missing:
        return Unknown(tuple(sorted(missing)))
    return next((each for each in elements if isinstance(each, Fault)), None)


def _applied(function: Callable[..., object], taken: Sequence[Any]) -> object:
    state = _state_of(taken)
    return function(*taken) if state is None else state


def _logic(decisive: bool, taken: Sequence[Any]) -> object:
    if any(each is decisive for each in taken):
        return decisive
    state = _state_of(taken)
    return not decisive if state is None else state


def _selected(taken: Sequence[Any]) -> object:
    condition, then, otherwise = taken
    if isinstance(condition, (Unknown, Fault)):
        return condition
    return then if condition else otherwise


def _fitting(compute: Callable[..., int]) -> Callable[..., object]:
    def run(*operands: int) -> object:
        result = compute(*operands)
        return result if _INT_MIN <= result <= _INT_MAX else Fault(TOO_LARGE)

    return run


def _dividing(compute: Callable[[int, int], int]) -> Callable[..., object]:
    """Return the function that fails where there is no quotient, or it exceeds 64 bits."""

    def run(left: int, right: int) -> object:
        if right == 0:
            return Fault(BY_ZERO)
        return Fault(TOO_LARGE) if (left, right) == (_INT_MIN, -1) else compute(left, right)

    return run


def _quotient(left: int, right: int) -> int:
    """Return the quotient rounded toward zero."""
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _divided(left: float, right: float) -> float:
    if right == 0:
        is_undefined = left == 0 or math.isnan(left)
        return math.nan if is_undefined else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, list):
        return len(left) == len(right) and all(map(operator.eq, left, right))
    return bool(left == right)


def _bucket(text: str, name: str) -> float:
    """Return the first 52 bits of the MD5 of `name:text`, as a fraction."""
    from hashlib import md5  # few bundles need it

    digest = md5(name.encode() + b":" + text.encode(), usedforsecurity=False).digest()
    return (int.from_bytes(digest[:8], "big") >> 12) * 2.0**-52


_SPECIAL: Mapping[Op, Callable[[Sequence[Any]], object]] = {
    Op.AND: lambda taken: _logic(False, taken),
    Op.OR: lambda taken: _logic(True, taken),
    Op.SELECT: _selected,
}
"""The operations that may have a value though an operand has none."""

_FUNCTIONS: Mapping[Op, Callable[..., object]] = {
    Op.MAKE_LIST: lambda *items: list(items),
    Op.NOT: operator.not_,
    Op.EQUAL: _equal,
    Op.NOT_EQUAL: lambda left, right: not _equal(left, right),
    Op.LESS: operator.lt,
    Op.LESS_EQUAL: operator.le,
    Op.GREATER: operator.gt,
    Op.GREATER_EQUAL: operator.ge,
    Op.IN: lambda item, items: any(item == each for each in items),
    Op.ADD_INT: _fitting(operator.add),
    Op.SUBTRACT_INT: _fitting(operator.sub),
    Op.MULTIPLY_INT: _fitting(operator.mul),
    Op.DIVIDE_INT: _dividing(_quotient),
    Op.REMAINDER_INT: _dividing(lambda left, right: left - right * _quotient(left, right)),
    Op.NEGATE_INT: _fitting(operator.neg),
    Op.ADD_FLOAT: operator.add,
    Op.SUBTRACT_FLOAT: operator.sub,
    Op.MULTIPLY_FLOAT: operator.mul,
    Op.DIVIDE_FLOAT: _divided,
    Op.NEGATE_FLOAT: operator.neg,
    Op.JOIN: operator.add,
    Op.STARTS_WITH: str.startswith,
    Op.ENDS_WITH: str.endswith,
    Op.CONTAINS: operator.contains,
    Op.SIZE: len,
    Op.MIN: min,
    Op.MAX: max,
    Op.BUCKET: _bucket,
}
"""The operations that need all of their operands."""

_LENGTHS = {Op.NOT: 1, Op.NEGATE_INT: 1, Op.NEGATE_FLOAT: 1, Op.SIZE: 1, Op.SELECT: 3}
"""The number of operands of operations that do not say it, if it is not two."""
