"""`compare_benchmarks`: the difference between two reports, and whether it exceeds the noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from etconfig.analysis.benchmark_report import BenchmarkReport
from etconfig.analysis.plain import plain_data
from etconfig.base.records import record

SpeedVerdict: TypeAlias = Literal["faster", "slower", "same"]
"""`same`: the medians differ by no more than the noise."""

_COMPARED = ("min", "p15", "p50", "p90")
_CAUSES = ("program", "method", "inputs", "executor", "optimize", "environment", "arguments")
"""The parts of a report, as plain data, that a change of speed may come from."""
_MAX_SHOWN = 80
"""The length up to which a difference is shown, in characters; hashes are longer."""


@record(frozen=True, kw_only=True)
class BenchmarkComparison:
    """Two reports compared.

    Attributes:
        ratios: New over old latency by quantile; less than 1 is faster.
        noise: The larger noise of the two, or None if one had too few runs.
        verdict: `faster` or `slower` only if the medians differ by more than the noise, else `same`;
            None without a known noise.
        differences: Everything else that is not the same, as text.
    """

    ratios: Mapping[str, float]
    noise: float | None
    verdict: SpeedVerdict | None
    differences: tuple[str, ...]

    def to_jsonable(self) -> dict[str, Any]:
        """The comparison as plain data."""
        data: dict[str, Any] = plain_data(self)
        return data


def compare_benchmarks(old: BenchmarkReport, new: BenchmarkReport) -> BenchmarkComparison:
    """Compare a report with an earlier one."""
    ratios = {name: new.latency_ns[name] / old.latency_ns[name] for name in _COMPARED}
    noise = None if old.noise is None or new.noise is None else max(old.noise, new.noise)
    return BenchmarkComparison(
        ratios=ratios,
        noise=noise,
        verdict=_verdict(ratios["p50"], noise),
        differences=tuple(_differences(old.to_jsonable(), new.to_jsonable())),
    )


def _verdict(ratio: float, noise: float | None) -> SpeedVerdict | None:
    if noise is None:
        return None
    if abs(ratio - 1) <= noise:
        return "same"
    return "faster" if ratio < 1 else "slower"


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for part in _CAUSES:
        before, after = _as_items(part, old[part]), _as_items(part, new[part])
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
