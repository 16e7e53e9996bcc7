"""The operators and functions, on known values.

Source: the CEL language definition. An operation without a result raises an `ArithmeticError`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
"""The bounds of an int."""

_IntFunction = Callable[[int, int], int]


def _fitting(sign: str, function: _IntFunction) -> _IntFunction:
    def run(left: int, right: int) -> int:
        result = function(left, right)
        if INT_MIN <= result <= INT_MAX:
            return result
        raise OverflowError(f"{left} {sign} {right} does not fit in 64 bits")

    return run


def _divide(left: int, right: int) -> int:
    """Return the quotient, rounded toward zero; Python's own rounds down."""
    if right == 0:
        raise ZeroDivisionError(f"{left} / 0 divides by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    """Return the remainder with the sign of `left`; Python's own has that of `right`."""
    if right == 0:
        raise ZeroDivisionError(f"{left} % 0 divides by zero")
    if (left, right) == (INT_MIN, -1):
        raise OverflowError(f"{left} % {right} does not fit in 64 bits")  # its quotient does not
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def _divide_float(left: float, right: float) -> float:
    """Return the quotient as IEEE 754 has it: by zero it is infinite or not a number."""
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _negate(value: int) -> int:
    if value == INT_MIN:
        raise OverflowError(f"-({value}) does not fit in 64 bits")
    return -value


def _is_in(item: object, items: tuple[object, ...]) -> bool:
    return item in items and item == item  # Python finds NaN, which equals nothing, by identity


def _are_equal(left: tuple[float, ...], right: tuple[float, ...]) -> bool:
    """Compare lists of floats item by item; Python would take NaN for equal to the same object."""
    return len(left) == len(right) and all(map(operator.eq, left, right))


def _differ(left: tuple[float, ...], right: tuple[float, ...]) -> bool:
    return not _are_equal(left, right)


BUCKETS = 2**52
"""The number of values of `bucket`: each fits in a float exactly."""


@lru_cache(maxsize=64)  # many conditions of a device have the same few rollouts
def _bucket(text: str, salt: str) -> float:
    """Return the place of a text between 0 and 1, for staged rollouts.

    MD5, since all that must agree have it, SQL included. It spreads texts evenly; no secret depends on it.
    """
    from hashlib import md5  # few expressions need it

    digest = md5(f"{salt}:{text}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:13], 16) / BUCKETS


OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "!": operator.not_,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": _is_in,
    "float list ==": _are_equal,
    "float list !=": _differ,
    "int +": _fitting("+", operator.add),
    "int -": _fitting("-", operator.sub),
    "int *": _fitting("*", operator.mul),
    "int /": _fitting("/", _divide),
    "int %": _remainder,
    "int negate": _negate,
    "float +": operator.add,
    "float -": operator.sub,
    "float *": operator.mul,
    "float /": _divide_float,
    "float negate": operator.neg,
    "string +": operator.add,
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": operator.contains,
    "size": len,
    "min": min,
    "max": max,
    "bucket": _bucket,
}
"""Functions by name: the operator or function, after its operand type where the type decides the meaning."""
