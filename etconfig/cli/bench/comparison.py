"""Two reports of `etconfig bench`: by how much they differ, and whether that means anything."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

REPORT_VERSION = 1
"""The version of the reports, under `etconfig_bench`."""

_COMPARED = ("min", "p15", "p50", "p90")
_HAVE_TO_BE_EQUAL = ("program", "method", "inputs", "executor", "optimize", "environment", "arguments")
"""Parts of a report that a change of speed may come from; `program` by its hash."""
_MAX_SHOWN = 80
"""How many characters of a difference are worth reading; hashes are not."""


def read_report(path: Path) -> dict[str, Any]:
    """A report that `etconfig bench --json` printed.

    Raises:
        click.ClickException: the file cannot be read, or is none.
    """
    try:
        report = json.loads(path.read_bytes())
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise click.ClickException(f"{path} is no report of etconfig bench: {error}") from error
    if not isinstance(report, dict) or report.get("etconfig_bench") != REPORT_VERSION:
        raise click.ClickException(f"{path} is no report of etconfig bench, version {REPORT_VERSION}")
    return report


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """How `new` relates to `old`, as plain data.

    `ratios` are new over old, so less than 1 is faster. `noise` is the larger drift of the two
    measurements, None if there were too few runs to tell; `verdict` is `faster` or `slower` only
    where the median differs by more than that. `differences` names what else is not the same.
    """
    ratios = {name: new["latency_s"][name] / old["latency_s"][name] for name in _COMPARED}
    noises = [old["noise"], new["noise"]]
    noise = None if None in noises else max(noises)
    return {
        "ratios": ratios,
        "noise": noise,
        "verdict": _verdict(ratios["p50"], noise),
        "differences": list(_differences(old, new)),
    }


def describe_comparison(comparison: Mapping[str, Any]) -> Iterator[str]:
    """The comparison in lines of text."""
    ratios = ", ".join(f"{name} {ratio:.3g}" for name, ratio in comparison["ratios"].items())
    yield f"new / old: {ratios}"
    noise = comparison["noise"]
    if noise is None:
        yield "too few runs to tell a difference from noise"
    elif comparison["verdict"] == "same":
        yield f"no difference that is larger than the noise of {noise:.1%}"
    else:
        yield f"{comparison['verdict']}, by more than the noise of {noise:.1%}"
        yield "noise is the drift within each measurement; between two, a machine may differ by more"
    for difference in comparison["differences"]:
        yield f"not the same: {difference}"


def _verdict(ratio: float, noise: float | None) -> str | None:
    if noise is None:
        return None
    if abs(ratio - 1) <= noise:
        return "same"
    return "faster" if ratio < 1 else "slower"


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for part in _HAVE_TO_BE_EQUAL:
        before, after = _as_items(part, old.get(part)), _as_items(part, new.get(part))
        for name in dict.fromkeys((*before, *after)):
            if before.get(name) != after.get(name):
                change = f"{before.get(name)} -> {after.get(name)}"
                yield f"{name}: {change}" if len(change) <= _MAX_SHOWN else name


def _as_items(part: str, value: Any) -> Mapping[str, Any]:
    if part == "program":
        return {part: value["sha256"]}
    if part == "environment":
        return {name: each for name, each in value.items() if name != "load_average"}
    return {part: value}
