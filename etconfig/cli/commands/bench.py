"""`etconfig bench`: measure a model, and compare configurations of it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.base.written_files import FileKind, head_of
from etconfig.cli.shared.completion import complete_method
from etconfig.cli.shared.inputs import standard_input
from etconfig.cli.shared.output import print_json, show, show_diagnostics, shows_progress
from etconfig.cli.shared.requests import (
    ConfigurationRequest,
    FiniteNumber,
    Share,
    configuration_options,
    count_from,
    data_option,
    executor_option,
    input_option,
    instance_option,
    json_option,
    run_program_argument,
)
from etconfig.cli.shared.standard_output import command_errors
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import OutputPath, check_can_write, force_option, write_file

if TYPE_CHECKING:
    from etconfig.measuring.report import ComparisonReport

_INTERRUPTED = 130


@click.command("bench", cls=StrictCommand)
@run_program_argument
@click.option("--backend", metavar="ID", help="The engine that runs a model, if several installed ones do.")
@click.option(
    "--method",
    shell_complete=complete_method,
    help="The method of a program, by default forward; of an engine's model, its name in profiles.",
)
@instance_option
@input_option
@click.option("--seed", default=0, show_default=True, help="Seed of the inputs that are made up.")
@data_option
@executor_option
@click.option("--no-optimize", is_flag=True, help="Run every instruction as the program says.")
@click.option(
    "--sweep",
    multiple=True,
    metavar="PATH=V1,V2",
    help="Measure these values of an option; executor.NAME is an option of the executor. Repeatable: all "
    "combinations.",
)
@click.option(
    "--against",
    multiple=True,
    metavar="'KEY=VALUE ...'",
    help="Measure another configuration: option paths, and model, backend, profile, instance or executor. "
    "Repeatable.",
)
@click.option(
    "--reference",
    type=click.Path(path_type=Path),
    metavar="FILE.npz",
    help="Outputs to compare with, such as of `etconfig run --output`; by default those of the incumbent.",
)
@click.option(
    "--pairs", type=count_from(6), help="Pairs for each configuration; by default as many as --time allows."
)
@click.option(
    "--time",
    "seconds",
    default=0.4,
    show_default=True,
    metavar="SECONDS",
    type=FiniteNumber(),
    help="How long to measure each configuration, unless --pairs is given.",
)
@click.option("--processes", "own_processes", is_flag=True, help="Give each configuration its own process.")
@click.option(
    "--fail-if-slower",
    type=Share(highest=math.inf),
    metavar="SHARE",
    help="Exit with 1 if a configuration fails, or is certainly slower by more than this, such as 5%.",
)
@click.option("--output", type=OutputPath(), metavar="FILE.html|FILE.svg", help="Draw the intervals.")
@force_option
@click.option(
    "--models",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The file of models that PROGRAM names one of; by default the project file.",
)
@configuration_options
@json_option
def command(
    program: Path,
    inputs: Sequence[Path],
    reference: Path | None,
    fail_if_slower: float | None,
    output: Path | None,
    force: bool,
    request: ConfigurationRequest,
    as_json: bool,
    **choices: Any,
) -> int:
    """Measure a model, and compare configurations of it.

    PROGRAM is a program, a model that an installed engine runs, or a name of the models file. Each
    configuration runs in turns with the incumbent: what --profile and --set resolve to. Two equal objects
    are measured first, which is the noise floor. Without --input, inputs are made up.

    \b
    Examples:
      etconfig bench model.pte
      etconfig bench model.pte --sweep ReferenceCpuBackend.num_threads=1,2
      etconfig bench model.pte --against 'ReferenceNpuBackend.core=1' --fail-if-slower 5%
    """
    from etconfig.cli.rendering.comparison_text import print_comparison

    if output is not None:
        _check_output(output)
    with _progress_bar() as progress:
        report = _compare(program, inputs, reference, request, progress, **choices)
    if output is not None:
        from etconfig.measuring.picture import comparison_html, comparison_svg

        draw = comparison_svg if output.suffix == ".svg" else comparison_html
        write_file(output, draw(report).encode(), _PICTURE)
    if as_json:
        print_json(report.to_jsonable())
    else:
        print_comparison(report)
        if output is not None:
            show(f"drawn in {output}")
    if report.is_interrupted:
        return _INTERRUPTED
    return int(fail_if_slower is not None and bool(report.slower_than(fail_if_slower)))


def _check_output(path: Path) -> None:
    from etconfig.measuring.picture import check_can_draw

    if path.suffix not in (".html", ".svg"):
        raise click.BadParameter(f"expected a file that ends with .html or .svg, given {path}")
    check_can_draw()
    check_can_write(path, _PICTURE)


def _is_picture(path: Path) -> bool:
    from etconfig.measuring.picture import MARK

    return head_of(path).startswith(MARK.encode())


_PICTURE = FileKind("measurements that etconfig drew", _is_picture)


def _compare(
    model: Path,
    inputs: Sequence[Path],
    reference: Path | None,
    request: ConfigurationRequest,
    progress: Callable[[str, float], object],
    *,
    sweep: Sequence[str],
    against: Sequence[str],
    method: str | None,
    seed: int,
    pairs: int | None,
    seconds: float,
    own_processes: bool,
    no_optimize: bool,
    **choices: Any,
) -> ComparisonReport:
    from etconfig.cli.shared.arrays import read_arrays, read_inputs
    from etconfig.measuring.compare import Effort, compare_requests
    from etconfig.measuring.requests import changed, find_model, swept
    from etconfig.measuring.workplace import SubjectRequest, Workplace

    device = request.device
    workplace = Workplace(
        installation=request.installation,
        facts=device.facts,
        fact_overrides=device.by_hand,
        overrides_name="--set",
    )
    choices["data"] = tuple(map(str, choices["data"]))
    base = SubjectRequest(
        label="as configured",
        model=str(model),
        optimize=not no_optimize,
        profile=os.fspath(standard_input()) if request.profile == "-" else request.profile,
        require_match=request.require_match,
        overrides=tuple(request.overrides),
        **choices,
    )
    base = find_model(workplace, str(model), base, method=method, models=request.models)
    try:
        others = [*swept(base, sweep), *(changed(workplace, base, each) for each in against)]
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    show_diagnostics(workplace.resolved(base).warnings)
    arrays = None
    if inputs and base.backend is not None:
        arrays = read_arrays(inputs)
    elif inputs:
        with workplace.open_program(base) as loaded:
            arrays = read_inputs(inputs, loaded.metadata(base.method))
    return compare_requests(
        workplace,
        base,
        others,
        inputs=arrays,
        seed=seed,
        reference=None if reference is None else read_arrays([reference], "out"),
        effort=Effort(pairs=pairs, seconds=seconds),
        own_processes=own_processes,
        progress=progress,
    )


@contextmanager
def _progress_bar() -> Iterator[Callable[[str, float], object]]:
    """Give a function that shows a bar with a label on stderr, if that is a terminal."""
    if not shows_progress():
        yield lambda label, done: None
        return
    with click.progressbar(length=100, file=command_errors()) as bar:

        def update(label: str, done: float) -> None:
            bar.label = label
            if int(100 * done) > bar.pos:  # drawing takes time: once for each percent
                bar.update(int(100 * done) - bar.pos)

        yield update
