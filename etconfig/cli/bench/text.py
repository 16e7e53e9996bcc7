"""A report of `etconfig bench` as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from etconfig.cli.bench.comparison import describe_comparison
from etconfig.cli.shared.format import format_bytes, format_count, format_number, format_seconds
from etconfig.cli.shared.output import print_table

_MAX_ROWS = 20
"""How many rows of the table are shown; --json has all."""


def print_report(report: Mapping[str, Any], earlier: Path | None) -> None:
    """A report on stdout, as people read it.

    Args:
        report: What `--json` prints.
        earlier: The file that it was compared with, if it was.
    """
    label = report["method"] if report["instance"] is None else f"{report['method']}@{report['instance']}"
    runs = format_count(report["runs"], "run")
    click.echo(
        f"{label} of {report['program']['path']}, executor {report['executor']}, profile {report['profile']}"
    )
    click.echo(_surroundings_line(report["environment"]))
    loading = report["load_s"]
    click.echo(f"\nopen {format_seconds(loading['open'])}, load {format_seconds(loading['load'])}")
    noise = "too few to see noise" if report["noise"] is None else f"noise {report['noise']:.1%}"
    click.echo(f"{runs}, {format_number(report['throughput_per_s'])} per second, {noise}")
    latencies = report["latency_s"]
    print_table(tuple(latencies), [tuple(format_seconds(each) for each in latencies.values())])
    click.echo(f"memory: {_memory_line(report['memory'])}")
    if report["traced"] is not None:
        _print_table(report["traced"], latencies["p50"])
    if earlier is not None:
        click.echo(f"\ncompared with {earlier}:")
        for line in describe_comparison(report["comparison"]):
            click.echo(f"  {line}")


def _print_table(traced: Mapping[str, Any], untraced_s: float) -> None:
    rows = traced["instructions"]
    click.echo(
        f"\nof a run with a tracer, which takes {traced['p50'] / untraced_s:.2f} times as long "
        f"({format_count(traced['runs'], 'run')}):"
    )
    print_table(
        ("WHAT", "NAME", "CALLS", "TIME", "SHARE"),
        [
            (
                row["kind"],
                row["name"],
                "" if row["calls"] is None else f"{row['calls']:g}",
                format_seconds(row["seconds"]),
                f"{row['share']:.1%}",
            )
            for row in rows[:_MAX_ROWS]
        ],
    )
    if len(rows) > _MAX_ROWS:
        click.echo(f"and {len(rows) - _MAX_ROWS} more; --json has all")


def _surroundings_line(environment: Mapping[str, Any]) -> str:
    settings = " ".join(f"{name}={value}" for name, value in environment["blas_settings"].items())
    return (
        f"{environment['system']}, {format_count(environment['cores'], 'core')}, {environment['python']}, "
        f"numpy {environment['numpy']}, {environment['blas']} ({settings or 'its own settings'})"
    )


def _memory_line(memory: Mapping[str, int | None]) -> str:
    names = {
        "planned_bytes": "planned",
        "constant_bytes": "constants",
        "peak_rss_bytes": "peak of the process",
    }
    known = [f"{names[key]} {format_bytes(value)}" for key, value in memory.items() if value is not None]
    return ", ".join(known)
