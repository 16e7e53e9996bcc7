"""The bounds of options: the check of each, its words in messages, and its keyword in JSON Schema."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from annotated_types import Ge, GroupedMetadata, Gt, Le, Len, Lt, MaxLen, MinLen, MultipleOf

from etconfig.base.records import record

__all__ = ["Constraint", "Ge", "Gt", "Le", "Len", "Lt", "MultipleOf", "constraints_in"]


def _is_multiple(value: float, step: float) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    return abs(math.remainder(value, step)) <= abs(value) * 1e-9


@record(frozen=True)
class _Rule:
    """One kind of bound: the attribute that has its limit, its check, its words and its keyword."""

    attribute: str
    is_satisfied: Callable[[Any, Any], bool]
    words: str
    keyword: str


_LENGTHS = (MinLen, MaxLen)
_RULES: Mapping[type, _Rule] = {
    Ge: _Rule("ge", operator.ge, ">= {bound}", "minimum"),
    Gt: _Rule("gt", operator.gt, "> {bound}", "exclusiveMinimum"),
    Le: _Rule("le", operator.le, "<= {bound}", "maximum"),
    Lt: _Rule("lt", operator.lt, "< {bound}", "exclusiveMaximum"),
    MultipleOf: _Rule("multiple_of", _is_multiple, "a multiple of {bound}", "multipleOf"),
    MinLen: _Rule("min_length", lambda v, n: len(v) >= n, "at least {bound} {counted}", "min{length}"),
    MaxLen: _Rule("max_length", lambda v, n: len(v) <= n, "at most {bound} {counted}", "max{length}"),
}


@record(frozen=True)
class Constraint:
    """One bound. `Len(1, 4)` counts as two of them."""

    kind: type
    bound: Any

    @property
    def is_length(self) -> bool:
        """True if it bounds a length, False if it bounds a number."""
        return self.kind in _LENGTHS

    def problem(self) -> str | None:
        """Return what is wrong with the bound itself, or None."""
        if self.is_length:
            return None if type(self.bound) is int and self.bound >= 0 else "is not a length"
        if isinstance(self.bound, bool) or not isinstance(self.bound, (int, float)):
            return "is not a number"
        return "is not above 0" if self.kind is MultipleOf and not self.bound > 0 else None

    def is_satisfied(self, value: object) -> bool:
        """True if `value`, which has the option's type, is within the bound."""
        return _RULES[self.kind].is_satisfied(value, self.bound)

    def words(self, counted: str) -> str:
        """Return the bound in words, such as `>= 1` or `at least 2 items`.

        Args:
            counted: The noun that a length counts, in the singular.
        """
        noun = counted if self.bound == 1 else f"{counted}s"
        return _RULES[self.kind].words.format(bound=self.bound, counted=noun)

    def keyword(self, length: str) -> str:
        """Return the JSON Schema keyword, such as `minimum`; `length` is Length, Items or Properties."""
        return _RULES[self.kind].keyword.format(length=length)


def constraints_in(metadata: Iterable[object]) -> Iterator[Constraint]:
    """Yield the bounds in the metadata of an `Annotated`; pydantic handles other metadata."""
    for item in metadata:
        rule = _RULES.get(type(item))
        if rule is not None:
            yield Constraint(type(item), getattr(item, rule.attribute))
        elif isinstance(item, GroupedMetadata):
            yield from constraints_in(item)


def are_bounds(metadata: Iterable[object]) -> bool:
    """True if `constraints_in` reads all of these metadata, so that none are left to pydantic."""
    return all(
        type(item) in _RULES or (isinstance(item, GroupedMetadata) and are_bounds(item)) for item in metadata
    )
