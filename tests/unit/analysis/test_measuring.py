"""Statistics of the times of runs, and of the events of a trace."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from etconfig.analysis import benchmarking
from etconfig.analysis.benchmarking import MIN_RUNS, Latencies, RunBudget, measure
from etconfig.analysis.instruction_times import instruction_times
from etconfig.tracing import Event

SECOND_NS = 10**9


class TestLatencies:
    """Quantiles are the latencies of runs; noise is the drift of consecutive parts."""

    def test_a_quantile_is_the_latency_of_the_nearest_rank(self) -> None:
        shuffled = [(7 * i) % 101 for i in range(1, 101)]
        expected = {"min": 1, "p15": 15, "p50": 50, "p90": 90, "p99": 99, "max": 100}
        assert Latencies(shuffled).quantiles_ns() == expected

    def test_a_single_run_is_every_quantile(self) -> None:
        assert set(Latencies([5]).quantiles_ns().values()) == {5}

    def test_throughput_is_runs_per_second(self) -> None:
        assert Latencies([250_000_000, 750_000_000]).throughput_per_s == 2

    def test_a_machine_that_slows_down_makes_noise(self) -> None:
        assert Latencies([100] * 50 + [120] * 50).noise == pytest.approx(0.2 / 1.1)

    def test_single_slow_runs_make_no_noise(self) -> None:
        assert Latencies(([10] * 9 + [500]) * 10).noise == 0

    @pytest.mark.parametrize(("runs", "is_known"), [(29, False), (30, True)])
    def test_fewer_than_30_runs_have_no_known_noise(self, runs: int, is_known: bool) -> None:
        assert (Latencies([10] * runs).noise is not None) == is_known


class TestBudget:
    """A number of runs, or as many as fit into a time, after warm-up runs."""

    @pytest.fixture
    def calls(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
        ticks = itertools.count()  # every reading of the clock is a second later
        monkeypatch.setattr(benchmarking.time, "perf_counter_ns", lambda: next(ticks) * SECOND_NS)
        return itertools.count(1)

    def test_a_number_of_runs_is_kept(self, calls: Iterator[int]) -> None:
        shown: list[float] = []
        latencies = measure(lambda: next(calls), RunBudget(2, 4, 0), shown.append)
        assert next(calls) == 2 + 4 + 1
        assert latencies.each_ns == [SECOND_NS] * 4
        assert shown == [0, 0.25, 0.5, 0.75]

    def test_a_time_limits_the_runs(self, calls: Iterator[int]) -> None:
        latencies = measure(lambda: next(calls), RunBudget(0, None, 300), lambda done: None)
        assert len(latencies.each_ns) == 100  # three readings a run

    def test_a_short_time_still_gets_the_least_number_of_runs(self, calls: Iterator[int]) -> None:
        latencies = measure(lambda: next(calls), RunBudget(0, None, 0), lambda done: None)
        assert len(latencies.each_ns) == MIN_RUNS


def event(name: str, kind: str, duration_ns: int, run: int | None, instruction: int | None = None) -> Event:
    chain = None if instruction is None else 0
    return Event(name, kind, 0, duration_ns, run=run, chain=chain, instruction=instruction)  # type: ignore[arg-type]


class TestTable:
    """A row for each operator, for each delegate, and for the rest of the time."""

    EVENTS = (
        event("init", "phase", 999, None),
        *(
            each
            for run, factor in ((0, 1), (1, 2), (2, 1))
            for each in (
                event("aten::add.out", "kernel", 100 * factor, run, 0),
                event("tile", "backend", 1, run, 1),
                event("Npu", "delegate", 300 * factor, run, 1),
                event("aten::add.out", "kernel", 200 * factor, run, 2),
                event("Npu", "delegate", 50 * factor, run, 3),
                event("forward", "method", 1000 * factor, run),
            )
        ),
    )

    def test_rows_are_medians_over_runs_and_the_longest_comes_first(self) -> None:
        rows = [
            (row.kind, row.name, row.calls, row.time_ns, row.share) for row in instruction_times(self.EVENTS)
        ]
        assert rows == [
            ("rest", "between instructions", None, 350, pytest.approx(0.35)),
            ("kernel", "aten::add.out", 2, 300, 0.3),
            ("delegate", "Npu #0", 1, 300, 0.3),
            ("delegate", "Npu #1", 1, 50, 0.05),
        ]

    def test_an_operator_that_did_not_run_counts_as_zero(self) -> None:
        events = [
            *(event("forward", "method", 1000, run) for run in range(3)),
            event("a", "kernel", 500, 0, 0),
        ]
        (rest, row) = instruction_times(events)
        assert (row.name, row.calls, row.time_ns) == ("a", 0, 0)
        assert rest.share == 1
