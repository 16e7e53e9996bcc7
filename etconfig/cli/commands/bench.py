"""`etconfig bench`: measure a model, and compare configurations of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from etconfig.base.written_files import FileKind, head_of
from etconfig.cli.shared.command_options import FiniteNumber, Share, count_from, json_option
from etconfig.cli.shared.measured_model import (
    MeasuredModelRequest,
    measured_model_options,
    measuring_progress,
)
from etconfig.cli.shared.output import print_json, show, show_diagnostics
from etconfig.cli.shared.requests import ConfigurationRequest, configuration_options, note_project
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import OutputPath, check_can_write, force_option, write_file

_INTERRUPTED = 130


@click.command("bench", cls=StrictCommand)
@measured_model_options
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
    type=Share(highest=None),
    metavar="SHARE",
    help="Exit with 1 if a configuration fails, or is certainly slower by more than this, such as 5%.",
)
@click.option("--output", type=OutputPath(), metavar="FILE.html|FILE.svg", help="Draw the intervals.")
@force_option
@configuration_options
@json_option
def command(
    model: MeasuredModelRequest,
    request: ConfigurationRequest,
    sweep: Sequence[str],
    against: Sequence[str],
    no_optimize: bool,
    pairs: int | None,
    seconds: float,
    fail_if_slower: float | None,
    output: Path | None,
    force: bool,
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
    from etconfig.measuring.compare import Effort, compare_requests
    from etconfig.measuring.measurement_requests import changed, swept

    note_project(request.installation, request.profile)
    if output is not None:
        _check_output(output)
    measured = model.find(request, optimize=not no_optimize)
    workplace, base = measured.workplace, measured.base
    try:
        others = [*swept(base, sweep), *(changed(workplace, base, each) for each in against)]
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    show_diagnostics(workplace.resolved(base).notes)
    with measuring_progress() as progress:
        report = compare_requests(
            workplace,
            base,
            others,
            inputs=measured.inputs,
            reference=measured.reference,
            effort=Effort(pairs=pairs, seconds=seconds),
            progress=progress,
            **choices,
        )
    if output is not None:
        from etconfig.measuring.picture import comparison_svg
        from etconfig.report.page.page_writer import html_page

        svg = comparison_svg(report)
        drawn = svg if output.suffix == ".svg" else html_page(report._view(), svg)
        write_file(output, drawn.encode(), _PICTURE)
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
    from etconfig.report.page.page_writer import check_can_write_pages

    if path.suffix not in (".html", ".svg"):
        raise click.BadParameter(f"expected a file that ends with .html or .svg, given {path}")
    check_can_draw()
    if path.suffix == ".html":
        check_can_write_pages()
    check_can_write(path, _PICTURE)


def _is_picture(path: Path) -> bool:
    from etconfig.measuring.picture import MARK
    from etconfig.report.page.page_writer import PAGE

    return PAGE.has(path) if path.suffix == ".html" else head_of(path).startswith(MARK.encode())


_PICTURE = FileKind("measurements that etconfig drew", _is_picture)
