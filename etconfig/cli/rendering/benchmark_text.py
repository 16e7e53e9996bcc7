"""A report of `etconfig bench` as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.base.number_text import format_bytes, format_number, format_seconds
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.output import print_table, show

if TYPE_CHECKING:
    from etconfig.analysis import BenchmarkComparison, BenchmarkReport, MachineReport
    from etconfig.analysis.benchmark_report import BenchmarkMemory, TracedRuns

_MAX_ROWS = 20
"""The number of rows of the table that are shown; --json has all."""


def print_benchmark(report: BenchmarkReport) -> None:
    """Print a report on stdout."""
    label = report.method if report.instance is None else f"{report.method}@{report.instance}"
    runs = format_count(report.runs, "run")
    show(f"{label} of {report.program.path}, executor {report.executor}, profile {report.profile}")
    show(_machine_line(report.machine))
    show()
    show(f"open {_format_ns(report.open_ns)}, load {_format_ns(report.load_ns)}")
    noise = "too few to see noise" if report.noise is None else f"noise {report.noise:.1%}"
    show(f"{runs}, {format_number(report.throughput_per_s)} per second, {noise}")
    print_table(tuple(report.latency_ns), [tuple(map(_format_ns, report.latency_ns.values()))])
    show(f"memory: {_memory_line(report.memory)}")
    if report.traced is not None:
        _print_instructions(report.traced, report.latency_ns["p50"])


def print_comparison(comparison: BenchmarkComparison, earlier: Path) -> None:
    """Print a comparison with the report in the file `earlier` on stdout."""
    show()
    show(f"compared with {earlier}:")
    for line in describe_comparison(comparison):
        show(f"  {line}")


def describe_comparison(comparison: BenchmarkComparison) -> Iterator[str]:
    """Return the comparison in lines of text."""
    ratios = ", ".join(f"{name} {ratio:.3g}" for name, ratio in comparison.ratios.items())
    yield f"new / old: {ratios}"
    noise = comparison.noise
    if noise is None:
        yield "too few runs to separate a difference from noise"
    elif comparison.verdict == "same":
        yield f"no difference that is larger than the noise of {noise:.1%}"
    else:
        yield f"{comparison.verdict}, by more than the noise of {noise:.1%}"
        yield "noise is the drift within each measurement; two measurements may differ by more"
    for difference in comparison.differences:
        yield f"not the same: {difference}"


def _print_instructions(traced: TracedRuns, untraced_ns: int) -> None:
    rows = traced.instructions
    show()
    show(
        f"times of a run with a tracer, which takes {traced.p50_ns / untraced_ns:.2f} times as long "
        f"({format_count(traced.runs, 'run')}):"
    )
    print_table(
        ("WHAT", "NAME", "CALLS", "TIME", "SHARE"),
        [
            (
                row.kind,
                row.name,
                "" if row.calls is None else f"{row.calls:g}",
                _format_ns(row.time_ns),
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
    return (
        f"{machine.system}, {cores}, {machine.python}, "
        f"numpy {machine.numpy}, {machine.blas} ({settings or 'default settings'})"
    )


def _memory_line(memory: BenchmarkMemory) -> str:
    sizes = {
        "planned": memory.planned_bytes,
        "constants": memory.constant_bytes,
        "peak of the process": memory.peak_rss_bytes,
    }
    return ", ".join(f"{name} {format_bytes(size)}" for name, size in sizes.items() if size is not None)


def _format_ns(time_ns: float) -> str:
    return format_seconds(time_ns / 1e9)
