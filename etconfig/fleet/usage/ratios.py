"""Ratios of medians and differences of shares with intervals, where each device counts once.

The interval of a median is two of the devices' values, as a bootstrap over devices tends to give. The
intervals of two medians give the interval of their ratio by the square-and-add rule, on logarithms. Those of
Wilson for two shares give the interval of their difference by the same rule.
Sources: Zou, Donner, Construction of confidence limits about effect measures, Statist. Med. 27 (2008);
Newcombe, Interval estimation for the difference between independent proportions, Statist. Med. 17 (1998).
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

from etconfig.base.paired_ratio import PairedRatio
from etconfig.base.records import record

FAMILY_ERROR = 0.001
"""The chance that any interval of a run misses its ratio: in one data set of a thousand."""
_EXACT_DEVICES = 1000
"""The most devices whose places are counted exactly; of more, the normal distribution serves."""


@record(frozen=True)
class MedianInterval:
    """The median of the devices of one side, above 0, or a share of them, with its interval.

    Attributes:
        devices: The number of devices.
        median: The median.
        low: The lower end; 0 if there are too few devices for one.
        high: The upper end; infinite if there are too few devices.
    """

    devices: int
    median: float
    low: float
    high: float


def median_ratio(one: MedianInterval, other: MedianInterval) -> PairedRatio:
    """Return the first median divided by the second; `pairs` is the number of devices of the smaller side."""
    ratio = one.median / other.median
    down = math.hypot(_log(one.median, one.low), _log(other.high, other.median))
    up = math.hypot(_log(one.high, one.median), _log(other.median, other.low))
    low, high = ratio * math.exp(-down), ratio * math.exp(up)
    return PairedRatio(ratio=ratio, low=low, high=high, pairs=min(one.devices, other.devices))


def share_interval(count: int, devices: int, error: float) -> MedianInterval:
    """Return a share of devices, with the interval of Wilson."""
    z, share = -NormalDist().inv_cdf(error / 2), count / devices
    middle, width = count + z * z / 2, z * math.sqrt(count * (1 - share) + z * z / 4)
    low, high = ((middle + part) / (devices + z * z) for part in (-width, width))
    return MedianInterval(devices, share, min(low, share), max(high, share))


def share_difference(one: MedianInterval, other: MedianInterval) -> PairedRatio:
    """Return the first share minus the second, in the form of a ratio."""
    down = math.hypot(one.median - one.low, other.high - other.median)
    up = math.hypot(one.high - one.median, other.median - other.low)
    found = one.median - other.median
    return PairedRatio(ratio=found, low=found - down, high=found + up, pairs=min(one.devices, other.devices))


def _log(over: float, under: float) -> float:
    return math.inf if under <= 0 or over == math.inf else math.log(over / under)


@lru_cache(maxsize=1024)
def lower_place(devices: int, error: float) -> int:
    """Return the place, from 1, of the lower end of the interval of a median; 0 if there are too few devices.

    The value there, and that at the same place from the end, contain the median except with this error.
    """
    if devices > _EXACT_DEVICES:
        return math.floor((devices + NormalDist().inv_cdf(error / 2) * math.sqrt(devices)) / 2)
    limit, below, place = error / 2 * 2.0**devices, 0, 0
    while below + math.comb(devices, place) <= limit:
        below += math.comb(devices, place)
        place += 1
    return place
