"""`etconfig run`: run a method of a program."""

from __future__ import annotations

import enum
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.cli.shared.format import format_count, format_seconds
from etconfig.cli.shared.options import (
    ConfigurationRequest,
    configuration_options,
    count_from,
    data_option,
    executor_option,
    input_option,
    instance_option,
    json_option,
    locked_option,
    method_option,
    program_argument,
)
from etconfig.cli.shared.output import print_json, show
from etconfig.cli.shared.trace_file import TraceFile, trace_options
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import check_can_write, check_is_not_read
from etconfig.errors import EtconfigError

if TYPE_CHECKING:
    from etconfig.method import EffectiveOption
    from etconfig.method.method import Method


@click.command("run", cls=StrictCommand)
@program_argument
@method_option
@instance_option
@input_option
@click.option(
    "--output", type=click.Path(path_type=Path), help="Write the outputs to this .npz as out0, out1, ..."
)
@data_option
@executor_option
@click.option("--repeat", default=1, show_default=True, type=count_from(1), help="Run this many times.")
@click.option("--no-optimize", is_flag=True, help="Run every instruction as the program says.")
@trace_options
@configuration_options
@locked_option
@json_option
def command(
    program: Path,
    method: str,
    instance: str | None,
    inputs: Sequence[Path],
    output: Path | None,
    data: Sequence[Path],
    executor: str | None,
    repeat: int,
    no_optimize: bool,
    trace: TraceFile | None,
    request: ConfigurationRequest,
    as_json: bool,
) -> None:
    """Run a method of a program.

    \b
    Examples:
      etconfig run model.pte --input x.npy --output y.npz
      etconfig run model.pte --input x.npy --method embed --set ReferenceNpuBackend.core=1 --repeat 100
      etconfig run model.pte --input x.npy --trace trace.json
    """
    from etconfig.app.api import load_program
    from etconfig.app.executors import NUMPY, records_events
    from etconfig.cli.shared.arrays import read_inputs, write_outputs

    chosen = request.executor(executor)
    if trace is not None and not records_events(request.installation, chosen):
        advice = "" if executor else f"; the project file names it: give --executor {NUMPY}"
        raise click.UsageError(f"--trace: the executor {chosen} records no events{advice}")
    for path in (output, None if trace is None else trace.path):
        if path is not None:
            check_is_not_read(path, (program, *inputs, *data, request.sheet))
            check_can_write(path)
    tracer = None if trace is None else trace.tracer
    loaded = load_program(
        program, data=data, executor=chosen, installation=request.installation, tracer=tracer
    )
    arrays = read_inputs(inputs, loaded.metadata(method))  # finds mistakes before anything takes long
    resolution = request.resolve(loaded)
    arguments = resolution.arguments(method, instance)
    with loaded.load_method(method, arguments, tracer=tracer, optimize=not no_optimize) as loaded_method:
        outputs, latencies_s = _execute(loaded_method, arrays, repeat)
        effective = _describe_effective(loaded_method) if as_json else None
    if trace is not None:
        trace.write()
    if output is not None:
        write_outputs(output, outputs)
    _report(outputs, latencies_s, output, resolution.profile, effective)


def _execute(method: Method, inputs: Sequence[Any], repeat: int) -> tuple[list[Any], list[float]]:
    latencies_s = []
    for _ in range(repeat):
        start_s = time.perf_counter()
        outputs = method.execute(inputs)
        latencies_s.append(time.perf_counter() - start_s)
    return outputs, latencies_s


def _report(
    outputs: Sequence[Any],
    latencies_s: Sequence[float],
    path: Path | None,
    profile: str | None,
    effective: Mapping[str, object] | None,
) -> None:
    import statistics

    from etconfig.cli.shared.arrays import describe_output, format_output

    median_s = statistics.median(latencies_s)
    if effective is not None:
        described = [describe_output(value) for value in outputs]
        print_json(
            {
                "outputs": described,
                "output_file": None if path is None else str(path),
                "profile": profile,
                "runs": len(latencies_s),
                "latency_s": {"min": min(latencies_s), "median": median_s, "max": max(latencies_s)},
                **effective,
            }
        )
        return
    for index, value in enumerate(outputs):
        show(f"out{index}: {format_output(value)}")
    runs = format_count(len(latencies_s), "run")
    show(f"{runs}, median {format_seconds(median_s)}, profile {profile}")
    if path is not None:
        show(f"written to {path}")


def _describe_effective(method: Method) -> dict[str, object]:
    """Return the options in force as JSON values, or the reason why a backend cannot report them."""
    try:
        effective = method.effective_values()
    except EtconfigError as error:
        return {"effective_options": None, "effective_options_error": str(error)}
    described = {
        backend: {name: _plain(each) for name, each in values.items()}
        for backend, values in effective.items()
    }
    return {"effective_options": described, "effective_options_error": None}


def _plain(option: EffectiveOption) -> dict[str, object]:
    value = option.value.value if isinstance(option.value, enum.Enum) else option.value
    is_plain = value is None or isinstance(value, (bool, int, float, str))
    return {
        "value": value if is_plain else str(value),
        "is_asked": option.is_asked,
        "reason": option.reason,
    }
