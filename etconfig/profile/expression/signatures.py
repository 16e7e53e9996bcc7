"""The types that operators and functions take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from etconfig.profile.expression.operations import OPERATIONS
from etconfig.profile.expression.types import ExpressionType, are_comparable

_BOOL, _STRING = ExpressionType.BOOL, ExpressionType.STRING

ARITHMETIC = frozenset("+-*/%")
"""Operators whose operands and result have one type."""

STRING_METHODS = ("contains", "endsWith", "startsWith")
"""Functions that are called on a string, with a string."""

FUNCTIONS = ("bucket", "has", "max", "min", "size", *STRING_METHODS)
"""All functions. `has` takes a fact rather than a value, so the checker handles it."""


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
    if operator == "!":
        return OperationSignature(_BOOL, "!") if operand is _BOOL else None
    return OperationSignature(operand, f"{operand} negate") if operand.is_number else None


def binary_signature(operator: str, left: ExpressionType, right: ExpressionType) -> OperationSignature | None:
    """Return the meaning of `left operator right`, or None if it has none."""
    if operator in ARITHMETIC:
        function = f"{left} {operator}"
        return OperationSignature(left, function) if left is right and function in OPERATIONS else None
    if operator in ("==", "!="):
        fits = are_comparable(left, right)
        if left is right is ExpressionType.FLOAT_LIST:
            return OperationSignature(_BOOL, f"float list {operator}")
    elif operator == "in":
        fits = right is ExpressionType.EMPTY_LIST or (
            right.element is not None and are_comparable(left, right.element)
        )
    else:
        fits = (left.is_number and right.is_number) or (left is right is _STRING)
    return OperationSignature(_BOOL, operator) if fits else None


def call_signature(
    function: str, arguments: Sequence[ExpressionType], *, is_method: bool
) -> OperationSignature | None:
    """Return the meaning of a call, or None. The first argument of a method is its receiver."""
    if function == "size":
        fits = len(arguments) == 1 and (arguments[0].is_list or arguments[0] is _STRING)
        return OperationSignature(ExpressionType.INT, function) if fits else None
    if function in STRING_METHODS:
        fits = is_method and list(arguments) == [_STRING, _STRING]
        return OperationSignature(_BOOL, function) if fits else None
    if function == "bucket":
        fits = not is_method and list(arguments) == [_STRING, _STRING]
        return OperationSignature(ExpressionType.FLOAT, function) if fits else None
    fits = len(arguments) >= 2 and arguments[0].is_number and len(set(arguments)) == 1 and not is_method
    return OperationSignature(arguments[0], function) if fits else None
