"""`option_bounds`: the bounds of an option as a device checks them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from etconfig.base.records import record
from etconfig.device.bundle.row_fields import NONE
from etconfig.schema.constraints import Constraint
from etconfig.schema.option_type import INT64_MAX, INT64_MIN, OptionKind, OptionType

_EXACT = 2**53
"""Integers up to this have an exact float."""


@record(frozen=True)
class OptionBounds:
    """The bounds that a device checks a computed value against; of an array, the numbers are for its items.

    Attributes:
        obstacles: The reasons why a device cannot check a computed value; empty if it can.
    """

    minimum: float = -math.inf
    maximum: float = math.inf
    is_minimum_exclusive: bool = False
    is_maximum_exclusive: bool = False
    multiple_of: float = 0.0
    min_length: int = 0
    max_length: int = NONE
    obstacles: tuple[str, ...] = ()


def option_bounds(type_: OptionType) -> OptionBounds:
    """Return the bounds of an option, as far as the format has them, and what it lacks."""
    numbers = type_.item if type_.item is not None else type_
    found = _Collected()
    for keyword, bound in _bounds(numbers):
        found.add(keyword, bound, is_whole=numbers.kind is OptionKind.INTEGER)
    lengths = _Collected()
    for keyword, bound in _bounds(type_):
        if keyword in ("minItems", "maxItems"):
            lengths.add(keyword, bound, is_whole=True)
    if numbers is not type_ and (found.min_length > 0 or found.max_length < NONE):
        found.obstacles.append("a device does not check the lengths of items")
    return OptionBounds(
        minimum=found.minimum[0],
        maximum=-found.maximum[0],
        is_minimum_exclusive=found.minimum[1],
        is_maximum_exclusive=found.maximum[1],
        multiple_of=float(found.step),
        min_length=lengths.min_length,
        max_length=lengths.max_length,
        obstacles=tuple(dict.fromkeys(found.obstacles)),
    )


class _Collected:
    """The strictest of several bounds; the maximum with its sign changed, so that the larger one counts."""

    def __init__(self) -> None:
        self.minimum = self.maximum = (-math.inf, False)
        self.step = 0
        self.min_length, self.max_length = 0, NONE
        self.obstacles: list[str] = []

    def add(self, keyword: str, bound: float, *, is_whole: bool) -> None:
        """Take one more bound into account, unless it has no effect: every integer has 64 bits."""
        is_implied = {
            "minimum": bound <= INT64_MIN,
            "exclusiveMinimum": bound < INT64_MIN,
            "maximum": bound >= INT64_MAX,
            "exclusiveMaximum": bound > INT64_MAX,
        }
        if is_whole and is_implied.get(keyword, False):
            return
        if isinstance(bound, int) and abs(bound) > _EXACT:
            self.obstacles.append(f"its bound {bound} needs more than 53 bits")
        elif keyword in ("minimum", "exclusiveMinimum"):
            self.minimum = max(self.minimum, (float(bound), keyword != "minimum"))
        elif keyword in ("maximum", "exclusiveMaximum"):
            self.maximum = max(self.maximum, (-float(bound), keyword != "maximum"))
        elif keyword == "minItems":
            self.min_length = max(self.min_length, int(bound))
        elif keyword == "maxItems":
            self.max_length = min(self.max_length, int(bound))
        elif is_whole and isinstance(bound, int) and bound > 0:
            self.step = math.lcm(self.step or 1, bound)
            if self.step > _EXACT:
                self.obstacles.append(f"its multiples of {self.step} need more than 53 bits")
        else:
            self.obstacles.append(f"a device does not check for multiples of {bound}")


def _bounds(type_: OptionType) -> Iterator[tuple[str, float]]:
    """Yield the JSON Schema keyword and the value of each bound; bounds of lengths are called `minItems`."""
    constraints: tuple[Constraint, ...] = type_.constraints
    for constraint in constraints:
        yield constraint.keyword("Items"), constraint.bound
