"""The times of operators and delegates, from the events of a trace."""

from __future__ import annotations

import pytest

from etconfig.analysis.instruction_times import instruction_times
from etconfig.tracing import Event


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
