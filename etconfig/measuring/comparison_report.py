"""`ComparisonReport`: configurations of a model, measured in turns with the incumbent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from etconfig.analysis.instruction_times import InstructionTime
from etconfig.analysis.machine import MachineReport
from etconfig.analysis.plain import plain_data
from etconfig.base.number_text import format_bytes, format_seconds
from etconfig.base.paired_ratio import PairedRatio
from etconfig.base.records import record
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, count_text

REPORT_VERSION = 2
"""The version of reports as plain data, under `etconfig_bench`."""

QUANTILES = {"min": 0.0, "p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
"""The latencies that are reported."""

_MUCH_NOISE = 0.1
_OTHER_OUTPUTS = 0.01
_MOST_NOTES = 5

Verdict: TypeAlias = Literal["faster", "slower", "same"]
"""`same`: the interval contains 1, or the difference is within the noise floor."""

HEADERS = ("CONFIGURATION", "RATIO", "95 % INTERVAL", "P50", "P90", "LOAD", "PEAK", "ERROR")


@record(frozen=True, kw_only=True)
class MeasuredRow:
    """One configuration.

    Attributes:
        label: Its name.
        options: Its values that differ from the incumbent's, by path; all for the incumbent.
        profile: Its profile.
        fingerprint: The fingerprint of its arguments; None if it does not resolve.
        failure: Why it could not be measured, or None; then the following are None or empty.
        ratio: Its time divided by the incumbent's; of the incumbent, None.
        load_s: The time to open and load it, in seconds.
        runs: The number of runs.
        latency_s: The latencies in seconds by quantile: `min`, `p50`, `p90`, `p99`, `max`.
        peak_bytes: The memory that loading and the first run added to the process.
        error: The largest difference of an output, as a share of the largest value of that output of the
            reference, or without one of the incumbent; infinite if only one of two values is finite.
    """

    label: str
    options: Mapping[str, object]
    profile: str | None = None
    fingerprint: str | None = None
    failure: str | None = None
    ratio: PairedRatio | None = None
    load_s: float | None = None
    runs: int = 0
    latency_s: Mapping[str, float]
    peak_bytes: int | None = None
    error: float | None = None

    def cells(self) -> tuple[str, ...]:
        """The row of the table of `HEADERS`."""
        if self.failure is not None:
            return (f"{self.label}: {self.failure}", "failed", *[""] * (len(HEADERS) - 2))
        ratio = self.ratio
        times = (self.latency_s.get("p50"), self.latency_s.get("p90"), self.load_s)
        return (
            self.label,
            "1" if ratio is None else f"{ratio.ratio:.3f}",
            "" if ratio is None else f"{ratio.low:.3f} to {ratio.high:.3f}",
            *("" if each is None else format_seconds(each) for each in times),
            "" if self.peak_bytes is None else format_bytes(self.peak_bytes),
            "" if self.error is None else f"{self.error:.2g}",
        )

    def to_jsonable(self) -> dict[str, Any]:
        """The row as plain data; an infinite error is None."""
        data: dict[str, Any] = plain_data(self)
        if self.error is not None and not math.isfinite(self.error):
            data["error"] = None
        return data


@record(frozen=True, kw_only=True)
class ComparisonReport(HasView):
    """Configurations of one model, compared with the incumbent: what resolves now.

    Attributes:
        model: The path of the model.
        sha256: The SHA-256 of the file as hexadecimal text; None for a directory.
        method: The method of a program, or the name of an engine's model.
        instance: The named instance, or None.
        runs_on: The executor of a program, or the id of the backend whose engine runs the model.
        seed: The seed of inputs that were made up, or None if they were given.
        inputs: The form of each input: its dtype and shape, or its type.
        in_own_processes: True if each configuration had a process of its own.
        noise: The ratio of the incumbent to a second one of the same kind: the noise floor.
        incumbent: The incumbent.
        rows: The others, in the order in which they were asked for.
        instructions: The time of each operator and delegate of a program, from further runs with a tracer;
            only without others, and where the executor records events.
        notes: What to know about the result, in sentences.
        is_interrupted: True if Ctrl-C ended the measurement before all were measured.
        machine: The machine.
    """

    model: str
    sha256: str | None
    method: str
    instance: str | None
    runs_on: str
    seed: int | None
    inputs: tuple[str, ...]
    in_own_processes: bool
    noise: PairedRatio | None
    incumbent: MeasuredRow
    rows: tuple[MeasuredRow, ...]
    instructions: tuple[InstructionTime, ...]
    notes: tuple[str, ...] = ()
    is_interrupted: bool
    machine: MachineReport

    def verdict(self, row: MeasuredRow) -> Verdict | None:
        """Return whether a row is faster or slower than the incumbent; None if it was not measured."""
        if row.ratio is None:
            return None
        floor = 0.0 if self.noise is None else self.noise.noise
        if row.ratio.low <= 1 <= row.ratio.high or abs(row.ratio.ratio - 1) <= floor:
            return "same"
        return "faster" if row.ratio.ratio < 1 else "slower"

    def slower_than(self, limit: float) -> tuple[MeasuredRow, ...]:
        """Return the rows that are slower than the incumbent by more than a share, and rows that failed.

        Only a row whose whole interval is beyond the limit counts as slower.
        """
        return tuple(
            row
            for row in self.rows
            if row.failure is not None or (row.ratio is not None and row.ratio.low > 1 + limit)
        )

    @property
    def title(self) -> str:
        """The model, the method and what runs it, in one line."""
        label = self.method if self.instance is None else f"{self.method}@{self.instance}"
        return f"{label} of {self.model}, {self.runs_on}, profile {self.incumbent.profile}"

    @property
    def noise_text(self) -> str:
        """The noise floor, in one line."""
        if self.noise is None:
            return "noise floor unknown: interrupted"
        found = self.noise
        return (
            f"noise floor {found.noise:.1%}: two equal objects differ by {found.ratio:.3f} "
            f"({found.low:.3f} to {found.high:.3f}, {count_text(found.pairs, 'pair')})"
        )

    def to_jsonable(self) -> dict[str, Any]:
        """The report as plain data, as `etconfig bench --json` prints it."""
        return {
            "etconfig_bench": REPORT_VERSION,
            "model": {"path": self.model, "sha256": self.sha256},
            "method": self.method,
            "instance": self.instance,
            "runs_on": self.runs_on,
            "inputs": {"seed": self.seed, "values": list(self.inputs)},
            "in_own_processes": self.in_own_processes,
            "noise": None if self.noise is None else plain_data(self.noise),
            "incumbent": self.incumbent.to_jsonable(),
            "rows": [{**row.to_jsonable(), "verdict": self.verdict(row)} for row in self.rows],
            "instructions": [plain_data(each) for each in self.instructions],
            "notes": list(self.notes),
            "is_interrupted": self.is_interrupted,
            "environment": plain_data(self.machine),
        }

    def _view(self) -> View:
        rows = [row.cells() for row in (self.incumbent, *self.rows)]
        lines = [
            self.noise_text,
            *self.notes,
            *(["interrupted: some were not measured"] if self.is_interrupted else []),
        ]
        return View(title=self.title, lines=lines, tables=(Table(headers=HEADERS, rows=rows),))


def quantiles_s(times_ns: Sequence[int]) -> dict[str, float]:
    """Return the latencies of `QUANTILES` in seconds, each the latency of a run; empty without runs."""
    ranked = sorted(times_ns)
    if not ranked:
        return {}
    ranks = {name: max(math.ceil(share * len(ranked)), 1) - 1 for name, share in QUANTILES.items()}
    return {name: ranked[rank] / 1e9 for name, rank in ranks.items()}


def output_error(outputs: Sequence[Any], reference: Sequence[Any]) -> float:
    """Return the largest difference of outputs, as `MeasuredRow.error` has it.

    Raises:
        ValueError: the outputs have other shapes than the reference, or another number.
    """
    if len(outputs) != len(reference):
        raise ValueError(f"gives {len(outputs)} output(s), and the reference has {len(reference)}")
    pairs = enumerate(zip(outputs, reference, strict=True))
    return max((_error(f"out{index}", *pair) for index, pair in pairs), default=0)


def noise_notes(noise: PairedRatio | None) -> tuple[str, ...]:
    """Return what to know about a large noise floor, in a sentence; nothing if it is small."""
    if noise is None or noise.noise <= _MUCH_NOISE:
        return ()
    return (f"two equal objects differ by {noise.noise:.0%}: stop what else runs on this machine",)


def output_notes(rows: Sequence[MeasuredRow]) -> tuple[str, ...]:
    """Return the rows with other outputs, each in a sentence; of many, the first ones."""
    others = [row for row in rows if row.error is not None and row.error > _OTHER_OUTPUTS]
    notes = [f"{row.label} gives other outputs: error {row.error:.2g}" for row in others[:_MOST_NOTES]]
    return (*notes, *([f"{len(others)} give other outputs"] if len(others) > _MOST_NOTES else []))


def _error(name: str, output: Any, reference: Any) -> float:
    if isinstance(output, Mapping) and isinstance(reference, Mapping):
        if output.keys() != reference.keys():
            return math.inf
        output, reference = list(output.values()), [reference[key] for key in output]
    if isinstance(output, (list, tuple)) and isinstance(reference, (list, tuple)):
        if len(output) != len(reference):
            raise ValueError(f"{name} has {len(output)} value(s), and that of the reference {len(reference)}")
        return _largest(name, output, reference)
    found, wanted = np.asarray(output), np.asarray(reference)
    if found.shape != wanted.shape:
        raise ValueError(f"{name} has the shape {found.shape}, and that of the reference {wanted.shape}")
    if found.dtype.hasobject or wanted.dtype.hasobject:
        if found.ndim:
            return _largest(name, found.ravel().tolist(), wanted.ravel().tolist())
        return 0.0 if _is_equal(found.item(), wanted.item()) else math.inf
    if {found.dtype.kind, wanted.dtype.kind} & {*"USmM"} or found.dtype.names or wanted.dtype.names:
        return 0.0 if _is_equal(found, wanted) else math.inf
    is_complex = "c" in (found.dtype.kind, wanted.dtype.kind)
    number: type[np.generic] = np.complex128 if is_complex else np.float64
    found, wanted = found.astype(number), wanted.astype(number)
    is_same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.where(is_same, 0.0, np.abs(found - wanted))
    finite = np.abs(wanted[np.isfinite(wanted)])
    largest = float(finite.max(initial=0.0)) or 1.0
    error = float(np.max(difference, initial=0.0))
    return error / largest if math.isfinite(error) else math.inf


def _largest(name: str, output: Sequence[Any], reference: Sequence[Any]) -> float:
    return max((_error(name, *pair) for pair in zip(output, reference, strict=True)), default=0.0)


def _is_equal(output: Any, reference: Any) -> bool:
    try:
        return output is reference or bool(np.all(output == reference))
    except Exception:  # of an object, which may raise anything
        return False
