"""Paired measurements: their order, and what their intervals cover, on clocks that tests turn."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from etconfig.base.paired_ratio import PairedRatio
from etconfig.measuring.pairs import (
    MIN_PAIRS,
    PairSample,
    block_size,
    measure_blocks,
    timed,
)


class FakeClock:
    """A clock in nanoseconds that moves only when something runs."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now

    def taking(self, duration: Callable[[], float]) -> Callable[[], object]:
        """Return a function that takes some time."""

        def run() -> None:
            self.now += round(duration())

        return run


def sample_of(logs: list[float]) -> PairSample:
    """Return a sample whose pairs have these logarithms of ratios."""
    seconds = [(round(1e12 * math.exp(each)),) for each in logs]
    return PairSample(first_runs_ns=((10**12,),) * len(logs), second_runs_ns=tuple(seconds))


class TestOrder:
    """Blocks alternate, the order of each pair is swapped, and the least of a block counts."""

    def test_blocks_alternate_and_swap(self) -> None:
        calls: list[str] = []
        clock = FakeClock()

        def side(name: str) -> Callable[[], object]:
            return lambda: calls.append(name)

        measure_blocks(timed(side("a"), clock), timed(side("b"), clock), pairs=6, block=2, clock=clock)
        assert "".join(calls) == "aabb bbaa aabb bbaa aabb bbaa".replace(" ", "")

    def test_the_least_of_a_block_counts(self) -> None:
        times = iter([9, 4, 7, 30, 20, 25] * 6)
        clock = FakeClock()
        run = timed(clock.taking(lambda: next(times)), clock)
        sample = measure_blocks(run, run, pairs=6, block=3, clock=clock)
        assert set(zip(sample.first_ns, sample.second_ns, strict=True)) == {(4, 20), (20, 4)}
        assert sorted(sample.all_first_ns) == sorted([9, 4, 7, 30, 20, 25] * 3)

    def test_time_ends_a_measurement_after_enough_pairs(self) -> None:
        clock = FakeClock()
        shares: list[float] = []
        run = timed(clock.taking(lambda: 1e7), clock)
        sample = measure_blocks(run, run, seconds=0.4, block=1, clock=clock, progress=shares.append)
        assert len(sample.first_ns) == 20
        assert shares == sorted(shares)
        assert 0 == shares[0] < shares[-1] < 1
        slow = timed(clock.taking(lambda: 1e10), clock)
        assert len(measure_blocks(slow, slow, seconds=0.4, block=1, clock=clock).first_ns) == MIN_PAIRS

    def test_ctrl_c_keeps_complete_pairs(self) -> None:
        blocks = iter(range(9))

        def run(count: int) -> list[int]:
            if next(blocks) == 7:
                raise KeyboardInterrupt
            return [5] * count

        sample = measure_blocks(run, run, pairs=9, block=2)
        assert sample.is_interrupted
        assert sample.first_runs_ns == sample.second_runs_ns == ((5, 5),) * 3

    def test_mistakes_are_errors(self) -> None:
        def nothing() -> None: ...

        for arguments, message in (
            ({}, "give either pairs or seconds"),
            ({"seconds": -1.0}, "seconds is -1.0; expected a number from 0 on"),
            ({"pairs": 6, "seconds": 1.0}, "give either pairs or seconds"),
            ({"pairs": 5}, "pairs is 5; expected 6 or more"),
            ({"pairs": 6, "block": 0}, "block is 0; expected 1 or more"),
        ):
            with pytest.raises(ValueError, match=message):
                measure_blocks(timed(nothing), timed(nothing), **arguments)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="5 pairs are too few for an interval; expected 6 or more"):
            sample_of([0.0] * 5).ratio()

    def test_blocks_are_as_large_as_40_pairs_allow(self) -> None:
        sizes = [block_size(run_ns, 0.4) for run_ns in (0, 10_000, 1_000_000, 2_000_000, 10**9)]
        assert sizes == [50, 50, 5, 2, 1]
        assert block_size(10**9, 1e308) == 50


def exact_interval(logs: list[float]) -> tuple[int, int]:
    """Return the ranks of the exact 95 % bootstrap interval of the median of an odd number of values.

    The median of a resample is at most the k-th value if more than half of its draws are.
    """
    count = len(logs)

    def at_most(rank: int) -> float:
        share = rank / count
        return sum(
            math.comb(count, hits) * share**hits * (1 - share) ** (count - hits)
            for hits in range((count + 1) // 2, count + 1)
        )

    low = next(rank for rank in range(1, count + 1) if at_most(rank) >= 0.025)
    return low, next(rank for rank in range(1, count + 1) if at_most(rank) >= 0.975)


class TestInterval:
    """The interval is that of the exact bootstrap; it covers equal sides, and finds planted differences."""

    def test_it_agrees_with_an_exact_model(self) -> None:
        source = random.Random(1)
        for _ in range(40):
            logs = [source.gauss(0.1, 0.05) for _ in range(source.choice([7, 15, 41, 99]))]
            found = sample_of(logs).ratio()
            ranked = sorted(logs)
            assert math.log(found.ratio) == pytest.approx(ranked[len(logs) // 2], abs=1e-9)
            for end, rank in zip((found.low, found.high), exact_interval(logs), strict=True):
                nearby = ranked[max(rank - 2, 0) : rank + 1]  # random draws may hit the rank beside
                assert nearby[0] - 1e-9 <= math.log(end) <= nearby[-1] + 1e-9, (logs, found)

    def test_equal_samples_have_equal_intervals(self) -> None:
        logs = [0.01 * ((7 * each) % 11) for each in range(30)]
        assert sample_of(logs).ratio() == sample_of(logs).ratio()

    def test_noise_is_the_largest_distance_from_one(self) -> None:
        assert PairedRatio(ratio=1.0, low=0.95, high=1.02, pairs=9).noise == pytest.approx(0.05)

    def test_coarse_clocks_divide_by_no_zero(self) -> None:
        sample = PairSample(first_runs_ns=((0,),) * 6, second_runs_ns=((0,),) * 6)
        assert sample.ratio().ratio == 1


class Machine:
    """A noisy machine: its speed drifts, some runs are disturbed, and every run jitters."""

    def __init__(self, seed: int) -> None:
        self.clock = FakeClock()
        self.source = random.Random(seed)
        self.speed = 1.0

    def side(self, run_ns: float) -> Callable[[], object]:
        def duration() -> float:
            self.speed *= math.exp(self.source.gauss(0, 0.003))
            disturbed = self.source.expovariate(2) if self.source.random() < 0.1 else 0.0
            return run_ns * self.speed * (1 + abs(self.source.gauss(0, 0.02)) + disturbed)

        return self.clock.taking(duration)

    def compare(self, factor: float) -> PairedRatio:
        first, second = self.side(1e6), self.side(1e6 * factor)
        return measure_blocks(
            timed(first, self.clock), timed(second, self.clock), pairs=40, block=5, clock=self.clock
        ).ratio()


def test_equal_sides_are_covered_and_planted_differences_found() -> None:
    equal = [Machine(seed).compare(1.0) for seed in range(100)]
    covered = sum(each.low <= 1 <= each.high for each in equal)
    assert covered >= 90
    assert all(abs(each.ratio - 1) < 0.015 for each in equal)
    for factor in (0.95, 1.03, 1.5):
        found = [Machine(seed).compare(factor) for seed in range(20)]
        assert all(each.high < 1 if factor < 1 else each.low > 1 for each in found), factor
        assert all(abs(each.ratio / factor - 1) < 0.015 for each in found), factor
