"""The values of an option that `etconfig tune` tries: as declared, or as they follow from its type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from etconfig.base.records import record
from etconfig.schema.option_type import OptionKind, OptionType
from etconfig.schema.units import Unit

MAX_SMALL_RANGE = 8
"""The most values of a bounded integer that are tried without being declared."""


@record(frozen=True)
class TuneRange:
    """A range of numbers to try.

    Attributes:
        low: The least one.
        high: The greatest one.
        log: True if they differ by factors: 1, 2, 4, 8 instead of 1, 3, 6, 8.
        points: How many of them an exhaustive search tries.
    """

    low: float
    high: float
    log: bool = False
    points: int = 5

    def __post_init__(self) -> None:
        if not self.low < self.high or self.points < 2 or (self.log and self.low <= 0):
            raise ValueError(f"{self} is not a range to try: expected low < high, 2 points, low > 0 for log")

    @property
    def is_integer(self) -> bool:
        """True if both ends are integers: so are the values between them."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def values(self) -> tuple[int | float, ...]:
        """Return the values that an exhaustive search tries, the ends among them."""
        steps = self.points - 1
        if self.log:
            found = [self.low * (self.high / self.low) ** (i / steps) for i in range(self.points)]
        else:
            found = [self.low + (self.high - self.low) * i / steps for i in range(self.points)]
        return tuple(dict.fromkeys(map(round, found) if self.is_integer else [*found[:-1], self.high]))


TuneValues: TypeAlias = "bool | tuple[object, ...] | TuneRange | None"
"""What an option declares to be tried; None if nothing is declared."""


def checked_tune(given: object) -> TuneValues:
    """Return what `option(tune=...)` was given.

    Raises:
        TypeError: it is neither a bool, a `TuneRange` nor values.
    """
    if given is None or isinstance(given, (bool, TuneRange)):
        return given
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"tune of option() is {given!r}; expected True, False, a TuneRange or values")
    return tuple(given)


def values_of_type(option_type: OptionType, unit: Unit | None, cores: int) -> tuple[object, ...]:
    """Return the values to try that follow from a type; none for texts, paths, tables and large ranges.

    Args:
        option_type: The type.
        unit: The unit of its number. Threads are tried up to the number of cores, by powers of two.
        cores: The number of cores.
    """
    if option_type.kind is OptionKind.BOOLEAN:
        return (False, True)
    if option_type.kind is OptionKind.CHOICE:
        members = option_type.members_by_text
        return tuple(members.get(str(each), each) if members else each for each in option_type.choices)
    if option_type.kind is not OptionKind.INTEGER:
        return ()
    found = _thread_ladder(cores) if unit is Unit.THREADS else _small_range(option_type)
    return tuple(each for each in found if all(bound.is_satisfied(each) for bound in option_type.constraints))


def _thread_ladder(cores: int) -> Iterable[int]:
    """Return 1, 2, 4 and so on up to the number of cores, which is the last one; on one core 1 and 2."""
    cores = max(2, cores)
    return dict.fromkeys([*(1 << power for power in range(cores.bit_length())), cores])


def _small_range(option_type: OptionType) -> Iterable[int]:
    """Return all integers within the bounds, if they are few."""
    from annotated_types import Ge, Le  # only declarations with bounds need it

    bounds = {each.kind: each.bound for each in option_type.constraints}
    low, high = bounds.get(Ge), bounds.get(Le)
    if not isinstance(low, int) or not isinstance(high, int) or not 0 < high - low < MAX_SMALL_RANGE:
        return ()
    return range(low, high + 1)
