"""`etconfig bench`: measure how fast a method of a program runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.cli.shared.output import print_json, shows_progress
from etconfig.cli.shared.requests import (
    ConfigurationRequest,
    FiniteNumber,
    configuration_options,
    count_from,
    data_option,
    executor_option,
    input_option,
    instance_option,
    json_option,
    method_option,
    no_models_option,
    run_program_argument,
)
from etconfig.cli.shared.standard_output import command_errors
from etconfig.cli.shared.usage import StrictCommand

if TYPE_CHECKING:
    from etconfig.analysis import BenchmarkReport


@click.command("bench", cls=StrictCommand)
@run_program_argument
@method_option
@instance_option
@input_option
@click.option("--seed", default=0, show_default=True, help="Seed of the inputs that are made up.")
@data_option
@executor_option
@click.option("--no-optimize", is_flag=True, help="Run every instruction as the program says.")
@click.option(
    "--warmup", default=3, show_default=True, type=count_from(0), help="Runs before the measurement."
)
@click.option(
    "--runs", type=count_from(1), help="Runs to measure; by default as many as --time allows, at least 30."
)
@click.option(
    "--time",
    "seconds",
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    type=FiniteNumber(),
    help="How long to measure, unless --runs is given.",
)
@click.option(
    "--compare",
    "earlier",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="Compare with a report that an earlier --json printed.",
)
@no_models_option
@configuration_options
@json_option
def command(
    program: Path,
    method: str,
    instance: str | None,
    inputs: Sequence[Path],
    seed: int,
    data: Sequence[Path],
    executor: str | None,
    no_optimize: bool,
    warmup: int,
    runs: int | None,
    seconds: float,
    earlier: Path | None,
    request: ConfigurationRequest,
    as_json: bool,
) -> None:
    """Measure how fast a method of a program runs.

    Reports the time to open and load, the latencies of many runs, the time of each operator and delegate, and
    the memory. Without --input, inputs of the right shapes are made up. The table comes from further runs
    with a tracer, which take a little longer.

    \b
    Examples:
      etconfig bench model.pte
      etconfig bench model.pte --input x.npy --runs 100 --json > bench.json
      etconfig bench model.pte --runs 100 --compare bench.json --set ReferenceNpuBackend.core=1
    """
    from etconfig.analysis import benchmark, compare_benchmarks
    from etconfig.app.programs.api import load_program
    from etconfig.cli.rendering.benchmark_text import print_benchmark, print_comparison
    from etconfig.cli.shared.arrays import read_inputs

    old = None if earlier is None else _read_report(earlier)
    installation, chosen = request.installation, request.executor(executor)
    with load_program(program, data=data, executor=chosen, installation=installation) as loaded:
        meta = loaded.metadata(method)
        arrays = read_inputs(inputs, meta) if inputs else None
        resolution = request.resolve(loaded)
    with _progress_bars() as show:
        report = benchmark(
            program,
            resolution,
            method=method,
            instance=instance,
            inputs=arrays,
            seed=seed,
            data=data,
            executor=chosen,
            optimize=not no_optimize,
            warmup=warmup,
            runs=runs,
            duration_s=seconds,
            installation=installation,
            progress=show,
        )
    report = replace(report, inputs=replace(report.inputs, files=tuple(map(str, inputs))))
    comparison = None if old is None else compare_benchmarks(old, report)
    if as_json:
        compared = {} if comparison is None else {"comparison": comparison.to_jsonable()}
        print_json({**report.to_jsonable(), **compared})
        return
    print_benchmark(report)
    if comparison is not None and earlier is not None:
        print_comparison(comparison, earlier)


def _read_report(path: Path) -> BenchmarkReport:
    from etconfig.analysis import load_benchmark

    try:
        return load_benchmark(path)
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def _progress_bars() -> Iterator[Callable[[str, float], object]]:
    """Give a function that shows a bar for each phase on stderr, if that is a terminal."""
    if not shows_progress():
        yield lambda phase, done: None
        return
    with ExitStack() as shown:
        bars: dict[str, Any] = {}

        def show(phase: str, done: float) -> None:
            if phase not in bars:
                shown.close()  # the bar of the phase before
                bars[phase] = shown.enter_context(
                    click.progressbar(length=100, label=phase, file=command_errors())
                )
            bar = bars[phase]
            if int(100 * done) > bar.pos:  # drawing takes time: once for each percent
                bar.update(int(100 * done) - bar.pos)

        yield show
