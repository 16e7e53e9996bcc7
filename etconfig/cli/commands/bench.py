"""`etconfig bench`: measure how fast a method of a program runs."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from etconfig.cli.shared.options import (
    ConfigurationRequest,
    configuration_options,
    count_from,
    data_option,
    executor_option,
    input_option,
    instance_option,
    json_option,
    method_option,
    program_argument,
)
from etconfig.cli.shared.output import print_json

if TYPE_CHECKING:
    from etconfig.app.loaded_program import LoadedProgram
    from etconfig.cli.bench.measuring import Budget
    from etconfig.resolver import Arguments


class _Closeable(Protocol):
    def close(self) -> None:
        """Let go of everything."""


CloseableT = TypeVar("CloseableT", bound=_Closeable)

_LOADS = 3
"""How often a program is opened and loaded; the best time counts."""
_TRACED_DIVISOR = 2
"""The runs with a tracer, for the table, are fewer by this factor."""


@click.command("bench")
@program_argument
@method_option
@instance_option
@input_option
@click.option("--seed", default=0, show_default=True, help="Of the inputs that are made up without --input.")
@data_option
@executor_option
@click.option("--no-optimize", is_flag=True, help="Run every instruction as the program says.")
@click.option("--warmup", default=3, show_default=True, type=count_from(0), help="Runs that do not count.")
@click.option("--runs", type=count_from(1), help="Runs that do; without it, as many as --time allows, or 30.")
@click.option(
    "--time",
    "seconds",
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    help="How long to measure, unless --runs says how often.",
)
@click.option(
    "--compare",
    "earlier",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="Compare with what an earlier --json printed.",
)
@configuration_options
@json_option
def command(
    program: Path,
    method: str,
    instance: str | None,
    inputs: Sequence[Path],
    seed: int,
    data: Sequence[Path],
    executor: str,
    no_optimize: bool,
    warmup: int,
    runs: int | None,
    seconds: float,
    earlier: Path | None,
    request: ConfigurationRequest,
    as_json: bool,
) -> None:
    """Measure how fast a method of a program runs.

    Tells the time to load, the latencies of many runs, which operators and delegates take the time, and the
    memory. Without --input, inputs of the right shapes are made up. The table comes from further runs with a
    tracer, which take a little longer.

    \b
    Examples:
      etconfig bench model.pte
      etconfig bench model.pte --input x.npy --runs 100 --json > bench.json
      etconfig bench model.pte --runs 100 --compare bench.json --set ReferenceNpuBackend.core=1
    """
    from etconfig.app.api import NUMPY, load_program
    from etconfig.cli.bench.comparison import REPORT_VERSION, compare, read_report
    from etconfig.cli.bench.measuring import Budget, measure
    from etconfig.cli.bench.text import print_report
    from etconfig.cli.shared.arrays import generate_inputs, read_inputs
    from etconfig.cli.shared.machine import describe_surroundings, peak_rss_bytes

    old = None if earlier is None else read_report(earlier)
    installation = request.installation
    loaded, open_s = _best(
        lambda: load_program(program, data=data, executor=executor, installation=installation)
    )
    meta = loaded.metadata(method)
    arrays = read_inputs(inputs, meta) if inputs else generate_inputs(meta, seed)
    resolution = request.resolve(loaded)
    arguments = resolution.arguments(method, instance)
    budget = Budget(warmup, runs, seconds)
    optimize = not no_optimize
    loaded_method, load_s = _best(lambda: loaded.load_method(method, arguments, optimize=optimize))
    with loaded_method, _progress("measuring") as show:
        latencies = measure(lambda: loaded_method.execute(arrays), budget, show)
    report = {
        "etconfig_bench": REPORT_VERSION,
        "program": _describe_file(program),
        "method": method,
        "instance": instance,
        "executor": executor,
        "optimize": optimize,
        "profile": resolution.profile,
        "arguments": resolution.fingerprint(),
        "inputs": _describe_inputs(inputs, seed, arrays),
        "load_s": {"open": open_s, "load": load_s},
        "warmup": warmup,
        "runs": len(latencies.seconds),
        "latency_s": latencies.quantiles(),
        "noise": latencies.noise,
        "throughput_per_s": latencies.throughput_per_s,
        "traced": _trace(loaded, arguments, optimize, arrays, budget) if executor == NUMPY else None,
        "memory": {
            # another executor has a plan of its own
            **(_planned_memory(loaded, method) if executor == NUMPY else {}),
            "peak_rss_bytes": peak_rss_bytes(),
        },
        "environment": describe_surroundings(),
    }
    if old is not None:
        report["comparison"] = compare(old, report)
    if as_json:
        print_json(report)
    else:
        print_report(report, earlier)


def _best(make: Callable[[], CloseableT]) -> tuple[CloseableT, float]:
    """What `make` gives, and the least time that it took; what it gave before is closed."""
    times_s = []
    made = None
    for _ in range(_LOADS):
        if made is not None:
            made.close()
        start_s = time.perf_counter()
        made = make()
        times_s.append(time.perf_counter() - start_s)
    assert made is not None
    return made, min(times_s)


@contextmanager
def _progress(label: str) -> Iterator[Callable[[float], None]]:
    """Shows on stderr, if that is a terminal, how much is done; only when another percent is."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    with click.progressbar(length=100, label=label, file=sys.stderr) as bar:

        def show(done: float) -> None:
            if int(100 * done) > bar.pos:
                bar.update(int(100 * done) - bar.pos)

        yield show


def _trace(
    loaded: LoadedProgram, arguments: Arguments, optimize: bool, inputs: Sequence[Any], budget: Budget
) -> dict[str, Any]:
    """Run again with a tracer: which instructions take the time, and what tracing costs."""
    from etconfig.cli.bench.measuring import Budget, instruction_table, measure
    from etconfig.tracing import RecordingTracer

    tracer = RecordingTracer()
    shorter = Budget(
        1, budget.runs and max(1, budget.runs // _TRACED_DIVISOR), budget.seconds / _TRACED_DIVISOR
    )
    with (
        loaded.load_method(arguments.method, arguments, tracer=tracer, optimize=optimize) as method,
        _progress("tracing") as show,
    ):
        tracer.clear()
        latencies = measure(lambda: method.execute(inputs), shorter, show)
    return {
        "runs": len(latencies.seconds),
        "p50": latencies.quantiles()["p50"],
        "instructions": instruction_table(tracer.events),
    }


def _describe_file(program: Path) -> dict[str, Any]:
    data = program.read_bytes()
    return {
        "path": str(program),
        "size_bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def _describe_inputs(paths: Sequence[Path], seed: int, arrays: Sequence[Any]) -> dict[str, Any]:
    from etconfig.cli.shared.arrays import describe_output

    files = [str(path) for path in paths]
    described = [describe_output(array) for array in arrays]
    return {"files": files, "seed": None if files else seed, "values": described}


def _planned_memory(loaded: LoadedProgram, method: str) -> dict[str, int]:
    program = loaded.program
    return {
        "planned_bytes": sum(program.plan(method).non_const_buffer_sizes[1:]),
        "constant_bytes": program.constant_bytes,
    }
