"""The model that `bench` and `tune` measure: the options that both have, and what they ask for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.base.records import record
from etconfig.cli.shared.command_options import (
    backend_option,
    data_option,
    executor_option,
    input_option,
    instance_option,
    run_program_argument,
)
from etconfig.cli.shared.completion import complete_method
from etconfig.cli.shared.input_files import standard_input
from etconfig.cli.shared.output import shows_progress
from etconfig.cli.shared.requests import ConfigurationRequest, taken_values
from etconfig.cli.shared.standard_output import command_errors

if TYPE_CHECKING:
    from etconfig.measuring.workplace import SubjectRequest, Workplace


@record(frozen=True, kw_only=True)
class MeasuredModel:
    """The model that a command measures.

    Attributes:
        workplace: The plugins and the device.
        base: The incumbent: what is configured.
        inputs: The values of `--input`; None if inputs are made up.
        reference: The outputs to compare with; None for the incumbent's outputs.
    """

    workplace: Workplace
    base: SubjectRequest
    inputs: Sequence[Any] | None
    reference: Sequence[Any] | None


@record(frozen=True, kw_only=True)
class MeasuredModelRequest:
    """The values of `measured_model_options`, which are named as these fields."""

    program: Path
    backend: str | None
    method: str | None
    instance: str | None
    inputs: Sequence[Path]
    data: Sequence[Path]
    executor: str | None
    reference: Path | None
    shapes: Sequence[str]
    on: str | None

    def find(self, request: ConfigurationRequest, *, optimize: bool = True) -> MeasuredModel:
        """Return the model, and read its inputs.

        Raises:
            click.ClickException: a file of inputs cannot be read.
            EtconfigError: as for `find_model`; inputs do not fit.
        """
        from etconfig.cli.shared.arrays import read_arrays, read_inputs
        from etconfig.measuring.input_shapes import shape_texts
        from etconfig.measuring.measurement_requests import find_model
        from etconfig.measuring.workplace import SubjectRequest, Workplace

        try:
            shapes = shape_texts(self.shapes)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        workplace = Workplace(
            installation=request.installation,
            facts=request.device.facts,
            fact_overrides=request.device.by_hand,
            overrides_name="--set",
        )
        if self.on is not None:
            workplace = _on_device(workplace, self.on, request)
        base = SubjectRequest(
            label="as configured",
            model=str(self.program),
            backend=self.backend,
            instance=self.instance,
            executor=self.executor,
            optimize=optimize,
            profile=os.fspath(standard_input()) if request.profile == "-" else request.profile,
            require_match=request.require_match,
            overrides=tuple(request.overrides),
            data=tuple(map(str, self.data)),
            shapes=shapes,
        )
        base = find_model(workplace, base, method=self.method, models=request.models)
        inputs = None
        if self.inputs and base.backend is not None:
            inputs = read_arrays(self.inputs)
        elif self.inputs:
            with workplace.open_program(base) as loaded:
                inputs = read_inputs(self.inputs, loaded.metadata(base.method))
        reference = None if self.reference is None else read_arrays([self.reference], "out")
        return MeasuredModel(workplace=workplace, base=base, inputs=inputs, reference=reference)


def _on_device(workplace: Workplace, address: str, request: ConfigurationRequest) -> Workplace:
    """Return the workplace on another device, which the end of the command lets go.

    Raises:
        click.UsageError: the address is malformed, or a sheet names a device, too.
        RemoteDeviceError: the device cannot be used.
    """
    from etconfig.measuring.remote import RemoteDevice

    if request.sheet is not None:
        raise click.UsageError("--on and --facts name two devices; give one of them")
    try:
        device = RemoteDevice(address)
    except ValueError as error:
        raise click.UsageError(f"--on: {error}") from error
    click.get_current_context().call_on_close(device.close)
    return replace(workplace, facts=device.facts(workplace.installation.fact_registry), device=device)


def measured_model_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what is measured, and on what; the command gets them as one `model`."""

    @wraps(function)
    def with_model(**parameters: Any) -> Any:
        model = MeasuredModelRequest(**taken_values(MeasuredModelRequest, parameters))
        return function(model=model, **parameters)

    options = (
        run_program_argument,
        backend_option,
        click.option(
            "--method",
            shell_complete=complete_method,
            help="The method of a program, by default forward; of an engine's model, its name in profiles.",
        ),
        instance_option,
        input_option,
        click.option(
            "--shape",
            "shapes",
            multiple=True,
            metavar="NAME=1,3,224,224",
            help="The shape of a made up input, where an engine's model leaves sizes open; else these "
            "are 1. Repeatable.",
        ),
        click.option(
            "--seed", default=0, show_default=True, help="Seed of all that is random, such as made up inputs."
        ),
        data_option,
        executor_option,
        click.option(
            "--on",
            metavar="ssh://[USER@]HOST[:PORT][/PATH]",
            help="Measure on this device, where PATH is a Python with etconfig and the plugins, or etrunner; "
            "also adb://[SERIAL]/PATH.",
        ),
        click.option(
            "--models",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="The file of models that PROGRAM names one of; by default the project file.",
        ),
        click.option(
            "--reference",
            type=click.Path(path_type=Path),
            metavar="FILE.npz",
            help="Outputs to compare with, such as of `etconfig run --output`; by default the outputs of the "
            "incumbent.",
        ),
    )
    for option in reversed(options):
        with_model = option(with_model)
    return with_model


@contextmanager
def measuring_progress() -> Iterator[Callable[[str, float], object]]:
    """Give a function that shows a label and the share that is done on stderr, if that is a terminal."""
    if not shows_progress():
        yield lambda label, done: None
        return
    with click.progressbar(length=100, file=command_errors(), show_eta=False) as bar:

        def update(label: str, done: float) -> None:
            if label != bar.label or int(100 * done) != bar.pos:  # drawing takes time
                bar.label = label
                bar.pos = int(100 * done)  # `update` takes no step back
                bar.render_progress()

        yield update
