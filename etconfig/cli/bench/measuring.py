"""What `etconfig bench` measures: latencies of many runs, and a table of what takes the time."""

from __future__ import annotations

import math
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from etconfig.records import record

if TYPE_CHECKING:
    from etconfig.tracing import Event

QUANTILES = {"min": 0.0, "p15": 0.15, "p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
"""The latencies that are reported. `p15` is steadier than `min`, and less disturbed than `p50`."""

_PARTS = 10
"""Into how many consecutive parts runs are divided to see how much the machine drifts."""
MIN_RUNS = 30
"""How many runs there are at least, however long they take."""


@record(frozen=True)
class Latencies:
    """The times of runs that followed one another, in seconds."""

    seconds: Sequence[float]

    def quantiles(self) -> dict[str, float]:
        """The latencies of `QUANTILES`: each is that of a run, the nearest rank."""
        ranked = sorted(self.seconds)
        return {name: ranked[max(math.ceil(share * len(ranked)), 1) - 1] for name, share in QUANTILES.items()}

    @property
    def throughput_per_s(self) -> float:
        """Runs in a second."""
        return len(self.seconds) / sum(self.seconds)

    @property
    def noise(self) -> float | None:
        """By how much the medians of ten consecutive parts differ, as a share of the median of all.

        None for fewer than three runs a part.
        """
        size = len(self.seconds) // _PARTS
        if size < 3:
            return None
        medians = [statistics.median(self.seconds[i * size : (i + 1) * size]) for i in range(_PARTS)]
        return (max(medians) - min(medians)) / statistics.median(self.seconds)


@record(frozen=True)
class Budget:
    """How often to run.

    Attributes:
        warmup: Runs that are not counted.
        runs: Runs that are; None for as many as fit into `seconds`, `MIN_RUNS` at least.
        seconds: See `runs`.
    """

    warmup: int
    runs: int | None
    seconds: float

    def share_done(self, runs: int, elapsed_s: float) -> float:
        """How much of the work is done; 1 or more means all."""
        if self.runs is not None:
            return runs / self.runs
        return min(elapsed_s / self.seconds if self.seconds else 1.0, runs / MIN_RUNS)


def measure(run: Callable[[], object], budget: Budget, show: Callable[[float], None]) -> Latencies:
    """Run, and time each run.

    Args:
        run: What is timed.
        budget: How often.
        show: Told between two runs how much is done, from 0 to 1.
    """
    for _ in range(budget.warmup):
        run()
    seconds: list[float] = []
    began_s = time.perf_counter()
    while (done := budget.share_done(len(seconds), time.perf_counter() - began_s)) < 1:
        show(done)
        start_s = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start_s)
    return Latencies(seconds)


def instruction_table(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Where the time of a method goes, the longest first: each operator, each delegate, and the rest.

    `seconds` is the median of what all calls of one run take together, `share` that of the whole run;
    `calls` are those of one run. What a backend times within its delegates is listed as theirs.
    """
    wholes: dict[int, int] = {}
    spent: dict[tuple[str, str], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    delegates: dict[tuple[int | None, int | None], str] = {}
    for event in events:
        if event.run is None:
            continue
        if event.kind == "method":
            wholes[event.run] = event.duration_ns
        elif event.kind != "backend":
            name = event.name
            if event.kind == "delegate":
                name = delegates.setdefault((event.chain, event.instruction), f"{name} #{len(delegates)}")
            spent[event.kind, name][event.run].append(event.duration_ns)
    whole_ns = statistics.median(wholes.values())
    rows = [_row(kind, name, by_run, wholes, whole_ns) for (kind, name), by_run in spent.items()]
    rows.append(_rest(rows, whole_ns))
    return sorted(rows, key=lambda row: -float(row["seconds"]))


def _row(
    kind: str, name: str, by_run: Mapping[int, list[int]], wholes: Mapping[int, int], whole_ns: float
) -> dict[str, Any]:
    together_ns = statistics.median(sum(by_run.get(run, ())) for run in wholes)
    calls = statistics.median(len(by_run.get(run, ())) for run in wholes)
    return {
        "kind": kind,
        "name": name,
        "calls": calls,
        "seconds": together_ns / 1e9,
        "share": together_ns / whole_ns,
    }


def _rest(rows: Sequence[Mapping[str, Any]], whole_ns: float) -> dict[str, Any]:
    seconds = max(0.0, whole_ns / 1e9 - sum(row["seconds"] for row in rows))
    share = seconds * 1e9 / whole_ns
    return {"kind": "rest", "name": "between instructions", "calls": None, "seconds": seconds, "share": share}
