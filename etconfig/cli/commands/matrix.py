"""`etconfig matrix`: what each of several devices gets, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.command_options import (
    fact_option,
    json_option,
    models_option,
    profile_options,
    programs_argument,
    sheet_options,
)
from etconfig.cli.shared.each_device import resolved_devices
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.input_files import expanded_sheets
from etconfig.cli.shared.output import (
    note,
    print_error,
    print_json,
    repository_names,
    show,
    show_diagnostics,
    show_document,
    show_escaped,
    show_findings,
)
from etconfig.cli.shared.requests import ConfigurationRequest
from etconfig.cli.shared.standard_output import terminal_width
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import OutputPath, check_can_write, force_option, write_file
from etconfig.diagnostics import on_devices

if TYPE_CHECKING:
    from etconfig.analysis import DeviceMatrix
    from etconfig.analysis.expected_matrix import MatrixDifference
    from etconfig.diagnostics import Diagnostic

_FORMATS = ("text", "json", "markdown", "html", "github", "junit")
_WIDTH, _MIN_WIDTH = 120, 60
"""The width in characters where there is no terminal, and the least one."""


@click.command("matrix", cls=StrictCommand)
@programs_argument
@models_option
@partial(sheet_options, several=True)
@profile_options
@fact_option
@click.option(
    "--memory",
    "with_memory",
    is_flag=True,
    help="Estimate the memory that the programs need on each device, beside what it has free.",
)
@click.option("--all", "every", is_flag=True, help="Show every option, not only options that differ.")
@click.option(
    "--expect",
    metavar="FILE.toml",
    type=click.Path(path_type=Path),
    help="Compare with the expected options in this file; exit with 1 if anything differs.",
)
@click.option(
    "--write-expect",
    metavar="FILE.toml",
    type=OutputPath(),
    help="Write the file for --expect.",
)
@force_option
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="text",
    show_default=True,
    help="The format: text for people, json for programs, markdown for comments on pull requests, html for "
    "a page, github for annotations in GitHub Actions, junit for results of tests.",
)
@json_option
def command(
    programs: Sequence[Path],
    sheet: Sequence[Path],
    with_memory: bool,
    every: bool,
    expect: Path | None,
    write_expect: Path | None,
    force: bool,
    form: str,
    as_json: bool,
    **options: object,
) -> int:
    """Show side by side what each of several devices gets.

    The devices come from `devices` in the project file, unless others are given. Each gets the profile
    that auto selects for it, unless --profile names one for all. Devices are called as --device names them,
    or like the files of their sheets. A sheet that is broken, or a device whose options do not resolve, is
    reported and does not stop the others. Exits with 1 if there is such a device, or if anything differs
    from --expect.

    \b
    Examples:
      etconfig matrix model.pte --facts 'sheets/*.json'
      etconfig matrix model.pte --device pixel-8 --device pi-5
      etconfig matrix model.pte --facts sheets --all --format html > devices.html
      etconfig matrix model.pte --facts sheets --memory
      etconfig matrix model.pte --facts sheets --write-expect devices.toml
      etconfig matrix model.pte --facts sheets --expect devices.toml
      etconfig matrix --models models.toml --device pixel-8 --device pi-5
    """
    if as_json and form not in ("text", "json"):
        raise click.UsageError(f"give --json or --format {form}, not both")
    if expect is not None and write_expect is not None:
        raise click.UsageError("give --expect or --write-expect, not both")
    sheets = expanded_sheets(sheet)
    request = ConfigurationRequest(sheet=None, **options)  # type: ignore[arg-type]  # as click declares them
    project = request.installation.project
    if not sheets and (project is None or not project.devices):
        raise click.UsageError("give the devices: --facts 'sheets/*.json', or --device pixel-8")
    if write_expect is not None:
        from etconfig.analysis.expected_matrix import EXPECTED

        check_can_write(write_expect, EXPECTED)
    from etconfig.analysis.device_matrix import DeviceMatrix
    from etconfig.analysis.expected_matrix import load_expected

    if expect is not None and not expect.exists():
        message = f"there is no {expect} to compare with; write it first: --write-expect {expect}"
        raise click.ClickException(message)
    expected = None if expect is None else load_expected(expect)
    devices = resolved_devices(request, request.open_all(programs), sheets, with_memory=with_memory)
    matrix = DeviceMatrix([*devices] if form == "html" else [each.result for each in devices])
    if not len(matrix):
        raise click.UsageError("give the devices: --facts 'sheets/*.json', or --device pixel-8")
    differences = None if expected is None else expected.differences(matrix)
    if write_expect is not None:
        return _write(write_expect, matrix)
    _show(matrix, differences, expect, form="json" if as_json else form, every=every)
    return 1 if differences or matrix.has_errors else 0


def _write(path: Path, matrix: DeviceMatrix) -> int:
    from etconfig.analysis.expected_matrix import EXPECTED, expected_text

    if matrix.has_errors:
        show_findings(_placed(matrix))
        print_error(f"{path} is not written: {_with_errors(matrix)}")
        return 1
    write_file(path, expected_text(matrix).encode(), EXPECTED)
    show_findings(_placed(matrix))
    count = sum(len(device.options) for device in matrix)
    devices = format_count(len(matrix), "device")
    show(f"{format_count(count, 'option')} of {devices} written to {path}", err=not path.is_file())
    return 0


def _show(
    matrix: DeviceMatrix,
    differences: Sequence[MatrixDifference] | None,
    expect: Path | None,
    *,
    form: str,
    every: bool,
) -> None:
    if form == "json":
        found = {} if differences is None else {"differences": [each.to_jsonable() for each in differences]}
        print_json({**matrix.to_jsonable(), **found})
    elif form == "github":
        _show_annotations(matrix, differences or ())
    elif form == "html":
        from etconfig.analysis.matrix_page import device_page
        from etconfig.cli.rendering.matrix_view import differences_view

        further = () if differences is None else ((differences_view(differences), ""),)
        show_document(device_page(matrix, further=further).html)
    elif form == "junit":
        from etconfig.cli.rendering.matrix_view import matrix_cases
        from etconfig.report.junit import junit_xml

        cases = matrix_cases(matrix, differences or (), repository_names(is_public=True))
        show_document(junit_xml("etconfig matrix", cases).decode())
    elif form == "markdown":
        from etconfig.cli.rendering.matrix_view import matrix_view
        from etconfig.report.markdown import markdown_text

        view = matrix_view(matrix, differences, every=every, shown=repository_names(is_public=True))
        show_document(markdown_text(view))
    elif differences is None:
        _show_text(matrix, every=every)
    if differences is not None and expect is not None:
        _show_comparison(matrix, differences, expect, in_text=form == "text")


def _show_text(matrix: DeviceMatrix, *, every: bool) -> None:
    from etconfig.cli.rendering.matrix_view import devices_text, hidden_text, options_text

    width = _width()
    show(matrix.summary)
    show_document(f"\n{devices_text(matrix, width)}")
    paths = matrix.options if every else matrix.differing
    if paths:
        show_document(f"\n{options_text(matrix, paths, width)}")
    hidden = None if every else hidden_text(matrix)
    if hidden:
        show_document(f"\n{hidden}\n")
    if matrix.problems:
        show()
        show_findings(_placed(matrix))


def _show_comparison(
    matrix: DeviceMatrix, differences: Sequence[MatrixDifference], expect: Path, *, in_text: bool
) -> None:
    """Print the differences, and how it ended: that is for people, and so on stderr beside data."""
    from etconfig.analysis.expected_matrix import mismatch_summary

    if in_text:
        from etconfig.cli.rendering.matrix_view import differences_text

        if differences:
            show_document(differences_text(differences, _width()))
        show_findings(_placed(matrix))
        if differences:
            show_findings([mismatch_summary(expect, differences)])
    elif differences:
        show_diagnostics([mismatch_summary(expect, differences)])
    if matrix.has_errors:
        print_error(_with_errors(matrix))
    elif not differences:
        (show if in_text else note)(f"{expect}: {format_count(len(matrix), 'device')} as expected")


def _show_annotations(matrix: DeviceMatrix, differences: Sequence[MatrixDifference]) -> None:
    from etconfig.diagnostics.render import render

    found = [*(each.diagnostic() for each in differences), *_placed(matrix)]
    show_escaped(render(map(repository_names(), found), "github"))


def _placed(matrix: DeviceMatrix) -> list[Diagnostic]:
    """Return each problem once, with the devices that have it."""
    return on_devices(matrix.problems, len(matrix), "on every device")


def _with_errors(matrix: DeviceMatrix) -> str:
    wrong = sum(device.has_errors for device in matrix)
    return f"{wrong:,} of {format_count(len(matrix), 'device')} {'has' if wrong == 1 else 'have'} errors"


def _width() -> int:
    return max(_MIN_WIDTH, terminal_width(_WIDTH))
