"""`etconfig run`: run a method of a program, or several that share their state."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.base.number_text import format_seconds
from etconfig.base.records import record
from etconfig.cli.rendering.effective_text import EffectiveView, check_no_defaults, no_defaults_option
from etconfig.cli.shared.command_options import (
    count_from,
    data_option,
    executor_option,
    json_option,
    locked_option,
    no_models_option,
    run_program_argument,
)
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.method_steps import MethodStep, read_steps, step_options
from etconfig.cli.shared.output import print_json, show
from etconfig.cli.shared.requests import ConfigurationRequest, configuration_options, note_project
from etconfig.cli.shared.trace_file import TRACE, TraceFile, trace_options
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import OutputPath, check_can_write, force_option

if TYPE_CHECKING:
    from etconfig.method.method import Method
    from etconfig.resolver.deciding.arguments import Arguments
    from etconfig.resolver.deciding.resolution import Resolution


@click.command("run", cls=StrictCommand)
@run_program_argument
@step_options[0]
@step_options[1]
@step_options[2]
@click.option("--output", type=OutputPath(), help="Write the outputs to this .npz as out0, out1, ...")
@force_option
@data_option
@executor_option
@click.option("--repeat", default=1, show_default=True, type=count_from(1), help="Run this many times.")
@click.option("--effective", is_flag=True, help="Print every option as requested and in force.")
@no_defaults_option
@click.option("--no-optimize", is_flag=True, help="Run every instruction as the program says.")
@trace_options
@no_models_option
@configuration_options
@locked_option
@json_option
def command(
    program: Path,
    method: Sequence[str],
    instance: Sequence[str],
    inputs: Sequence[Path],
    output: Path | None,
    force: bool,
    data: Sequence[Path],
    executor: str | None,
    repeat: int,
    effective: bool,
    no_defaults: bool,
    no_optimize: bool,
    trace: TraceFile | None,
    request: ConfigurationRequest,
    as_json: bool,
) -> None:
    """Run a method of a program.

    Several methods run in order and share their state, such as a key-value cache. --input and --instance
    belong to the --method before them, and --output gets the outputs of the last one. An option that has
    another value in force than the requested one is reported.

    \b
    Examples:
      etconfig run model.pte --input x.npy --output y.npz
      etconfig run model.pte --input x.npy --method embed --set ReferenceNpuBackend.core=1 --repeat 100
      etconfig run model.pte --input x.npy --trace trace.json
      etconfig run llm.pte --method prefill --input prompt.npz --method decode --input token.npz
    """
    from etconfig.app.programs.api import load_program
    from etconfig.cli.shared.arrays import OUTPUTS, read_inputs, write_outputs

    check_no_defaults(no_defaults, effective=effective, as_json=as_json)
    steps = read_steps(method, instance, inputs)
    if repeat > 1 and len(steps) > 1:
        raise click.UsageError("--repeat is for one method; repeat --method for each execute")
    chosen = request.executor(executor)
    note_project(request.installation, request.profile)
    if output is not None:
        check_can_write(output, OUTPUTS)
    if trace is not None:
        _check_trace(trace, request, chosen, is_named=executor is not None)
    tracer = None if trace is None else trace.tracer
    loaded = load_program(
        program,
        data=data,
        executor=chosen,
        installation=request.installation,
        tracer=tracer,
        share_memory_arenas=len(steps) > 1,
    )
    # finds mistakes before anything takes long
    arrays = [read_inputs(step.inputs, loaded.metadata(step.method)) for step in steps]
    resolution = request.resolve(loaded)
    load = partial(loaded.load_method, tracer=tracer, optimize=not no_optimize)
    runs, views = _run_steps(steps, arrays, resolution, load, repeat)
    if trace is not None:
        trace.write()
    if output is not None:
        write_outputs(output, runs[-1].outputs)
    if as_json:
        described = [views[step.label].to_jsonable() for step in steps]
        _print_json(runs, output, resolution.profile, described)
        return
    _report(runs, output, resolution.profile)
    for label, view in views.items():
        if effective:
            view.print_table(label, no_defaults=no_defaults)
        else:
            view.print_differences(label)


def _check_trace(trace: TraceFile, request: ConfigurationRequest, chosen: str, *, is_named: bool) -> None:
    from etconfig.app.programs.executors import NUMPY, records_events

    if not records_events(request.installation, chosen):
        advice = "" if is_named else f"; the project file names it: give --executor {NUMPY}"
        raise click.UsageError(f"--trace: the executor {chosen} records no events{advice}")
    check_can_write(trace.path, TRACE)


@record(frozen=True, kw_only=True)
class _Run:
    """The executes of a step: the outputs of the last one, and the times of all."""

    step: MethodStep
    outputs: Sequence[Any]
    latencies_s: Sequence[float]

    @property
    def median_s(self) -> float:
        import statistics  # takes 6 ms

        return statistics.median(self.latencies_s)


def _run_steps(
    steps: Sequence[MethodStep],
    arrays: Sequence[Sequence[Any]],
    resolution: Resolution,
    load: Callable[[str, Arguments], Method],
    repeat: int,
) -> tuple[list[_Run], dict[str, EffectiveView]]:
    """Run the steps in order; return their outputs, and the options of each method by its label."""
    with ExitStack() as stack:
        methods: dict[str, Method] = {}
        given: dict[str, Arguments] = {}
        for step in steps:  # all first: loading writes the initial state
            if step.label not in methods:
                given[step.label] = resolution.arguments(step.method, step.instance)
                methods[step.label] = stack.enter_context(load(step.method, given[step.label]))
        runs = [
            _execute(step, methods[step.label], values, repeat)
            for step, values in zip(steps, arrays, strict=True)
        ]
        return runs, {label: EffectiveView.of_method(each, given[label]) for label, each in methods.items()}


def _execute(step: MethodStep, method: Method, inputs: Sequence[Any], repeat: int) -> _Run:
    latencies_s = []
    for _ in range(repeat):
        start_s = time.perf_counter()
        outputs = method.execute(inputs)
        latencies_s.append(time.perf_counter() - start_s)
    return _Run(step=step, outputs=outputs, latencies_s=latencies_s)


def _print_json(
    runs: Sequence[_Run], path: Path | None, profile: str | None, effective: Sequence[Mapping[str, object]]
) -> None:
    described = [_describe(run, each) for run, each in zip(runs, effective, strict=True)]
    whole = {"output_file": None if path is None else str(path), "profile": profile}
    if len(runs) == 1:
        print_json({**described[0], **whole})
        return
    labels = ({"method": run.step.method, "instance": run.step.instance} for run in runs)
    print_json({"steps": [{**label, **each} for label, each in zip(labels, described, strict=True)], **whole})


def _describe(run: _Run, effective: Mapping[str, object]) -> dict[str, object]:
    from etconfig.cli.shared.arrays import describe_output

    times = run.latencies_s
    return {
        "outputs": [describe_output(value) for value in run.outputs],
        "runs": len(times),
        "latency_s": {"min": min(times), "median": run.median_s, "max": max(times)},
        **effective,
    }


def _report(runs: Sequence[_Run], path: Path | None, profile: str | None) -> None:
    from etconfig.cli.shared.arrays import format_output

    for run in runs:
        label = f"{run.step.label} " if len(runs) > 1 else ""
        for index, value in enumerate(run.outputs):
            show(f"{label}out{index}: {format_output(value)}")
    if len(runs) == 1:
        count = format_count(len(runs[0].latencies_s), "run")
        show(f"{count}, median {format_seconds(runs[0].median_s)}, profile {profile}")
    else:
        total_s = sum(run.median_s for run in runs)
        show(f"{len(runs)} methods in order, {format_seconds(total_s)}, profile {profile}")
    if path is not None:
        show(f"written to {path}")
