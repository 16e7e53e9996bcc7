"""Ratios of medians: compared with a bootstrap over devices, and with what the error promises."""

from __future__ import annotations

import math
from random import Random
from statistics import median, quantiles

import pytest
from newcombe import difference_of_shares

from etconfig.fleet.usage.ratios import (
    MedianInterval,
    lower_place,
    median_ratio,
    share_difference,
    share_interval,
)


def interval(values: list[float], error: float) -> MedianInterval:
    ordered, place = sorted(values), lower_place(len(values), error)
    low, high = (ordered[place - 1], ordered[-place]) if place else (0.0, math.inf)
    return MedianInterval(len(values), median(values), low, high)


def test_the_place_is_the_last_one_that_keeps_the_error() -> None:
    """By the binomial distribution, term by term."""
    for devices in (*range(1, 60), 200, 999, 1000):
        for error in (0.5, 0.05, 0.001, 1e-6):
            place = lower_place(devices, error)
            missed = [
                2 * sum(math.comb(devices, k) for k in range(end)) / 2**devices for end in (place, place + 1)
            ]
            assert missed[0] <= error < missed[1]


def test_the_normal_distribution_goes_on_as_the_binomial_ends() -> None:
    for error in (0.05, 1e-4, 1e-7):
        assert abs(lower_place(1001, error) - lower_place(1000, error)) <= 3


def test_few_devices_have_no_interval() -> None:
    few, many = interval([1.0, 2.0, 3.0], 0.001), interval([float(n) for n in range(1, 200)], 0.001)
    ratio = median_ratio(few, many)
    assert (ratio.low, ratio.high) == (0.0, math.inf)
    assert ratio.ratio == pytest.approx(2 / 100)


@pytest.mark.parametrize("devices", [(60, 60), (40, 900), (3000, 150)])
def test_a_bootstrap_over_devices_gives_the_same_interval(devices: tuple[int, int]) -> None:
    """Within a fifth of its width: the places of few devices are coarse."""
    random = Random(devices[0])
    one, other = ([random.lognormvariate(0, 0.5) for _ in range(count)] for count in devices)
    found = median_ratio(interval(one, 0.05), interval(other, 0.05))
    drawn = [
        median(random.choices(one, k=len(one))) / median(random.choices(other, k=len(other)))
        for _ in range(1500)
    ]
    ends = quantiles(drawn, n=40)
    width = ends[-1] - ends[0]
    assert abs(found.low - ends[0]) < 0.25 * width
    assert abs(found.high - ends[-1]) < 0.25 * width


def test_intervals_miss_the_ratio_as_rarely_as_they_say() -> None:
    """Of 2,000 pairs of sides with one distribution, at most 5 % and some have an interval without 1."""
    random = Random(3)
    missed = 0
    for _ in range(2000):
        sides = [[random.lognormvariate(0, 1) for _ in range(count)] for count in (25, 60)]
        ratio = median_ratio(interval(sides[0], 0.05), interval(sides[1], 0.05))
        missed += not ratio.low <= 1 <= ratio.high
    assert 20 < missed < 120


def test_differences_of_shares_are_as_an_independent_model_finds_them() -> None:
    random = Random(5)
    for _ in range(1000):
        sides = []
        for total in (random.choice((1, 2, 50, 700, 10**6)), random.randrange(1, 3000)):
            sides += [
                random.choice((0, total, random.randint(0, total), random.randint(0, total // 50))),
                total,
            ]
        error = random.choice((0.05, 0.001, 1e-5, 1e-9))
        found = share_difference(*(share_interval(*sides[n : n + 2], error) for n in (0, 2)))
        expected = difference_of_shares(*sides, error)
        assert (found.ratio, found.low, found.high) == pytest.approx(expected, abs=1e-9), (sides, error)
        assert found.low <= found.ratio <= found.high


def test_a_published_interval() -> None:
    """Newcombe's paper, table II, row (a): 56 of 70 and 48 of 80."""
    found = share_difference(share_interval(56, 70, 0.05), share_interval(48, 80, 0.05))
    assert (found.ratio, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
