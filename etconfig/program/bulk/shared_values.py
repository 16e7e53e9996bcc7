"""`SharedValues`: the values of a plan, of which equal ones are one object.

A memory plan uses the same places again and again, and most numbers are 0 or 1. So of 30,000 tensors
there may be three, and who prepares something for each value does it for those that differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import TypeVar

from etconfig.program.model import EValue, Int, SerializedTensor

_T = TypeVar("_T")


class SharedValues(tuple[EValue, ...]):
    """The values of a plan, and which of them differ.

    Attributes:
        distinct: The values without repetition.
        places: For each value, which of `distinct` it is.
    """

    distinct: Sequence[EValue]
    places: Sequence[int]

    @classmethod
    def of(cls, distinct: Sequence[EValue], places: Sequence[int]) -> SharedValues:
        """The values at `places` in `distinct`."""
        values = cls(pick(places, distinct))
        values.distinct, values.places = distinct, places
        return values

    def spread(self, items: Sequence[_T]) -> Sequence[_T]:
        """An item for each value, from one for each of `distinct`."""
        return pick(self.places, items)


def different(values: Sequence[EValue]) -> Sequence[EValue]:
    """The values without the repetitions that their reader knew of."""
    return values.distinct if isinstance(values, SharedValues) else values


def share(values: tuple[EValue, ...]) -> SharedValues:
    """`values`, of which equal tensors are one object, and equal integers."""
    if isinstance(values, SharedValues):
        return values
    distinct: list[EValue] = []
    places: list[int] = []
    known: dict[EValue, int] = {}
    for value in values:
        is_shared = type(value) is SerializedTensor or type(value) is Int  # a Bool may equal one, but is none
        place = known.setdefault(value, len(distinct)) if is_shared else len(distinct)
        if place == len(distinct):
            distinct.append(value)
        places.append(place)
    return SharedValues.of(distinct, places)


def pick(places: Sequence[int], items: Sequence[_T]) -> tuple[_T, ...]:
    """The item at each of `places`."""
    if len(places) < 2:
        return tuple([items[place] for place in places])
    picked: tuple[_T, ...] = itemgetter(*places)(items)
    return picked
