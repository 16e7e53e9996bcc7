"""Value ranges: the values that an expression can take on any device, found without evaluating it.

A range contains every value that is possible, and may contain more. So "outside of the bounds" is certain
where a range lies outside of them, and only possible where it overlaps them.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

from etconfig.expression.operations import INT_MAX, INT_MIN
from etconfig.facts.registry import FactInfo, FactType

MAX_MEMBERS = 64
"""The most words or integers that a range lists; of larger sets, which come from joining lists repeatedly,
any text and the bounds count."""


class NumberRange(NamedTuple):
    """Numbers between two bounds, both included.

    Attributes:
        lowest: The least number; `INT_MIN` or `-inf` if there is no bound.
        highest: The greatest number; `INT_MAX` or `inf` if there is no bound.
        step: Every integer of the range is a multiple of it; 0 if 0 is the only one. 1 for floats.
        may_be_nan: Dividing by zero or overflowing may give "not a number", which is in no range.
        numbers: The possible integers, if they are few; None if any multiple of `step` is possible.
    """

    lowest: float
    highest: float
    step: int = 1
    may_be_nan: bool = False
    numbers: frozenset[int] | None = None

    @property
    def integers(self) -> frozenset[int] | None:
        """All values of a range of integers; None if they are many, or the range is one of floats."""
        if self.numbers is not None or not isinstance(self.lowest, int):
            return self.numbers
        step = self.step or 1
        first = -(-self.lowest // step) * step
        found = range(first, int(self.highest) + 1, step)
        return frozenset(found) if 0 < len(found[: MAX_MEMBERS + 1]) <= MAX_MEMBERS else None


class TextRange(NamedTuple):
    """Some texts, or any but a few.

    Attributes:
        words: The possible texts; None if any text is possible.
        excluded: The impossible texts, if any other is possible.
    """

    words: frozenset[str] | None = None
    excluded: frozenset[str] = frozenset()


class BoolRange(NamedTuple):
    """The possible truth values."""

    values: frozenset[bool] = frozenset((False, True))


class ListRange(NamedTuple):
    """Lists of values of one range.

    Attributes:
        item: The range of the items; None if the list is empty.
        shortest: The least number of items.
        longest: The greatest number of items; `INT_MAX` if there is no bound.
        contains: Texts that are in the list for certain.
        lacks: Texts that are not in the list for certain.
    """

    item: ScalarRange | None
    shortest: int = 0
    longest: int = INT_MAX
    contains: frozenset[str] = frozenset()
    lacks: frozenset[str] = frozenset()


ScalarRange: TypeAlias = "NumberRange | TextRange | BoolRange"
ValueRange: TypeAlias = "ScalarRange | ListRange"

ANY_TEXT = TextRange()
ANY_BOOL = BoolRange()
TRUE, FALSE = BoolRange(frozenset((True,))), BoolRange(frozenset((False,)))


def range_of_value(value: object) -> ValueRange:
    """Return the range of one value of the condition language."""
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, int):
        return NumberRange(value, value, abs(value))
    if isinstance(value, float):
        return NumberRange(value, value)
    if isinstance(value, str):
        return TextRange(frozenset((value,)))
    assert isinstance(value, tuple)
    return range_of_list([range_of_value(item) for item in value])


def range_of_list(items: list[ValueRange]) -> ListRange:
    """Return the range of a list whose items have these ranges."""
    item: ScalarRange | None = None
    for each in items:
        assert not isinstance(each, ListRange)  # the checker refuses lists of lists
        item = each if item is None else _joined_scalars(item, each)
    certain = (each.words for each in items if isinstance(each, TextRange) and each.words is not None)
    contains = frozenset(word for words in certain if len(words) == 1 for word in words)
    return ListRange(item, len(items), len(items), contains)


def range_of_fact(info: FactInfo) -> ValueRange:
    """Return the values that a fact may have on any device."""
    if info.type is FactType.BOOL:
        return ANY_BOOL
    if info.type is FactType.STRING:
        return TextRange(frozenset(info.choices)) if info.choices else ANY_TEXT
    if info.type is FactType.STRING_LIST:
        return ListRange(ANY_TEXT)
    if info.type is FactType.INT:
        lowest = INT_MIN if info.minimum is None else math.ceil(info.minimum)
        highest = INT_MAX if info.maximum is None else math.floor(info.maximum)
        return NumberRange(lowest, highest)
    lowest_float = -math.inf if info.minimum is None else float(info.minimum)
    return NumberRange(lowest_float, math.inf if info.maximum is None else float(info.maximum))


def joined(left: ValueRange, right: ValueRange) -> ValueRange:
    """Return a range that contains both, which are of one type."""
    if not isinstance(left, ListRange) and not isinstance(right, ListRange):
        return _joined_scalars(left, right)
    assert isinstance(left, ListRange)
    assert isinstance(right, ListRange)
    items = [item for item in (left.item, right.item) if item is not None]
    return ListRange(
        _joined_scalars(items[0], items[-1]) if items else None,
        min(left.shortest, right.shortest),
        max(left.longest, right.longest),
        left.contains & right.contains,
        left.lacks & right.lacks,
    )


def _joined_scalars(left: ScalarRange, right: ScalarRange) -> ScalarRange:
    if isinstance(left, NumberRange):
        assert isinstance(right, NumberRange)
        lowest, highest = min(left.lowest, right.lowest), max(left.highest, right.highest)
        may_be_nan = left.may_be_nan or right.may_be_nan
        if left.integers is not None and right.integers is not None:
            return integer_range(left.integers | right.integers)
        return NumberRange(lowest, highest, math.gcd(left.step, right.step), may_be_nan)
    if isinstance(left, TextRange):
        assert isinstance(right, TextRange)
        return _joined_texts(left, right)
    assert isinstance(right, BoolRange)
    return BoolRange(left.values | right.values)


def integer_range(numbers: frozenset[int]) -> NumberRange:
    """Return the range of these integers; it lists them if they are few and there are gaps between them."""
    bounded = NumberRange(min(numbers), max(numbers), math.gcd(*numbers))
    is_listed = len(numbers) <= MAX_MEMBERS and bounded.integers != numbers
    return bounded._replace(numbers=numbers) if is_listed else bounded


def _joined_texts(left: TextRange, right: TextRange) -> TextRange:
    if left.words is not None and right.words is not None:
        return text_range(left.words | right.words)
    excluded = (right.excluded if left.words is not None else left.excluded) - (left.words or frozenset())
    if left.words is None and right.words is None:
        excluded = left.excluded & right.excluded
    return TextRange(None, excluded - (right.words or frozenset()))


def text_range(words: frozenset[str]) -> TextRange:
    """Return the range of these words, or of any text if they are too many to keep."""
    return TextRange(words) if len(words) <= MAX_MEMBERS else ANY_TEXT


def intersection(left: ValueRange, right: ValueRange) -> ValueRange | None:
    """Return the values in both ranges, which are of one type; None if there are none."""
    if isinstance(left, NumberRange):
        assert isinstance(right, NumberRange)
        return _common_numbers(left, right)
    if isinstance(left, BoolRange):
        assert isinstance(right, BoolRange)
        values = left.values & right.values
        return BoolRange(values) if values else None
    if isinstance(left, TextRange):
        assert isinstance(right, TextRange)
        return _common_texts(left, right)
    assert isinstance(right, ListRange)
    return _common_lists(left, right)


def _common_numbers(left: NumberRange, right: NumberRange) -> NumberRange | None:
    lowest, highest = max(left.lowest, right.lowest), min(left.highest, right.highest)
    listed = [each.numbers for each in (left, right) if each.numbers is not None]
    if listed:
        numbers = frozenset(n for n in frozenset.intersection(*listed) if lowest <= n <= highest)
        return integer_range(numbers) if numbers else None
    return NumberRange(lowest, highest, max(left.step, right.step)) if lowest <= highest else None


def _common_texts(left: TextRange, right: TextRange) -> TextRange | None:
    excluded = left.excluded | right.excluded
    if left.words is None and right.words is None:
        return TextRange(None, excluded)
    if left.words is None or right.words is None:
        words = left.words if right.words is None else right.words
        assert words is not None
    else:
        words = left.words & right.words
    words -= excluded
    return TextRange(words) if words else None


def _common_lists(left: ListRange, right: ListRange) -> ListRange | None:
    contains, lacks = left.contains | right.contains, left.lacks | right.lacks
    shortest, longest = max(left.shortest, right.shortest), min(left.longest, right.longest)
    if contains & lacks or shortest > longest or len(contains) > longest:
        return None
    return ListRange(left.item or right.item, shortest, longest, contains, lacks)
