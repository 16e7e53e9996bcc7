"""Types and units of operations: the operands that they take, and the values that they give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from etconfig.expression.checked import Checked, CheckedConditional, Constant, FactValueOf, Operation
from etconfig.expression.operations import OPERATIONS
from etconfig.expression.types import ExpressionType
from etconfig.facts.registry import FactRegistry

ARITHMETIC = frozenset("+-*/%")
"""Operators whose operands and result have one type."""

STRING_METHODS = tuple(sorted(name for name, info in OPERATIONS.items() if info.call == (True,)))
"""Functions that are called on a string, with a string."""

FUNCTIONS = (
    *sorted(["has", "share", *(name for name, info in OPERATIONS.items() if False in info.call)]),
    *STRING_METHODS,
)
"""All functions. The checker handles `has`, which takes a fact, and `share`, which takes a resource."""


class OperationSignature(NamedTuple):
    """The meaning of an operator or function for operands of certain types.

    Attributes:
        result: The type of its value.
        function: Its key in `OPERATIONS`.
    """

    result: ExpressionType
    function: str


def unary_signature(operator: str, operand: ExpressionType) -> OperationSignature | None:
    """Return the meaning of `operator operand`, or None if it has none."""
    return _signature("!" if operator == "!" else f"{operand} negate", (operand,))


def binary_signature(operator: str, left: ExpressionType, right: ExpressionType) -> OperationSignature | None:
    """Return the meaning of `left operator right`, or None if it has none."""
    function = operator
    if operator in ARITHMETIC:
        function = f"{left} {operator}"
    elif operator in ("==", "!=") and left is right is ExpressionType.FLOAT_LIST:
        function = f"float list {operator}"
    return _signature(function, (left, right))


def call_signature(
    function: str, arguments: Sequence[ExpressionType], *, is_method: bool
) -> OperationSignature | None:
    """Return the meaning of a call, or None. The first argument of a method is its receiver."""
    return _signature(function, arguments) if is_method in OPERATIONS[function].call else None


def _signature(function: str, types: Sequence[ExpressionType]) -> OperationSignature | None:
    info = OPERATIONS.get(function)
    result = None if info is None else info.result(types)
    return None if result is None else OperationSignature(result, function)


_KEEPING = frozenset(("min", "max", *(f"{kind} {sign}" for kind in ("int", "float") for sign in "+-")))
_OF_THE_FIRST = frozenset(("int negate", "float negate", "int %"))


def unit_of(tree: Checked, registry: FactRegistry) -> str | None:
    """Return the unit of the values of an expression; None if it has none, or if it cannot be known.

    Sums, `min`, `max` and `? :` keep the unit of their operands; a number without a fact takes any unit. A
    product or quotient may be a conversion, so its unit is not known.
    """
    if isinstance(tree, FactValueOf):
        info = registry.get(tree.name)
        return None if info is None else info.unit
    if isinstance(tree, CheckedConditional):
        return _common_unit((tree.then, tree.otherwise), registry)
    if isinstance(tree, Operation) and tree.function in _KEEPING:
        return _common_unit(tree.operands, registry)
    if isinstance(tree, Operation) and tree.function in _OF_THE_FIRST:
        return unit_of(tree.operands[0], registry)
    return None


def _common_unit(trees: Iterable[Checked], registry: FactRegistry) -> str | None:
    """Return the unit that all but constants have; None if they differ or one is not known."""
    units = {unit_of(tree, registry) for tree in trees if not isinstance(tree, Constant)}
    return units.pop() if len(units) == 1 else None
