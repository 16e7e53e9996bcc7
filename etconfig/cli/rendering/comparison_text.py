"""A report of `etconfig bench` as text: the table, and the intervals as a picture of characters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from etconfig.base.number_text import format_number, format_seconds
from etconfig.cli.rendering.configuration_table import ConfigurationTable
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.output import print_table, show

if TYPE_CHECKING:
    from etconfig.analysis import MachineReport
    from etconfig.measuring.comparison_report import ComparisonReport, MeasuredRow

_MAX_ROWS = 20
"""The number of operators and delegates that are shown; --json has all."""
_PLOT_COLUMNS = 48


def print_comparison(report: ComparisonReport) -> None:
    """Print a report on stdout."""
    from etconfig.measuring.comparison_report import HEADERS

    show(report.title)
    show(_machine_line(report.machine))
    show(report.noise_text)
    for line in report.notes:
        show(line)
    if report.in_own_processes:
        show("each configuration in a process of its own")
    if report.is_interrupted:
        show("interrupted: the rest was not measured")
    show()
    rows = [row.cells() for row in (report.incumbent, *report.rows)]
    table = ConfigurationTable.of(HEADERS, rows, name=0, first=0)
    table.show()
    named = zip(report.rows, table.names[1:], strict=True)
    measured = [(row, name) for row, name in named if row.ratio is not None]
    if measured:
        show()
        for line in interval_plot([replace(row, label=name) for row, name in measured]):
            show(line)
    if report.instructions:
        _print_instructions(report)
    failed = sum(row.failure is not None for row in report.rows)
    verdicts = [report.verdict(row) for row, _ in measured]
    if report.rows:
        show()
        show(
            f"{verdicts.count('faster')} faster, {verdicts.count('slower')} slower, {verdicts.count('same')} "
            f"not different from {report.incumbent.label}" + (f", {failed} failed" if failed else "")
        )


def interval_plot(rows: Sequence[MeasuredRow]) -> Iterator[str]:
    """Yield a line for each row: its interval on an axis that has 1, the incumbent, as a bar."""
    ratios = [row.ratio for row in rows if row.ratio is not None]
    ends = [math.log(end) for each in ratios for end in (each.low, each.high)]
    least, most = min(0.0, *ends), max(0.0, *ends)
    width = max(len(row.label) for row in rows)

    def column(ratio: float) -> int:
        return round((math.log(ratio) - least) / ((most - least) or 1) * (_PLOT_COLUMNS - 1))

    for row, ratio in zip(rows, ratios, strict=True):
        cells = [" "] * _PLOT_COLUMNS
        cells[column(1)] = "│"
        low, high = column(ratio.low), column(ratio.high)
        cells[low : high + 1] = "─" * (high - low + 1)
        cells[column(ratio.ratio)] = "●"
        yield f"{row.label:{width}}  {''.join(cells)}"
    shown = f"{format_number(math.exp(least))} to {format_number(math.exp(most))}"
    yield f"{'':{width}}  faster ← 1 → slower, {shown} times the incumbent's time"


def _print_instructions(report: ComparisonReport) -> None:
    rows = report.instructions
    show()
    show("times of a run with a tracer, which takes longer:")
    print_table(
        ("WHAT", "NAME", "CALLS", "TIME", "SHARE"),
        [
            (
                row.kind,
                row.name,
                "" if row.calls is None else f"{row.calls:g}",
                format_seconds(row.time_ns / 1e9),
                f"{row.share:.1%}",
            )
            for row in rows[:_MAX_ROWS]
        ],
    )
    if len(rows) > _MAX_ROWS:
        show(f"and {len(rows) - _MAX_ROWS} more; --json has all")


def _machine_line(machine: MachineReport) -> str:
    settings = " ".join(f"{name}={value}" for name, value in machine.blas_settings.items())
    cores = "unknown cores" if machine.cores is None else format_count(machine.cores, "core")
    load = "" if machine.load_average is None else f", load {machine.load_average:.2f}"
    line = f"{machine.system}, {cores}{load}, {machine.python}"
    if machine.numpy is None:
        return line
    return f"{line}, numpy {machine.numpy}, {machine.blas} ({settings or 'default settings'})"
