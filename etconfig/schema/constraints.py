"""The bounds an option may carry: how each is checked, told in words, and written as JSON Schema."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from annotated_types import Ge, GroupedMetadata, Gt, Le, Len, Lt, MaxLen, MinLen, MultipleOf

from etconfig.records import record

__all__ = ["Constraint", "Ge", "Gt", "Le", "Len", "Lt", "MultipleOf", "constraints_in"]


def _is_multiple(value: float, step: float) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    return abs(math.remainder(value, step)) <= abs(value) * 1e-9


@record(frozen=True)
class _Rule:
    """How one kind of bound is read, checked and told."""

    attribute: str
    is_satisfied: Callable[[Any, Any], bool]
    words: str
    keyword: str


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

    def is_satisfied(self, value: object) -> bool:
        """Whether `value`, which is of the option's type, keeps to the bound."""
        return _RULES[self.kind].is_satisfied(value, self.bound)

    def words(self, counted: str) -> str:
        """Such as `>= 1` or `at least 2 items`, where a length is a number of `counted` (singular)."""
        noun = counted if self.bound == 1 else f"{counted}s"
        return _RULES[self.kind].words.format(bound=self.bound, counted=noun)

    def keyword(self, length: str) -> str:
        """The JSON Schema keyword, such as `minimum`; `length` is Length, Items or Properties."""
        return _RULES[self.kind].keyword.format(length=length)


def constraints_in(metadata: Iterable[object]) -> Iterator[Constraint]:
    """The bounds among the extras of an `Annotated`; other extras are pydantic's business."""
    for item in metadata:
        rule = _RULES.get(type(item))
        if rule is not None:
            yield Constraint(type(item), getattr(item, rule.attribute))
        elif isinstance(item, GroupedMetadata):
            yield from constraints_in(item)


def are_bounds(metadata: Iterable[object]) -> bool:
    """Whether `constraints_in` takes all of these extras, so that pydantic has none for itself."""
    return all(
        type(item) in _RULES or (isinstance(item, GroupedMetadata) and are_bounds(item)) for item in metadata
    )
