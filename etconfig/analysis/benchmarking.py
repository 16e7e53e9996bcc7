"""`benchmark`: measure how fast a method of a program runs."""

from __future__ import annotations

import hashlib
import math
import os
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from etconfig.analysis.benchmark_report import (
    BenchmarkInput,
    BenchmarkInputs,
    BenchmarkMemory,
    BenchmarkReport,
    ProgramFile,
    TracedRuns,
)
from etconfig.analysis.generated_inputs import generate_inputs
from etconfig.analysis.instruction_times import instruction_times
from etconfig.analysis.machine import describe_machine, peak_rss_bytes
from etconfig.app.configuring.configuration import resolve
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.api import load_program
from etconfig.app.programs.executors import NUMPY, choose_executor, records_events
from etconfig.app.programs.loaded_program import LoadedProgram
from etconfig.base.parameters import check_type
from etconfig.base.records import record
from etconfig.program.external_data import DataSources
from etconfig.program.source import ProgramSource
from etconfig.resolver.deciding.arguments import Arguments
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.tracing import RecordingTracer

QUANTILES = {"min": 0.0, "p15": 0.15, "p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
"""The latencies that are reported. `p15` is steadier than `min`, and less disturbed than `p50`."""

_PARTS = 10
"""The number of consecutive parts into which runs are divided to see how much the machine drifts."""
MIN_RUNS = 30
"""The least number of runs within a time budget, however long they take."""


@record(frozen=True)
class Latencies:
    """The latencies of consecutive runs, in nanoseconds."""

    each_ns: Sequence[int]

    def quantiles_ns(self) -> dict[str, int]:
        """The latencies of `QUANTILES`, each that of a run (nearest rank)."""
        ranked = sorted(self.each_ns)
        return {name: ranked[max(math.ceil(share * len(ranked)), 1) - 1] for name, share in QUANTILES.items()}

    @property
    def throughput_per_s(self) -> float:
        """Runs per second."""
        return len(self.each_ns) * 1e9 / sum(self.each_ns)

    @property
    def noise(self) -> float | None:
        """The difference between the medians of ten consecutive parts, as a share of the median of all.

        None for fewer than three runs a part.
        """
        size = len(self.each_ns) // _PARTS
        if size < 3:
            return None
        medians = [statistics.median(self.each_ns[i * size : (i + 1) * size]) for i in range(_PARTS)]
        return (max(medians) - min(medians)) / statistics.median(self.each_ns)


@record(frozen=True)
class RunBudget:
    """The number of runs.

    Attributes:
        warmup: Runs that are not counted.
        runs: Runs that are; None for as many as fit into `duration_s`, at least `MIN_RUNS`.
        duration_s: The time to measure in seconds, if `runs` is None.
    """

    warmup: int
    runs: int | None
    duration_s: float

    def share_done(self, runs: int, elapsed_s: float) -> float:
        """Return the share of the work that is done; 1 or more means all."""
        if self.runs is not None:
            return runs / self.runs
        return min(elapsed_s / self.duration_s if self.duration_s else 1.0, runs / MIN_RUNS)


def measure(run: Callable[[], object], budget: RunBudget, progress: Callable[[float], object]) -> Latencies:
    """Call a function many times, and time each call.

    Args:
        run: The function.
        budget: The number of calls.
        progress: Called between two runs with the share that is done, from 0 to 1.
    """
    for _ in range(budget.warmup):
        run()
    each_ns: list[int] = []
    began_ns = time.perf_counter_ns()
    while (done := budget.share_done(len(each_ns), (time.perf_counter_ns() - began_ns) / 1e9)) < 1:
        progress(done)
        start_ns = time.perf_counter_ns()
        run()
        each_ns.append(time.perf_counter_ns() - start_ns)
    return Latencies(each_ns)


BenchmarkProgress: TypeAlias = Callable[[str, float], object]
"""Called with a phase, `measuring` or `tracing`, and the share of it that is done, from 0 to 1."""

_LOADS = 3
"""The number of times that a program is opened and loaded; the best time counts."""
_TRACED_DIVISOR = 2
"""There are fewer runs with a tracer, by this factor."""


class _Closeable(Protocol):
    def close(self) -> None:
        """Release everything."""


CloseableT = TypeVar("CloseableT", bound=_Closeable)


def _ignore_progress(phase: str, done: float) -> None:
    """Show nothing."""


def benchmark(
    source: ProgramSource,
    resolution: Resolution | None = None,
    *,
    method: str = "forward",
    instance: str | None = None,
    inputs: Sequence[Any] | None = None,
    seed: int = 0,
    data: DataSources = (),
    executor: str | None = None,
    optimize: bool = True,
    warmup: int = 3,
    runs: int | None = None,
    duration_s: float = 2.0,
    installation: Installation | None = None,
    progress: BenchmarkProgress | None = None,
) -> BenchmarkReport:
    """Measure how fast a method of a program opens, loads and runs, and where the time goes.

    The times of operators and delegates come from further runs with a tracer, which take longer.

    Args:
        source: The path of a program, or its bytes: opening it is part of the measurement.
        resolution: The arguments; by default those of `etconfig.resolve`.
        method: The method.
        instance: The named instance, or None for the default one.
        inputs: The inputs, as for `Method.execute`; by default they are made up from `seed`.
        seed: The seed of inputs that are made up.
        data: The data files (.ptd) of the program.
        executor: `numpy`, or an installed executor plugin; by default that of the project file, else `numpy`.
        optimize: False runs every instruction as the program says.
        warmup: The number of runs that are not counted.
        runs: The number of runs; None for as many as `duration_s` allows, at least 30.
        duration_s: The time to measure in seconds, if `runs` is None.
        installation: What is installed; by default what is found from the current directory.
        progress: Called between two runs, with the phase and the share of it that is done.

    Raises:
        TypeError: `source` is not a path or bytes, but for example a loaded program.
        InvalidInputError: an input does not fit, or cannot be made up.
        EtconfigError: as `load_program`, `resolve` and `LoadedProgram.load_method` raise it.

    Example:
        >>> report = etconfig.benchmark("model.pte", runs=30)
        >>> report.runs, sorted(report.latency_ns)
        (30, ['max', 'min', 'p15', 'p50', 'p90', 'p99'])
    """
    expected = "the path of a program, or its bytes: opening it is measured, too"
    check_type("source", source, (str, os.PathLike, bytes, bytearray, memoryview), expected)
    if resolution is not None:
        check_type("resolution", resolution, Resolution, "what etconfig.resolve returns")
    show = _ignore_progress if progress is None else progress
    executor = choose_executor(installation or Installation(Path.cwd()), executor)
    open_it = partial(load_program, source, data=data, executor=executor, installation=installation)
    loaded, open_ns = _best_of(open_it)
    with loaded:
        arrays = generate_inputs(loaded.metadata(method), seed) if inputs is None else inputs
        resolution = resolve(loaded) if resolution is None else resolution
        arguments = resolution.arguments(method, instance)
        budget = RunBudget(warmup, runs, duration_s)
        loaded_method, load_ns = _best_of(partial(loaded.load_method, method, arguments, optimize=optimize))
        with loaded_method:
            latencies = measure(lambda: loaded_method.execute(arrays), budget, partial(show, "measuring"))
        is_numpy = executor == NUMPY
        is_traced = records_events(loaded.installation, executor)
        return BenchmarkReport(
            program=_program_file(source),
            method=method,
            instance=instance,
            executor=executor,
            optimize=optimize,
            profile=resolution.profile,
            fingerprint=resolution.fingerprint(),
            inputs=BenchmarkInputs(
                seed=seed if inputs is None else None, values=tuple(map(_input_form, arrays))
            ),
            open_ns=open_ns,
            load_ns=load_ns,
            warmup=warmup,
            runs=len(latencies.each_ns),
            latency_ns=latencies.quantiles_ns(),
            noise=latencies.noise,
            throughput_per_s=latencies.throughput_per_s,
            traced=_trace(loaded, arguments, optimize, arrays, budget, show) if is_traced else None,
            memory=_memory(loaded, method, is_numpy=is_numpy),
            machine=describe_machine(),
        )


def _best_of(make: Callable[[], CloseableT]) -> tuple[CloseableT, int]:
    """Call `make` several times; return the last result, and the least time in nanoseconds."""
    times_ns = []
    made = None
    for _ in range(_LOADS):
        if made is not None:
            made.close()
        start_ns = time.perf_counter_ns()
        made = make()
        times_ns.append(time.perf_counter_ns() - start_ns)
    assert made is not None
    return made, min(times_ns)


def _trace(
    loaded: LoadedProgram,
    arguments: Arguments,
    optimize: bool,
    inputs: Sequence[Any],
    budget: RunBudget,
    progress: BenchmarkProgress,
) -> TracedRuns:
    """Run again with a tracer, to see which instructions take the time, and what tracing costs."""
    tracer = RecordingTracer()
    runs = budget.runs and max(1, budget.runs // _TRACED_DIVISOR)
    shorter = RunBudget(1, runs, budget.duration_s / _TRACED_DIVISOR)
    with loaded.load_method(arguments.method, arguments, tracer=tracer, optimize=optimize) as method:
        tracer.clear()
        latencies = measure(lambda: method.execute(inputs), shorter, partial(progress, "tracing"))
    return TracedRuns(
        runs=len(latencies.each_ns),
        p50_ns=latencies.quantiles_ns()["p50"],
        instructions=instruction_times(tracer.events),
    )


def _program_file(source: ProgramSource) -> ProgramFile:
    if isinstance(source, (str, os.PathLike)):
        path, content = os.fspath(source), Path(source).read_bytes()
    else:
        assert isinstance(source, (bytes, bytearray, memoryview))  # `benchmark` has checked it
        path, content = None, bytes(source)
    return ProgramFile(path=path, size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def _input_form(value: object) -> BenchmarkInput:
    if isinstance(value, np.ndarray):
        return BenchmarkInput(dtype=value.dtype.name, shape=value.shape)
    return BenchmarkInput(value=value)


def _memory(loaded: LoadedProgram, method: str, *, is_numpy: bool) -> BenchmarkMemory:
    program = loaded.program
    planned_bytes = sum(program.plan(method).non_const_buffer_sizes[1:])
    return BenchmarkMemory(  # another executor has a plan of its own
        planned_bytes=planned_bytes if is_numpy else None,
        constant_bytes=program.constant_bytes if is_numpy else None,
        peak_rss_bytes=peak_rss_bytes(),
    )
