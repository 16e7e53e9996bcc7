"""The time that each operator and each delegate of a method takes, from the events of a trace."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from etconfig.base.records import record
from etconfig.tracing import Event


@record(frozen=True, kw_only=True)
class InstructionTime:
    """The time of all calls of an operator or of one delegate.

    Attributes:
        kind: `kernel`, `delegate`, or `rest` for the time between instructions.
        name: The operator, or the backend with the number of the delegate.
        calls: The calls in one run; None for `rest`.
        time_ns: The time of all calls of one run together, in nanoseconds; the median over the runs.
        share: That time as a share of the whole run.
    """

    kind: str
    name: str
    calls: float | None
    time_ns: float
    share: float


def instruction_times(events: Iterable[Event]) -> tuple[InstructionTime, ...]:
    """Return the time of each operator, each delegate and the rest of a method, the longest first.

    The events that a backend records within its delegates are part of these delegates.

    Args:
        events: The events of one or more runs.
    """
    whole_by_run: dict[int, int] = {}
    spent: dict[tuple[str, str], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    delegates: dict[tuple[int | None, int | None], str] = {}
    for event in events:
        if event.run is None:
            continue
        if event.kind == "method":
            whole_by_run[event.run] = event.duration_ns
        elif event.kind != "backend":
            name = event.name
            if event.kind == "delegate":
                name = delegates.setdefault((event.chain, event.instruction), f"{name} #{len(delegates)}")
            spent[event.kind, name][event.run].append(event.duration_ns)
    whole_ns = statistics.median(whole_by_run.values())
    rows = [_time_of(kind, name, by_run, whole_by_run, whole_ns) for (kind, name), by_run in spent.items()]
    rows.append(_rest(rows, whole_ns))
    return tuple(sorted(rows, key=lambda row: -row.time_ns))


def _time_of(
    kind: str, name: str, by_run: Mapping[int, list[int]], runs: Iterable[int], whole_ns: float
) -> InstructionTime:
    runs = tuple(runs)
    time_ns = statistics.median(sum(by_run.get(run, ())) for run in runs)
    calls = statistics.median(len(by_run.get(run, ())) for run in runs)
    return InstructionTime(kind=kind, name=name, calls=calls, time_ns=time_ns, share=time_ns / whole_ns)


def _rest(rows: Sequence[InstructionTime], whole_ns: float) -> InstructionTime:
    time_ns = max(0.0, whole_ns - sum(row.time_ns for row in rows))
    return InstructionTime(
        kind="rest", name="between instructions", calls=None, time_ns=time_ns, share=time_ns / whole_ns
    )
