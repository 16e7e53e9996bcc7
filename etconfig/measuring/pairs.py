"""Paired measurements: two sides run in turns, so that what disturbs the machine disturbs both alike.

One side measured after the other differs by 10 to 20 % from itself on a shared machine. Here, blocks of runs
alternate, the order of each pair is swapped, and only the least time of a block counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np

from etconfig.base.paired_ratio import PairedRatio
from etconfig.base.records import record

MIN_PAIRS = 6
"""The fewest pairs: with fewer, no interval covers 95 %."""
MAX_BLOCK = 50
"""The most runs of one block."""
_WANTED_PAIRS = 40
_RESAMPLES = 2000
_LEVELS = (2.5, 97.5)

TimedBlock: TypeAlias = Callable[[int], Sequence[int]]
"""Runs one side a number of times; returns the time of each run in nanoseconds."""
Clock: TypeAlias = Callable[[], int]
"""Returns the time in nanoseconds."""


@record(frozen=True, kw_only=True)
class PairSample:
    """The times of two sides, by pair.

    Attributes:
        first_runs_ns: The time of each run of each block of the first side, in nanoseconds.
        second_runs_ns: The same for the second side.
        is_interrupted: True if Ctrl-C ended the measurement early.
    """

    first_runs_ns: tuple[tuple[int, ...], ...]
    second_runs_ns: tuple[tuple[int, ...], ...]
    is_interrupted: bool = False

    @property
    def first_ns(self) -> tuple[int, ...]:
        """The least time of each block of the first side, in nanoseconds."""
        return tuple(map(min, self.first_runs_ns))

    @property
    def second_ns(self) -> tuple[int, ...]:
        """The least time of each block of the second side, in nanoseconds."""
        return tuple(map(min, self.second_runs_ns))

    @property
    def all_first_ns(self) -> tuple[int, ...]:
        """The time of every run of the first side, in nanoseconds."""
        return tuple(chain(*self.first_runs_ns))

    @property
    def all_second_ns(self) -> tuple[int, ...]:
        """The time of every run of the second side, in nanoseconds."""
        return tuple(chain(*self.second_runs_ns))

    def ratio(self) -> PairedRatio:
        """Return the median ratio of the pairs, with the 95 % bootstrap interval of the median.

        Equal samples have equal intervals.

        Raises:
            ValueError: there are fewer than `MIN_PAIRS` pairs.
        """
        pairs = len(self.first_runs_ns)
        if pairs < MIN_PAIRS:
            raise ValueError(f"{pairs} pairs are too few for an interval; expected {MIN_PAIRS} or more")
        first, second = (
            np.maximum(self.first_ns, 1),
            np.maximum(self.second_ns, 1),
        )  # a coarse clock has zeros
        logs = np.log(second) - np.log(first)
        random = np.random.default_rng(0)
        medians = np.median(logs[random.integers(0, pairs, (_RESAMPLES, pairs))], axis=1)
        ratio, low, high = np.exp([np.median(logs), *np.percentile(medians, _LEVELS)]).tolist()
        return PairedRatio(ratio=ratio, low=low, high=high, pairs=pairs)


def measure_blocks(
    first: TimedBlock,
    second: TimedBlock,
    *,
    pairs: int | None = None,
    seconds: float | None = None,
    block: int = 5,
    clock: Clock = time.perf_counter_ns,
    progress: Callable[[float], object] | None = None,
) -> PairSample:
    """Run two sides in turns.

    Args:
        first: One side.
        second: The other one.
        pairs: The number of pairs of blocks.
        seconds: The time to measure, if `pairs` is None; at least `MIN_PAIRS` are measured.
        block: The number of runs of a block.
        clock: The clock of `seconds`.
        progress: Called before each pair with the share that is done, from 0 to 1.

    Raises:
        ValueError: there are too few pairs, `seconds` is negative or not finite, `block` is less than 1, or
            neither `pairs` nor `seconds` is given, or both.
    """
    if (pairs is None) == (seconds is None):
        raise ValueError("give either pairs or seconds")
    check_effort(pairs, seconds)
    if block < 1:
        raise ValueError(f"block is {block}; expected 1 or more")
    sides: tuple[list[tuple[int, ...]], list[tuple[int, ...]]] = ([], [])
    is_interrupted = False
    try:
        for share in _pairs_to_do(pairs, seconds, clock):
            if progress is not None:
                progress(share)
            blocks: list[tuple[int, ...]] = [(), ()]
            for side in (0, 1) if len(sides[0]) % 2 == 0 else (1, 0):
                blocks[side] = tuple((first, second)[side](block))
            for done, times in zip(sides, blocks, strict=True):
                done.append(times)
    except KeyboardInterrupt:
        is_interrupted = True
    complete = len(sides[1])
    return PairSample(
        first_runs_ns=tuple(sides[0][:complete]),
        second_runs_ns=tuple(sides[1]),
        is_interrupted=is_interrupted,
    )


def check_effort(pairs: int | None, seconds: float | None) -> None:
    """Check the size of a measurement. Raises ValueError."""
    if pairs is not None and pairs < MIN_PAIRS:
        raise ValueError(f"pairs is {pairs}; expected {MIN_PAIRS} or more")
    if seconds is not None and not 0 <= seconds < math.inf:
        raise ValueError(f"seconds is {seconds}; expected a number from 0 on")


def timed(call: Callable[[], object], clock: Clock = time.perf_counter_ns) -> TimedBlock:
    """Return a side that calls a function."""

    def run(count: int) -> list[int]:
        times = []
        for _ in range(count):
            start = clock()
            call()
            times.append(clock() - start)
        return times

    return run


def block_size(run_ns: int, seconds: float) -> int:
    """Return the runs of a block so that some 40 pairs fit into a time, from 1 to `MAX_BLOCK`.

    Args:
        run_ns: The time of one run in nanoseconds.
        seconds: The time for all pairs.
    """
    return int(max(1, min(MAX_BLOCK, seconds * 1e9 / (2 * _WANTED_PAIRS * max(run_ns, 1)))))


def _pairs_to_do(pairs: int | None, seconds: float | None, clock: Clock) -> Iterator[float]:
    """Yield before each pair the share that is done."""
    began, done = clock(), 0
    while True:
        if pairs is not None:
            share = done / pairs
        else:
            assert seconds is not None  # `measure_blocks` has checked it
            elapsed = (clock() - began) / 1e9
            share = min(elapsed / seconds if seconds else 1.0, done / MIN_PAIRS)
        if share >= 1:
            return
        yield share
        done += 1
