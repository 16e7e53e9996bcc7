"""`etconfig report`: what each device gets, and why, as one page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from etconfig.cli.shared.command_options import (
    fact_option,
    models_option,
    profile_options,
    programs_argument,
    sheet_options,
)
from etconfig.cli.shared.each_device import resolved_devices
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.input_files import expanded_sheets
from etconfig.cli.shared.output import judged, show
from etconfig.cli.shared.requests import ConfigurationRequest
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import OutputPath, check_can_write, force_option, note_reads, write_file


@click.command("report", cls=StrictCommand)
@programs_argument
@models_option
@partial(sheet_options, several=True)
@profile_options
@fact_option
@click.option(
    "--bench",
    "measurements",
    metavar="FILE.json",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Add what `bench --json` or `tune --json` printed, or a study of `tune`. Repeatable.",
)
@click.option("--output", metavar="FILE.html", type=OutputPath(), required=True, help="The page to write.")
@force_option
def command(
    programs: Sequence[Path],
    sheet: Sequence[Path],
    measurements: Sequence[Path],
    output: Path,
    force: bool,
    **options: object,
) -> int:
    """Write a page that shows what each device gets, and why.

    The page has the profile of each device and the reasons for it, the sources of every option, a table of
    options and devices, problems, tests, memory, evidence and the programs. It needs no network, has a dark
    and a light form, and can be printed. The devices come from the project file, unless others are given;
    without any, this one. Exits with 1 if a device gets no options; the page says why. Needs the extra
    `report`.

    \b
    Examples:
      etconfig report model.pte --output report.html
      etconfig report model.pte --facts 'sheets/*.json' --output report.html
      etconfig report model.pte --device pi-5 --bench bench.json --output report.html
    """
    from etconfig.analysis.device_matrix import DeviceMatrix
    from etconfig.analysis.inspection import inspect_program
    from etconfig.analysis.matrix_page import device_page
    from etconfig.analysis.tested_devices import project_expected, tests_on
    from etconfig.app.programs.loaded_program import LoadedProgram
    from etconfig.measuring.saved_measurements import read_measurements
    from etconfig.report.page.page_writer import PAGE, check_can_write_pages

    check_can_write_pages()
    sheets = expanded_sheets(sheet)
    note_reads([*sheets, *measurements])
    check_can_write(output, PAGE)
    request = ConfigurationRequest(sheet=None, **options)  # type: ignore[arg-type]  # as click declares them
    further = [read_measurements(path) for path in measurements]
    loaded = request.open_all(programs)
    matrix = DeviceMatrix([*resolved_devices(request, loaded, sheets, with_memory=True, or_here=True)])
    installation = loaded[0].installation if loaded else request.installation
    expected = project_expected(installation)
    note_reads([] if expected is None else [Path(expected.document.name)])
    tests = tests_on(matrix, installation, expected, has_every_device=not sheets)
    inspected = [inspect_program(each) for each in loaded if isinstance(each, LoadedProgram)]
    page = device_page(matrix, tests=tests, further=further, programs=inspected)
    write_file(output, page.html.encode(), PAGE)
    judged([*matrix.problems, *tests.problems])  # for the exit status
    show(f"{format_count(len(matrix), 'device')} shown in {output}", err=not output.is_file())
    return 1 if matrix.has_errors else 0
