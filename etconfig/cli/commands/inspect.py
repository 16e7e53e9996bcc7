"""`etconfig inspect`: show the contents of a program, and what it needs to run here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.base.number_text import format_bytes
from etconfig.cli.rendering.bundle_text import BUNDLE_SUFFIX, show_bundle
from etconfig.cli.rendering.effective_text import EffectiveView, check_no_defaults, no_defaults_option
from etconfig.cli.rendering.need_text import memory_option, print_need
from etconfig.cli.rendering.program_text import print_program
from etconfig.cli.shared.command_options import (
    backend_option,
    data_option,
    executor_option,
    json_option,
    no_models_option,
    program_argument,
)
from etconfig.cli.shared.output import print_json, show
from etconfig.cli.shared.requests import (
    ConfigurationRequest,
    configuration_options,
    executor_if_installed,
    model_of_engine,
)
from etconfig.cli.shared.usage import StrictCommand, refuse
from etconfig.cli.shared.writing import OutputPath, check_can_write, force_option, write_file
from etconfig.errors import BackendUnavailableError

if TYPE_CHECKING:
    from etconfig.analysis import ProgramReport
    from etconfig.app.configuring.engine_models import Models
    from etconfig.app.programs.loaded_program import LoadedProgram
    from etconfig.facts.sheet import FactSheet
    from etconfig.memory.need import MemoryNeed


@click.command("inspect", cls=StrictCommand)
@program_argument
@data_option
@executor_option
@click.option(
    "--memory-plan",
    "picture",
    metavar="FILE.svg|-",
    type=OutputPath(),
    help="Draw the memory plans: as a picture in a file, or as text with -.",
)
@force_option
@click.option(
    "--public-key",
    metavar="PUBLIC.pem",
    type=click.Path(path_type=Path),
    help="Verify the signature of an .etbundle file with an Ed25519 key.",
)
@click.option(
    "--effective",
    is_flag=True,
    help="Load every method, and show its options as requested and in force.",
)
@memory_option
@backend_option
@no_defaults_option
@no_models_option
@configuration_options
@json_option
def command(
    program: Path,
    data: Sequence[Path],
    executor: str | None,
    picture: Path | None,
    force: bool,
    public_key: Path | None,
    effective: bool,
    with_memory: bool,
    backend: str | None,
    no_defaults: bool,
    request: ConfigurationRequest,
    as_json: bool,
) -> None:
    """Show what a program contains and what it needs to run here.

    Shows methods with their inputs, outputs, operators, delegates and memory; constants and other data; and
    why the executor could not run a method here. For that, the plugins of the executor and of the program's
    backends are imported. For an .etbundle file, shows its profiles, conditions, options and the facts that
    it reads, or the arguments in it if these were resolved when packing; with --public-key, refuses one that
    this key did not sign.

    With --effective, loads every method with its arguments, and shows each option as requested and in force.
    With --memory, estimates the memory that all instances of the configuration need together, and compares it
    with the fact memory.available: from the program, and from what its backends declare. Nothing is loaded.
    It also takes the file of a model that an installed engine runs, such as model.onnx.

    The options of a configuration, such as --profile and --set, are for --effective and --memory.

    \b
    Examples:
      etconfig inspect model.pte
      etconfig inspect app.etbundle --public-key public.pem
      etconfig inspect model.pte --data weights.ptd
      etconfig inspect model.pte --memory-plan memory.svg
      etconfig inspect model.pte --memory
      etconfig inspect model.pte --effective --set ReferenceNpuBackend.core=1
    """
    from etconfig.analysis import inspect_program
    from etconfig.app.programs.api import load_program
    from etconfig.app.programs.executors import NUMPY

    check_no_defaults(no_defaults, effective=effective, as_json=as_json)
    if program.suffix.lower() == BUNDLE_SUFFIX:
        loading: dict[str, object] = {"--effective": effective, "--memory": with_memory}
        given = {"--data": data, "--memory-plan": picture, "--executor": executor, **loading}
        refuse(given, f"{program} is not a program")
        show_bundle(program, public_key, as_json=as_json)
        return
    refuse({"--public-key": public_key}, f"{program} is not an .etbundle")
    if not (effective or with_memory) and request.has_choices:
        raise click.UsageError("the options of a configuration are for --effective and --memory: add one")
    if backend is not None and not with_memory:
        raise click.UsageError("--backend is for --memory of an engine's model: add --memory")
    model = model_of_engine(program, request.installation, backend)
    if model is not None and not with_memory:
        raise click.UsageError(
            f"{program} is a model of an engine, not a program: add --memory to estimate it"
        )
    if model is not None:
        given = {"--data": data, "--memory-plan": picture, "--executor": executor, "--effective": effective}
        refuse(given, f"{program} is a model of an engine")
        _show_model(program, model, request, as_json=as_json)
        return
    if picture is not None:
        _check_picture(picture, as_json=as_json)
    installation = request.installation
    chosen = executor_if_installed(installation, executor)
    with load_program(program, data=data, executor=NUMPY, installation=installation) as loaded:
        report = inspect_program(loaded, executor=chosen)
        need, device = _need(loaded, request, chosen) if with_memory else (None, None)
    views = _effective_views(program, data, chosen, request) if effective else {}
    if as_json:
        in_force = {"effective": {label: view.to_jsonable() for label, view in views.items()}}
        data_of_need = {} if need is None else {"memory_need": need.to_jsonable()}
        print_json({**report.to_jsonable(), **(in_force if effective else {}), **data_of_need})
    else:
        print_program(report)
        if need is not None and device is not None:
            print_need(need, device)
        for label, view in views.items():
            show()
            view.print_table(label, no_defaults=no_defaults)
    if picture is not None:
        _show_memory(picture, report)


def _check_picture(path: Path, *, as_json: bool) -> None:
    """Check that the memory plans can be shown where `--memory-plan` says."""
    if str(path) == "-":
        if as_json:
            raise click.UsageError("--json has the memory plan as data: leave out --memory-plan -")
        return
    if path.suffix != ".svg":
        raise click.UsageError(f"--memory-plan {path}: expected a name that ends in .svg, or -")
    from etconfig.analysis.memory_picture import PICTURE

    check_can_write(path, PICTURE)


def _show_model(path: Path, model: Models, request: ConfigurationRequest, *, as_json: bool) -> None:
    """Show the memory that a model of an engine needs."""
    from etconfig.app.programs.memory_needs import need_of_programs

    resolution = request.resolve(model)
    need = need_of_programs(model, resolution)
    assert need is not None  # the file is known
    (backend,) = model.backends(model.method_names[0])
    size_bytes = path.stat().st_size
    if as_json:
        data = {"path": str(path), "size_bytes": size_bytes, "backend": backend}
        print_json({**data, "memory_need": need.to_jsonable()})
        return
    show(f"{path}: {format_bytes(size_bytes)}, run by {backend}")
    print_need(need, resolution.facts)


def _effective_views(
    program: Path, data: Sequence[Path], executor: str, request: ConfigurationRequest
) -> dict[str, EffectiveView]:
    """Return the options of every method and instance of a configuration, by label; loads each in turn."""
    from etconfig.app.programs.api import load_program

    views = {}
    with load_program(program, data=data, executor=executor, installation=request.installation) as loaded:
        for arguments in request.resolve(loaded):
            with loaded.load_method(arguments.method, arguments) as method:
                views[arguments.label] = EffectiveView.of_method(method, arguments)
    return views


def _need(
    program: LoadedProgram, request: ConfigurationRequest, executor: str
) -> tuple[MemoryNeed, FactSheet]:
    """Return the memory that the instances of a configuration need, and the device."""
    from etconfig.app.programs.memory_needs import memory_need
    from etconfig.facts.sheet import FactSheet

    try:
        resolution = request.resolve(program)
    except BackendUnavailableError:  # the need has a note about each backend of which nothing is known
        if request.has_choices:
            raise
        return memory_need(program, executor=executor), FactSheet.empty()
    return memory_need(program, resolution, executor=executor), resolution.facts


def _show_memory(path: Path, report: ProgramReport) -> None:
    from etconfig.analysis.memory_picture import PICTURE, memory_svg, memory_text

    plans = {method.name: method.memory_plan for method in report.methods}
    if str(path) == "-":
        for method, plan in plans.items():
            show()
            for line in memory_text(method, plan):
                show(line)
    else:
        write_file(path, memory_svg(plans).encode(), PICTURE)
