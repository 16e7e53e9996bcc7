"""`ExpressionEvaluator`: runs the instructions of a bundle, as a device does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from etconfig.device.bundle.table_checks import number_of
from etconfig.device.bundle.tables import BundleTables, StoredKind, ValueRow
from etconfig.expression import Fault, Unknown
from etconfig.expression.operations import INT_MAX, OPERANDS, OPERATIONS_OF_BUNDLES, Op, OperationInfo

BY_ZERO, TOO_LARGE = "it divides by zero", "it does not fit in 64 bits"
"""The reasons of faults."""


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
        return row.bits - 2**64 if row.bits > INT_MAX else row.bits
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
            info = OPERATIONS_OF_BUNDLES.get(op)
            length = operand or OPERANDS[op][0]
            taken = stack[-length:]
            del stack[-length:]
            stack.append(_SPECIAL[op](taken) if info is None else _applied(info, taken))

    def _fact(self, name: str) -> object:
        return self.facts[name] if name in self.facts else Unknown((name,))


def _state_of(elements: Iterable[object]) -> Unknown | Fault | None:
    """Return what keeps an operation on these elements from having a value: any unknown, else a fault."""
    elements = list(elements)
    missing = {name for each in elements if isinstance(each, Unknown) for name in each.missing}
    if missing:
        return Unknown(tuple(sorted(missing)))
    return next((each for each in elements if isinstance(each, Fault)), None)


def _applied(info: OperationInfo, taken: Sequence[Any]) -> object:
    state = _state_of(taken)
    if state is not None:
        return state
    try:
        if info.op in _EQUALITIES and not isinstance(taken[0], list):
            return (taken[0] == taken[1]) is (info.op is Op.EQUAL)
        return info.compute(*taken)
    except ZeroDivisionError:
        return Fault(BY_ZERO)
    except OverflowError:
        return Fault(TOO_LARGE)
    except ArithmeticError as error:
        return Fault(str(error))


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


def _listed(taken: Sequence[Any]) -> object:
    state = _state_of(taken)
    return list(taken) if state is None else state


_EQUALITIES = (Op.EQUAL, Op.NOT_EQUAL)

_SPECIAL: Mapping[Op, Callable[[Sequence[Any]], object]] = {
    Op.MAKE_LIST: _listed,
    Op.AND: lambda taken: _logic(False, taken),
    Op.OR: lambda taken: _logic(True, taken),
    Op.SELECT: _selected,
}
"""The instructions without a row in the table of operations."""
