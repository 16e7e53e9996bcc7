"""The numbers for which a comparison can be true: how a condition narrows the range of a fact."""

from __future__ import annotations

import math
from collections.abc import Callable

from etconfig.expression.operations import INT_MAX, INT_MIN
from etconfig.expression.ranges import NumberRange


def range_compared(function: str, own: NumberRange, against: NumberRange) -> NumberRange:
    """Return the numbers for which `number function other` can be true for some number of `against`."""
    lowest: float = INT_MIN if isinstance(own.lowest, int) else -math.inf
    highest: float = INT_MAX if isinstance(own.highest, int) else math.inf
    if function in ("<", "<="):
        highest = _below(against.highest, own) if function == "<" else against.highest
    elif function in (">", ">="):
        lowest = _above(against.lowest, own) if function == ">" else against.lowest
    elif function == "==":
        lowest, highest = against.lowest, against.highest
    elif against.lowest == against.highest:  # `!=` a number at a bound of an integer moves the bound
        lowest = _above(own.lowest, own) if own.lowest == against.lowest else lowest
        highest = _below(own.highest, own) if own.highest == against.highest else highest
    if isinstance(own.lowest, int):
        lowest, highest = _whole(lowest, math.ceil, INT_MIN), _whole(highest, math.floor, INT_MAX)
    else:
        lowest, highest = float(lowest), float(highest)  # bounds of floats are floats, also beside an int
    return NumberRange(lowest, highest)


def _below(bound: float, own: NumberRange) -> float:
    """Return the largest number below a bound, of the kind that the fact has."""
    if isinstance(own.lowest, int):
        return bound if math.isinf(bound) or bound >= INT_MAX else math.ceil(bound) - 1
    number = float(bound)
    return number if number < bound else math.nextafter(number, -math.inf)


def _above(bound: float, own: NumberRange) -> float:
    """Return the smallest number above a bound, of the kind that the fact has."""
    if isinstance(own.lowest, int):
        return bound if math.isinf(bound) or bound <= INT_MIN else math.floor(bound) + 1
    number = float(bound)
    return number if number > bound else math.nextafter(number, math.inf)


def _whole(bound: float, rounded: Callable[[float], int], unbounded: int) -> int:
    return unbounded if math.isinf(bound) else rounded(bound)
