"""The interval of the difference of two shares as Newcombe defines it, by bisection: no closed form."""

from __future__ import annotations

import math
from collections.abc import Callable


def _last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the last number at which a condition holds, which holds at the lower end."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _ends(count: int, total: int, error: float) -> tuple[float, float]:
    """Return the least and the highest share of which the observed one is no more than z deviations away."""
    z, share = _last(lambda z: math.erfc(z / math.sqrt(2)) > error, 0.0, 40.0), count / total

    def is_far(true: float) -> bool:
        return (share - true) ** 2 > z * z * true * (1 - true) / total

    low = _last(is_far, 0.0, share) if count else 0.0
    return low, 1 - _last(lambda rest: is_far(1 - rest), 0.0, 1 - share) if count < total else 1.0


def difference_of_shares(
    count: int, total: int, others: int, others_total: int, error: float
) -> tuple[float, float, float]:
    """Return the difference and the ends of its interval."""
    one, other = count / total, others / others_total
    (low, high), (under, over) = _ends(count, total, error), _ends(others, others_total, error)
    down = ((one - low) ** 2 + (over - other) ** 2) ** 0.5
    up = ((high - one) ** 2 + (other - under) ** 2) ** 0.5
    return one - other, one - other - down, one - other + up
