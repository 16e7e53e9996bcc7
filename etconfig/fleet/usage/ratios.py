"""Ratios of medians with intervals, where each device counts once.

The interval of a median is two of the devices' values, to which a bootstrap over devices tends. The
intervals of two medians give the interval of their ratio by the square-and-add rule, on logarithms.
Source: Zou, Donner, Construction of confidence limits about effect measures, Statist. Med. 27 (2008).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

from etconfig.base.records import record

FAMILY_ERROR = 0.001
"""The chance that any interval of a run misses its ratio: one data set in a thousand."""

_EXACT_DEVICES = 1000
"""The most devices whose order statistics are counted exactly; of more, the normal distribution serves."""


@record(frozen=True, kw_only=True)
class MedianInterval:
    """The median of the devices of one side.

    Attributes:
        devices: The number of devices.
        median: Their median.
        low: The lower end of its interval; 0 if there are too few devices for one.
        high: The upper end; infinite if there are too few devices.
    """

    devices: int
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, devices: int, at: Callable[[int], float], error: float) -> MedianInterval:
        """Return the median of devices.

        Args:
            devices: The number of devices, 1 or more.
            at: Returns the value at a place, from 1, in ascending order.
            error: The chance that the interval misses the median.
        """
        rank = lower_rank(devices, error)
        return cls(
            devices=devices,
            median=(at((devices + 1) // 2) + at(devices // 2 + 1)) / 2,
            low=at(rank) if rank else 0.0,
            high=at(devices + 1 - rank) if rank else math.inf,
        )


@record(frozen=True, kw_only=True)
class MedianRatio:
    """The median of some devices divided by the median of others.

    Attributes:
        ratio: The ratio; more than 1 is slower.
        low: The lower end of its interval.
        high: The upper end.
    """

    ratio: float
    low: float
    high: float

    @classmethod
    def of(cls, one: MedianInterval, other: MedianInterval) -> MedianRatio:
        """Return the ratio of two medians above 0."""
        ratio = one.median / other.median
        down = math.hypot(_log(one.median, one.low), _log(other.high, other.median))
        up = math.hypot(_log(one.high, one.median), _log(other.median, other.low))
        return cls(ratio=ratio, low=ratio * math.exp(-down), high=ratio * _exp(up))

    @property
    def claim(self) -> str | None:
        """`slower` or `faster`; None if the interval contains 1."""
        if self.low > 1:
            return "slower"
        return "faster" if self.high < 1 else None


def _log(over: float, under: float) -> float:
    return math.inf if under <= 0 or over == math.inf else math.log(over / under)


def _exp(power: float) -> float:
    return math.exp(power) if power < 700 else math.inf


@lru_cache(maxsize=1024)
def lower_rank(devices: int, error: float) -> int:
    """Return the place, from 1, of the lower end of the interval of a median; 0 if there are too few devices.

    The values at this place and at the same place from the end contain the median but for the error.
    """
    if devices > _EXACT_DEVICES:
        quantile = -NormalDist().inv_cdf(error / 2)
        return math.floor((devices - quantile * math.sqrt(devices)) / 2)
    limit, below, rank = error / 2 * 2.0**devices, 0, 0
    while below + math.comb(devices, rank) <= limit:
        below += math.comb(devices, rank)
        rank += 1
    return rank
