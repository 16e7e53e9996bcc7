"""`BenchmarkReport`: the speed of a method, and what is needed to understand and repeat the measurement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from etconfig.analysis.instruction_times import InstructionTime
from etconfig.analysis.machine import MachineReport
from etconfig.analysis.plain import plain_data
from etconfig.base.parameters import AnyPath, as_path
from etconfig.base.records import record

REPORT_VERSION = 1
"""The version of reports as plain data, under `etconfig_bench`."""


@record(frozen=True, kw_only=True)
class ProgramFile:
    """The file that was measured.

    Attributes:
        path: Its path, or None if it was given as bytes.
        size_bytes: Its size.
        sha256: Its SHA-256 as hexadecimal text.
    """

    path: str | None
    size_bytes: int
    sha256: str


@record(frozen=True, kw_only=True)
class BenchmarkInput:
    """An input of a measurement.

    Attributes:
        dtype: The element type of an array, or None for anything else.
        shape: The shape of an array, or None for anything else.
        value: The value of anything else than an array.
    """

    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    value: object = None

    def to_jsonable(self) -> dict[str, Any]:
        """The input as plain data."""
        if self.shape is None:
            return {"value": self.value}
        return {"dtype": self.dtype, "shape": list(self.shape)}


@record(frozen=True, kw_only=True)
class BenchmarkInputs:
    """The inputs of a measurement.

    Attributes:
        files: The files that they were read from.
        seed: The seed that they were made up from, or None if they were given.
        values: The form of each.
    """

    files: tuple[str, ...] = ()
    seed: int | None = None
    values: tuple[BenchmarkInput, ...]

    def to_jsonable(self) -> dict[str, Any]:
        """The inputs as plain data."""
        values = [value.to_jsonable() for value in self.values]
        return {"files": list(self.files), "seed": self.seed, "values": values}


@record(frozen=True, kw_only=True)
class TracedRuns:
    """Further runs with a tracer.

    Attributes:
        runs: The number of runs.
        p50_ns: Their median latency in nanoseconds, which includes the cost of tracing.
        instructions: The time of each operator and delegate, the longest first.
    """

    runs: int
    p50_ns: int
    instructions: tuple[InstructionTime, ...]

    def to_jsonable(self) -> dict[str, Any]:
        """The runs as plain data, with times in seconds."""
        rows = [
            {
                "kind": row.kind,
                "name": row.name,
                "calls": row.calls,
                "seconds": row.time_ns / 1e9,
                "share": row.share,
            }
            for row in self.instructions
        ]
        return {"runs": self.runs, "p50": self.p50_ns / 1e9, "instructions": rows}


@record(frozen=True, kw_only=True)
class BenchmarkMemory:
    """The memory of a measurement, in bytes.

    Attributes:
        planned_bytes: The arenas of the method. None for an executor with a plan of its own.
        constant_bytes: The constants of the program. None for an executor with a plan of its own.
        peak_rss_bytes: The peak resident memory of the process; None on systems that do not report it.
    """

    planned_bytes: int | None
    constant_bytes: int | None
    peak_rss_bytes: int | None

    def to_jsonable(self) -> dict[str, int | None]:
        """The memory as plain data, without what another executor plans by itself."""
        planned = {"planned_bytes": self.planned_bytes, "constant_bytes": self.constant_bytes}
        known = {name: size for name, size in planned.items() if size is not None}
        return {**known, "peak_rss_bytes": self.peak_rss_bytes}


@record(frozen=True, kw_only=True)
class BenchmarkReport:
    """The speed of one method with one set of arguments.

    Attributes:
        program: The file.
        method: The method.
        instance: The named instance, or None for the default one.
        executor: The executor that ran it.
        optimize: False if every instruction ran as the program says.
        profile: The profile of the resolution.
        fingerprint: The fingerprint of the resolution.
        inputs: The inputs.
        open_ns: The time to open the program in nanoseconds, the best of several.
        load_ns: The time to load the method in nanoseconds, the best of several.
        warmup: The number of runs that were not counted.
        runs: The number of runs that were.
        latency_ns: Their latencies in nanoseconds by quantile: `min`, `p15`, `p50`, `p90`, `p99`, `max`.
        noise: The drift of the machine during the runs, as a share of the median latency; None for
            fewer than 30 runs.
        throughput_per_s: Runs per second.
        traced: Further runs with a tracer; None for an executor that records no events.
        memory: The memory.
        machine: The machine.
    """

    program: ProgramFile
    method: str
    instance: str | None
    executor: str
    optimize: bool
    profile: str | None
    fingerprint: str
    inputs: BenchmarkInputs
    open_ns: int
    load_ns: int
    warmup: int
    runs: int
    latency_ns: Mapping[str, int]
    noise: float | None
    throughput_per_s: float
    traced: TracedRuns | None
    memory: BenchmarkMemory
    machine: MachineReport

    def to_jsonable(self) -> dict[str, Any]:
        """The report as plain data, as `etconfig bench --json` prints it: times are in seconds."""
        return {
            "etconfig_bench": REPORT_VERSION,
            "program": plain_data(self.program),
            "method": self.method,
            "instance": self.instance,
            "executor": self.executor,
            "optimize": self.optimize,
            "profile": self.profile,
            "arguments": self.fingerprint,
            "inputs": self.inputs.to_jsonable(),
            "load_s": {"open": self.open_ns / 1e9, "load": self.load_ns / 1e9},
            "warmup": self.warmup,
            "runs": self.runs,
            "latency_s": {name: latency / 1e9 for name, latency in self.latency_ns.items()},
            "noise": self.noise,
            "throughput_per_s": self.throughput_per_s,
            "traced": None if self.traced is None else self.traced.to_jsonable(),
            "memory": self.memory.to_jsonable(),
            "environment": plain_data(self.machine),
        }


def load_benchmark(path: AnyPath) -> BenchmarkReport:
    """Read a report that `etconfig bench --json` printed.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not such a report.
        TypeError: `path` is not a path.
    """
    content = as_path("path", path).read_bytes()
    try:
        data = json.loads(content)
    except ValueError as error:
        raise ValueError(f"{path} is not a report of etconfig bench: {error}") from error
    try:
        if data["etconfig_bench"] == REPORT_VERSION:
            return parse_benchmark(data)
    except (LookupError, TypeError, ValueError, AttributeError):
        pass  # something else, or a report that somebody edited
    raise ValueError(f"{path} is not a report of etconfig bench, version {REPORT_VERSION}")


def parse_benchmark(data: Mapping[str, Any]) -> BenchmarkReport:
    """Make a report of plain data as `BenchmarkReport.to_jsonable` returns them.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: the data have another form.
    """
    traced = data["traced"]
    return BenchmarkReport(
        program=ProgramFile(**data["program"]),
        method=data["method"],
        instance=data["instance"],
        executor=data["executor"],
        optimize=data["optimize"],
        profile=data["profile"],
        fingerprint=data["arguments"],
        inputs=_parse_inputs(data["inputs"]),
        open_ns=_as_ns(data["load_s"]["open"]),
        load_ns=_as_ns(data["load_s"]["load"]),
        warmup=data["warmup"],
        runs=data["runs"],
        latency_ns={name: _as_ns(latency) for name, latency in data["latency_s"].items()},
        noise=data["noise"],
        throughput_per_s=data["throughput_per_s"],
        traced=None if traced is None else _parse_traced(traced),
        memory=BenchmarkMemory(**{"planned_bytes": None, "constant_bytes": None, **data["memory"]}),
        machine=MachineReport(**data["environment"]),
    )


def _parse_inputs(data: Mapping[str, Any]) -> BenchmarkInputs:
    values = tuple(
        BenchmarkInput(dtype=each["dtype"], shape=tuple(each["shape"]))
        if "shape" in each
        else BenchmarkInput(value=each["value"])
        for each in data["values"]
    )
    return BenchmarkInputs(files=tuple(data["files"]), seed=data["seed"], values=values)


def _parse_traced(data: Mapping[str, Any]) -> TracedRuns:
    rows = tuple(
        InstructionTime(
            kind=row["kind"],
            name=row["name"],
            calls=row["calls"],
            time_ns=row["seconds"] * 1e9,
            share=row["share"],
        )
        for row in data["instructions"]
    )
    return TracedRuns(runs=data["runs"], p50_ns=_as_ns(data["p50"]), instructions=rows)


def _as_ns(seconds: float) -> int:
    return round(seconds * 1e9)
