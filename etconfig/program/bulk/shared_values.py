"""`SharedValues`: the values of a plan, in which equal ones are one object.

A memory plan uses the same places again and again, and most numbers are 0 or 1. So 30,000 tensors may be
three distinct ones, and a caller that prepares something for each value does so for the distinct ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import TypeVar

from etconfig.program.model import EValue, Int, SerializedTensor

_T = TypeVar("_T")


class SharedValues(tuple[EValue, ...]):
    """The values of a plan, with the distinct ones among them.

    Attributes:
        distinct: The values without repetition.
        places: For each value, its index in `distinct`.
    """

    distinct: Sequence[EValue]
    places: Sequence[int]

    @classmethod
    def of(cls, distinct: Sequence[EValue], places: Sequence[int]) -> SharedValues:
        """Make the values from the index in `distinct` of each."""
        values = cls(pick(places, distinct))
        values.distinct, values.places = distinct, places
        return values

    def spread(self, items: Sequence[_T]) -> Sequence[_T]:
        """Return an item for each value, from one item for each of `distinct`."""
        return pick(self.places, items)


def different(values: Sequence[EValue]) -> Sequence[EValue]:
    """Return the values without the repetitions that their reader found."""
    return values.distinct if isinstance(values, SharedValues) else values


def share(values: tuple[EValue, ...]) -> SharedValues:
    """Return `values` with equal tensors, and equal integers, made one object."""
    if isinstance(values, SharedValues):
        return values
    distinct: list[EValue] = []
    places: list[int] = []
    known: dict[EValue, int] = {}
    for value in values:
        is_shared = (
            type(value) is SerializedTensor or type(value) is Int
        )  # not a Bool: Bool(True) equals Int(1)
        place = known.setdefault(value, len(distinct)) if is_shared else len(distinct)
        if place == len(distinct):
            distinct.append(value)
        places.append(place)
    return SharedValues.of(distinct, places)


def pick(places: Sequence[int], items: Sequence[_T]) -> tuple[_T, ...]:
    """Return the item at each of `places`."""
    if len(places) < 2:
        return tuple([items[place] for place in places])
    picked: tuple[_T, ...] = itemgetter(*places)(items)
    return picked
