"""Ranges of operators and functions: their values, and the operands for which a comparison can be true."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

from etconfig.expression.operations import BUCKETS, INT_MAX, INT_MIN, OPERATIONS
from etconfig.expression.proof.ranges import (
    ANY_BOOL,
    ANY_TEXT,
    FALSE,
    TRUE,
    BoolRange,
    ListRange,
    NumberRange,
    TextRange,
    ValueRange,
    integer_range,
    text_range,
)
from etconfig.expression.types import ExpressionType

_MAX_PAIRS = 1024
"""The most pairs of words that an operation on texts is tried on."""

_MAX_INTEGERS = 64
"""The most combinations of integers that an operation is tried on."""


def range_of_operation(function: str, operands: Sequence[ValueRange]) -> ValueRange | None:
    """Return the range of `OPERATIONS[function]` on operands of these ranges; None if it has no value."""
    compute = _NUMBERS.get(function)
    if compute is not None:
        return _of_few_integers(function, operands) or compute(*operands)
    if function in ("min", "max"):
        return _of_few_integers(function, operands) or _extreme(min if function == "min" else max, operands)
    if function == "size":
        return _size(operands[0])
    if function == "!":
        (operand,) = operands
        assert isinstance(operand, BoolRange)
        return BoolRange(frozenset(not value for value in operand.values))
    if function == "bucket":
        return _bucket(*operands)
    if function == "string +":
        return _concatenated(*operands)
    gives = OPERATIONS[function].gives
    if gives is ExpressionType.BOOL and len(operands) == 2:
        return _truth(function, *operands)
    if gives is None:
        number = operands[0]
        assert isinstance(number, NumberRange)  # other types of operands decide no result yet
        gives = ExpressionType.INT if isinstance(number.lowest, int) else ExpressionType.FLOAT
    return _ALL[gives]


def _of_few_integers(function: str, operands: Sequence[ValueRange]) -> NumberRange | None:
    """Return the range of the results for all integers that the operands may be; None if they are many."""
    listed = [each.integers for each in operands if isinstance(each, NumberRange)]
    known = [each for each in listed if each is not None]
    if len(known) < len(operands) or math.prod(map(len, known)) > _MAX_INTEGERS:
        return None
    found: set[int] = set()
    for values in product(*known):
        with suppress(ArithmeticError):  # it has no value then
            found.add(OPERATIONS[function].compute(*values))
    return integer_range(frozenset(found)) if found else None


def _bounded(lowest: float, highest: float, step: int) -> NumberRange | None:
    """Cut a range of integers to 64 bits: larger results have no value."""
    lowest, highest = max(lowest, INT_MIN), min(highest, INT_MAX)
    return NumberRange(lowest, highest, step) if lowest <= highest else None


def _add(left: NumberRange, right: NumberRange) -> NumberRange | None:
    step = math.gcd(left.step, right.step)
    return _bounded(
        _open(left.lowest, right.lowest, operator.add, INT_MIN),
        _open(left.highest, right.highest, operator.add, INT_MAX),
        step,
    )


def _subtract(left: NumberRange, right: NumberRange) -> NumberRange | None:
    negated = _negate(right)
    return None if negated is None else _add(left, negated)


def _open(left: float, right: float, function: Callable[[Any, Any], Any], unbounded: int) -> float:
    """Return the bound that two bounds give; none if either is none."""
    return unbounded if unbounded in (left, right) else function(left, right)


def _negate(operand: NumberRange) -> NumberRange | None:
    lowest = INT_MIN if operand.highest == INT_MAX else -operand.highest
    highest = INT_MAX if operand.lowest == INT_MIN else -operand.lowest
    return _bounded(lowest, highest, operand.step)


def _multiply(left: NumberRange, right: NumberRange) -> NumberRange | None:
    corners = [a * b for a in left[:2] for b in right[:2]]
    return _bounded(min(corners), max(corners), left.step * right.step)


def _divide(left: NumberRange, right: NumberRange) -> NumberRange | None:
    """Divide integers, rounding toward zero."""
    quotients = [
        OPERATIONS["int /"].compute(a, b) if (a, b) != (INT_MIN, -1) else INT_MAX
        for a in left[:2]
        for b in _divisors(right)
    ]
    if not quotients:
        return None
    crosses_zero = left.lowest < 0 < left.highest
    return NumberRange(min(*quotients, 0) if crosses_zero else min(quotients), max(quotients))


def _divisors(divisor: NumberRange) -> list[float]:
    """Return the integers of a range next to its bounds and next to 0, which cannot divide."""
    nearby = {divisor.lowest, divisor.highest, -1, 1}
    return [each for each in nearby if each != 0 and divisor.lowest <= each <= divisor.highest]


def _remainder(left: NumberRange, right: NumberRange) -> NumberRange | None:
    divisors = _divisors(right)
    if not divisors:
        return None
    largest = max(map(abs, divisors)) - 1
    lowest = 0 if left.lowest >= 0 else max(-largest, left.lowest)
    highest = 0 if left.highest <= 0 else min(largest, left.highest)
    return NumberRange(lowest, highest, math.gcd(left.step, right.step))


def _add_float(left: NumberRange, right: NumberRange) -> NumberRange:
    may_cancel = (left.highest == math.inf and right.lowest == -math.inf) or (
        right.highest == math.inf and left.lowest == -math.inf
    )
    return _floats([left.lowest + right.lowest, left.highest + right.highest], left, right, may_cancel)


def _subtract_float(left: NumberRange, right: NumberRange) -> NumberRange:
    return _add_float(left, _negate_float(right))


def _multiply_float(left: NumberRange, right: NumberRange) -> NumberRange:
    if any(
        math.inf in map(abs, a[:2]) and b.lowest <= 0 <= b.highest for a, b in ((left, right), (right, left))
    ):
        return _ANYTHING  # an overflow times 0 is not a number
    return _floats([a * b for a in left[:2] for b in right[:2]], left, right)


def _divide_float(left: NumberRange, right: NumberRange) -> NumberRange:
    if right.lowest <= 0 <= right.highest:
        return _ANYTHING
    return _floats([a / b for a in left[:2] for b in right[:2]], left, right)


def _floats(
    corners: Sequence[float], left: NumberRange, right: NumberRange, may_be_nan: bool = False
) -> NumberRange:
    """Return the range between the corners; any number if one of them is not a number, as inf * 0 is."""
    if any(map(math.isnan, corners)):
        return _ANYTHING
    may_be_nan |= left.may_be_nan or right.may_be_nan
    return NumberRange(min(corners), max(corners), 1, may_be_nan)


def _negate_float(operand: NumberRange) -> NumberRange:
    return NumberRange(-operand.highest, -operand.lowest, 1, operand.may_be_nan)


_ANYTHING = NumberRange(-math.inf, math.inf, 1, may_be_nan=True)
_ALL: Mapping[ExpressionType, ValueRange] = {
    ExpressionType.BOOL: ANY_BOOL,
    ExpressionType.INT: NumberRange(INT_MIN, INT_MAX),
    ExpressionType.FLOAT: _ANYTHING,
    ExpressionType.STRING: ANY_TEXT,
    ExpressionType.VERSION: ANY_TEXT,
}
"""The ranges of functions that have no rule here, by the type of their value."""


_NUMBERS: Mapping[str, Callable[..., NumberRange | None]] = {
    "int +": _add,
    "int -": _subtract,
    "int *": _multiply,
    "int /": _divide,
    "int %": _remainder,
    "int negate": _negate,
    "float +": _add_float,
    "float -": _subtract_float,
    "float *": _multiply_float,
    "float /": _divide_float,
    "float negate": _negate_float,
}


def _extreme(choose: Callable[..., Any], operands: Sequence[ValueRange]) -> NumberRange:
    numbers = [operand for operand in operands if isinstance(operand, NumberRange)]
    return NumberRange(
        choose(each.lowest for each in numbers),
        choose(each.highest for each in numbers),
        math.gcd(*(each.step for each in numbers)),
        any(each.may_be_nan for each in numbers),
    )


def _size(operand: ValueRange) -> NumberRange:
    if isinstance(operand, ListRange):
        return NumberRange(operand.shortest, operand.longest)
    assert isinstance(operand, TextRange)
    if operand.words is None:
        return NumberRange(0, INT_MAX)
    sizes = {len(word) for word in operand.words}
    return NumberRange(min(sizes), max(sizes))


def _bucket(text: ValueRange, salt: ValueRange) -> NumberRange:
    """Return the range of `bucket`: between 0 and 1, or the range of a few texts that are known."""
    assert isinstance(text, TextRange)
    assert isinstance(salt, TextRange)
    if text.words is None or salt.words is None or len(text.words) * len(salt.words) > _MAX_PAIRS:
        return NumberRange(0.0, 1 - 1 / BUCKETS)
    found = [OPERATIONS["bucket"].compute(*pair) for pair in product(text.words, salt.words)]
    return NumberRange(min(found), max(found))


def _concatenated(left: ValueRange, right: ValueRange) -> TextRange:
    assert isinstance(left, TextRange)
    assert isinstance(right, TextRange)
    if left.words is None or right.words is None or len(left.words) * len(right.words) > _MAX_PAIRS:
        return ANY_TEXT
    return text_range(frozenset(a + b for a in left.words for b in right.words))


def _truth(function: str, left: ValueRange, right: ValueRange) -> BoolRange:
    """Return the range of a comparison, or of a function of texts that gives a truth value."""
    if function == "in":
        return _contained(left, right)
    if isinstance(left, NumberRange) and isinstance(right, NumberRange):
        return _ordered(function, left, right)
    if isinstance(left, ListRange) or isinstance(right, ListRange):
        return ANY_BOOL
    a, b = _members(left), _members(right)
    if a is not None and b is not None and len(a) * len(b) <= _MAX_PAIRS:
        return BoolRange(frozenset(bool(OPERATIONS[function].compute(*pair)) for pair in product(a, b)))
    if function in ("==", "!=") and isinstance(left, TextRange) and isinstance(right, TextRange):
        are_apart = (a is not None and a <= right.excluded) or (b is not None and b <= left.excluded)
        return (FALSE if function == "==" else TRUE) if are_apart else ANY_BOOL
    return ANY_BOOL


def _members(operand: ValueRange) -> frozenset[Any] | None:
    """Return all values of a range of texts or truth values, if it lists them."""
    if isinstance(operand, BoolRange):
        return operand.values
    return operand.words if isinstance(operand, TextRange) else None


def _ordered(function: str, left: NumberRange, right: NumberRange) -> BoolRange:
    found = _ordered_numbers(function, left, right)
    if left.may_be_nan or right.may_be_nan:  # every comparison with it is false, but `!=` is true
        return FALSE if found == FALSE and function != "!=" else ANY_BOOL
    return found


def _ordered_numbers(function: str, left: NumberRange, right: NumberRange) -> BoolRange:
    if function in (">", ">="):
        return _ordered_numbers("<" if function == ">" else "<=", right, left)
    if function in ("==", "!="):
        is_apart = left.highest < right.lowest or right.highest < left.lowest
        is_one = left.lowest == left.highest == right.lowest == right.highest
        if not is_apart and not is_one:
            return ANY_BOOL
        return TRUE if is_one is (function == "==") else FALSE
    compare = OPERATIONS[function].compute
    if compare(left.highest, right.lowest):
        return TRUE
    return ANY_BOOL if compare(left.lowest, right.highest) else FALSE


def _contained(item: ValueRange, items: ValueRange) -> BoolRange:
    assert isinstance(items, ListRange)
    if items.item is None:
        return FALSE
    words = item.words if isinstance(item, TextRange) else None
    if words is not None:
        if words <= items.contains:
            return TRUE
        if words <= items.lacks:
            return FALSE
    equal = _truth("==", item, items.item) if not isinstance(item, ListRange) else ANY_BOOL
    if equal == FALSE:
        return FALSE
    return TRUE if equal == TRUE and items.shortest > 0 else ANY_BOOL


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
