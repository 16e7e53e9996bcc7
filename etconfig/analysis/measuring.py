"""Latencies of many runs, their quantiles and their noise."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence

from etconfig.records import record

QUANTILES = {"min": 0.0, "p15": 0.15, "p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
"""The latencies that are reported. `p15` is steadier than `min`, and less disturbed than `p50`."""

_PARTS = 10
"""The number of consecutive parts into which runs are divided to see how much the machine drifts."""
MIN_RUNS = 30
"""The least number of runs within a time budget, however long they take."""


@record(frozen=True)
class Latencies:
    """The latencies of consecutive runs, in nanoseconds."""

    each_ns: Sequence[int]

    def quantiles_ns(self) -> dict[str, int]:
        """The latencies of `QUANTILES`, each that of a run (nearest rank)."""
        ranked = sorted(self.each_ns)
        return {name: ranked[max(math.ceil(share * len(ranked)), 1) - 1] for name, share in QUANTILES.items()}

    @property
    def throughput_per_s(self) -> float:
        """Runs per second."""
        return len(self.each_ns) * 1e9 / sum(self.each_ns)

    @property
    def noise(self) -> float | None:
        """The difference between the medians of ten consecutive parts, as a share of the median of all.

        None for fewer than three runs a part.
        """
        size = len(self.each_ns) // _PARTS
        if size < 3:
            return None
        medians = [statistics.median(self.each_ns[i * size : (i + 1) * size]) for i in range(_PARTS)]
        return (max(medians) - min(medians)) / statistics.median(self.each_ns)


@record(frozen=True)
class RunBudget:
    """The number of runs.

    Attributes:
        warmup: Runs that are not counted.
        runs: Runs that are; None for as many as fit into `duration_s`, at least `MIN_RUNS`.
        duration_s: The time to measure in seconds, if `runs` is None.
    """

    warmup: int
    runs: int | None
    duration_s: float

    def share_done(self, runs: int, elapsed_s: float) -> float:
        """Return the share of the work that is done; 1 or more means all."""
        if self.runs is not None:
            return runs / self.runs
        return min(elapsed_s / self.duration_s if self.duration_s else 1.0, runs / MIN_RUNS)


def measure(run: Callable[[], object], budget: RunBudget, progress: Callable[[float], object]) -> Latencies:
    """Call a function many times, and time each call.

    Args:
        run: The function.
        budget: The number of calls.
        progress: Called between two runs with the share that is done, from 0 to 1.
    """
    for _ in range(budget.warmup):
        run()
    each_ns: list[int] = []
    began_ns = time.perf_counter_ns()
    while (done := budget.share_done(len(each_ns), (time.perf_counter_ns() - began_ns) / 1e9)) < 1:
        progress(done)
        start_ns = time.perf_counter_ns()
        run()
        each_ns.append(time.perf_counter_ns() - start_ns)
    return Latencies(each_ns)
