"""`etconfig test`: the tests of the project on each of its devices."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.base.written_files import FileKind, head_of
from etconfig.cli.shared.command_options import (
    fact_option,
    json_option,
    models_option,
    profile_options,
    programs_argument,
    sheet_options,
)
from etconfig.cli.shared.each_device import resolved_devices
from etconfig.cli.shared.files import named_as_given
from etconfig.cli.shared.input_files import expanded_sheets
from etconfig.cli.shared.output import (
    counts,
    judged,
    note,
    print_json,
    repository_names,
    show,
    show_findings,
    show_table,
)
from etconfig.cli.shared.requests import ConfigurationRequest
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import (
    OutputPath,
    check_can_write,
    check_page,
    html_option,
    note_reads,
    write_file,
)

if TYPE_CHECKING:
    from etconfig.analysis.tested_devices import TestReport, TestResult
    from etconfig.diagnostics import Diagnostic
    from etconfig.report.junit import JunitOutcome

_NAME = "etconfig test"
_JUNIT = FileKind(
    "JUnit XML of etconfig", lambda path: f'<testsuites name="{_NAME}"'.encode() in head_of(path)
)


@click.command("test", cls=StrictCommand)
@programs_argument
@models_option
@partial(sheet_options, several=True)
@click.option(
    "--devices",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, path_type=Path),
    help="Use the fact sheets in a directory. Repeatable.",
)
@profile_options
@fact_option
@click.option("--junit", metavar="FILE.xml", type=OutputPath(), help="Write the results as JUnit XML.")
@html_option
@json_option
def command(
    programs: Sequence[Path],
    sheet: Sequence[Path],
    devices: Sequence[Path],
    junit: Path | None,
    page: Path | None,
    force: bool,
    as_json: bool,
    **options: object,
) -> int:
    """Check that the project's tests hold on each of its devices.

    The tests are [[test]] of the project file: conditions on options and facts. Two more are for every
    device: that its options resolve, and that they agree with the file that `expect` names. The devices
    come from `devices` in the project file, unless others are given; without any, this one. Exits with 1
    if a test fails.

    \b
    Examples:
      etconfig test
      etconfig test model.pte --device 'google/*'
      etconfig test --devices sheets --junit results.xml --html results.html
    """
    from etconfig.analysis.tested_devices import OUTCOME_MARKS, project_expected, tests_on

    request = ConfigurationRequest(sheet=None, **options)  # type: ignore[arg-type]  # as click declares them
    if junit is not None:
        check_can_write(junit, _JUNIT)
    check_page(page)
    path = request.installation.project_path
    if path is None and not programs and request.models is None:
        raise click.UsageError(
            "there is no etconfig.toml here or above; go to the project, or name a program"
        )
    loaded = request.open_all(programs)
    installation = loaded[0].installation if loaded else request.installation
    sheets = [*dict.fromkeys((*expanded_sheets(sheet), *expanded_sheets(devices, "--devices")))]
    resolved = resolved_devices(request, loaded, sheets, or_here=True)
    expected = project_expected(installation)
    note_reads([] if expected is None else [Path(expected.document.name)])
    report = _leveled(tests_on(resolved, installation, expected, has_every_device=not sheets), path)
    problems = report.problems
    problems += [each for each in judged(report.resolution_notes) if each.is_error or counts(each)]
    if junit is not None:
        write_file(junit, _junit(report), _JUNIT)
    if page is not None:
        from etconfig.cli.rendering.findings_file import findings_page
        from etconfig.cli.shared.output import repository_names
        from etconfig.report.page.page_writer import PAGE

        view = report.each(repository_names(is_public=True))
        write_file(page, findings_page(view, problems, OUTCOME_MARKS).encode(), PAGE)
    if as_json:
        print_json(report.to_jsonable())
    else:
        show_table(report.table)
        show()
        show_findings(problems)
        (note if problems else show)(report.summary)
    return 1 if any(each.is_error for each in problems) else 0


def _leveled(report: TestReport, project: Path | None) -> TestReport:
    """Return a report whose problems have the levels of the project, and name its file from here."""
    files = [] if project is None else [Path(os.path.relpath(project))]

    def of(problems: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        return tuple(judged(named_as_given(problems, files)))

    results = [
        replace(each, problems=of(each.problems)) if each.problems else each for each in report.results
    ]
    untried = {name: found for name, each in report.untried.items() for found in of([each])}
    return replace(report, results=results, untried=untried)


def _junit(report: TestReport) -> bytes:
    """Return a case for each result; it fails if one of its problems is an error in this project."""
    from etconfig.report.junit import JunitCase, junit_xml

    return junit_xml(
        _NAME,
        [
            JunitCase(
                name=each.test,
                group=each.device,
                outcome=_junit_outcome(each),
                message=each.problems[0].message if each.problems else each.reason,
                text="\n".join(
                    f"{found}{found.full_text.removeprefix(found.message)}"
                    for found in map(repository_names(), each.problems)
                ),
            )
            for each in report.results
        ],
    )


def _junit_outcome(result: TestResult) -> JunitOutcome:
    if any(each.is_error for each in result.problems):
        return "error" if result.outcome == "undecided" else "failure"
    return "skipped" if result.outcome == "skipped" else "passed"
