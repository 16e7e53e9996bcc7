"""`etconfig conformance`: check that a backend keeps the contract and does what it declares."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from etconfig.base.written_files import FileKind, RefusedFileError
from etconfig.cli.shared.command_options import json_option
from etconfig.cli.shared.completion import complete_backend, complete_check
from etconfig.cli.shared.output import print_json, print_table, show
from etconfig.cli.shared.usage import StrictCommand, given_parameters
from etconfig.cli.shared.writing import (
    OutputPath,
    check_can_write,
    files_of_command,
    force_option,
    refused_write,
    write_file,
)
from etconfig.conformance.kit.outcomes import KIT, LEVELS

if TYPE_CHECKING:
    from etconfig.conformance.checks.check import Check
    from etconfig.conformance.kit.kit_settings import Settings
    from etconfig.conformance.kit.outcomes import Result
    from etconfig.conformance.runner.kit_report import Report

_LINE = 100


def _report_path(context: click.Context, parameter: click.Parameter, paths: Sequence[Path]) -> Sequence[Path]:
    for path in paths:
        if path.suffix not in _FORMATS:
            raise click.BadParameter(f"{path} must end in {', '.join(_FORMATS)}", context, parameter)
    return paths


@click.command("conformance", cls=StrictCommand)
@click.argument("backend", required=False, shell_complete=complete_backend)
@click.option(
    "--level",
    type=click.IntRange(min(LEVELS), max(LEVELS)),
    default=max(LEVELS),
    show_default=True,
    help=f"The level to reach, {min(LEVELS)} to {max(LEVELS)}.",
)
@click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="CHECK",
    shell_complete=complete_check,
    help="Run only this check, after the checks that it rests on. Repeatable.",
)
@click.option(
    "--kit",
    default=KIT,
    metavar="1.N",
    help="The version of the kit; checks that are newer only advise.",
)
@click.option(
    "--xfails",
    type=click.Path(path_type=Path),
    help="A file of expected failures, with lines CHECK # REASON.",
)
@click.option(
    "--programs",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A directory of golden programs, instead of the plugin's.",
)
@click.option(
    "--executor", default="numpy", show_default=True, help="The executor: numpy, or one of a plugin."
)
@click.option(
    "--report",
    "reports",
    multiple=True,
    type=OutputPath(),
    callback=_report_path,
    help="Write a report: .json, .xml (JUnit), .html or .svg (a badge). Repeatable.",
)
@click.option(
    "--lower",
    metavar="DIRECTORY",
    type=OutputPath(is_directory=True),
    help="Write golden programs with the plugin's ahead-of-time half; check nothing.",
)
@force_option
@click.option("--list", "lists", is_flag=True, help="List all checks; check nothing.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    backend: str | None,
    level: int,
    checks: Sequence[str],
    kit: str,
    xfails: Path | None,
    programs: Path | None,
    executor: str,
    reports: Sequence[Path],
    lower: Path | None,
    force: bool,
    lists: bool,
    as_json: bool,
) -> None:
    """Check a backend against the contract and its own claims.

    Levels: 0 loads, 1 runs, 2 isolates and survives, 3 does everything it declares. Exits with 1
    if the level is not reached. Project files and environment variables of etconfig are ignored.

    \b
    Examples:
      etconfig conformance ReferenceCpuBackend
      etconfig conformance ReferenceNpuBackend --level 0 --report badge.svg
      etconfig conformance --list
    """
    if lists:
        _refuse_others(context, "--list", {"lists", "as_json"})
        _list_checks(as_json)
        return
    if backend is None:
        raise click.UsageError("name a backend; `etconfig backends` lists those that are installed", context)
    _check_selection(context, checks, reports)
    settings = _settings(backend, level, kit, executor, programs, checks)
    if lower is not None:
        _refuse_others(context, "--lower", {"lower", "backend", "force"})
        _lower(settings, lower)
        return
    expected = _expected_failures(xfails)
    for path in reports:
        if path.suffix == ".html":
            from etconfig.report.page.page_writer import check_can_write_pages

            check_can_write_pages()
        check_can_write(path, REPORT)
    report = _run(settings, expected, is_silent=as_json)
    if as_json:
        print_json(report.to_jsonable())
    for path in reports:
        write_file(path, _rendered(report, path.suffix), REPORT)
    if not report.passed:
        context.exit(1)


def _refuse_others(context: click.Context, mode: str, used: Collection[str]) -> None:
    """Refuse options that have no effect if nothing is checked. Raises UsageError."""
    for parameter in given_parameters(context):
        if parameter.name not in used:
            option = parameter.get_error_hint(context)
            raise click.UsageError(f"{mode} checks nothing, so {option} has no effect; leave it out", context)


def _check_selection(context: click.Context, checks: Sequence[str], reports: Sequence[Path]) -> None:
    """Refuse options that need all checks of a level if only some are run. Raises UsageError."""
    if not checks:
        return
    if context.get_parameter_source("level") is ParameterSource.COMMANDLINE:
        raise click.UsageError(
            "--check names the checks to run, so --level has no effect; leave it out", context
        )
    for path in reports:
        if path.suffix == ".svg":
            raise click.UsageError(
                f"a badge states a level, which needs all checks; leave out --check, or --report {path}",
                context,
            )


def _settings(
    backend: str, level: int, kit: str, executor: str, programs: Path | None, checks: Sequence[str]
) -> Settings:
    from etconfig.conformance.kit.kit_settings import Settings

    try:
        return Settings(
            backend=backend,
            level=level,
            kit=kit,
            executor=executor,
            programs=None if programs is None else str(programs.resolve()),
            checks=tuple(dict.fromkeys(checks)),
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _expected_failures(path: Path | None) -> Mapping[str, str]:
    from etconfig.conformance.checks.check_catalog import all_checks
    from etconfig.conformance.runner.xfails import XfailsError, read_xfails

    if path is None:
        return {}
    try:
        return read_xfails(path, [check.id for check in all_checks()])
    except XfailsError as error:
        raise click.ClickException(str(error)) from error


def _run(settings: Settings, xfails: Mapping[str, str], *, is_silent: bool) -> Report:
    from etconfig.conformance.runner.dependence import UnknownCheckError
    from etconfig.conformance.runner.runner import chosen_checks, run_conformance

    try:
        chosen_checks(settings)
    except UnknownCheckError as error:
        raise click.UsageError(str(error)) from error
    if is_silent:
        return run_conformance(settings, xfails)
    level = -1
    seen_in: dict[str, str] = {}

    def show_result(check: Check, result: Result) -> None:
        nonlocal level
        if check.level > level:
            level = check.level
            show(f"L{level} {LEVELS[level]}")
        _print_result(result, seen_in)

    report = run_conformance(settings, xfails, progress=show_result)
    _print_end(report)
    return report


def _print_result(result: Result, seen_in: dict[str, str]) -> None:
    """Print one result; a text that another check reported already is replaced by the name of that check."""
    note = " (advisory)" if result.is_advisory else ""
    text = ": ".join(filter(None, (result.reason, result.message)))
    if result.rests_on is not None:
        note, text = f"{note}: {text}", ""
    elif text in seen_in:
        note += f": as {seen_in[text]}"
        text = ""
    elif text:
        seen_in[text] = result.check_id
    show(f"  {result.outcome.value:<14}  {result.check_id}{note}")
    for problem in text.splitlines():
        for line in textwrap.wrap(problem, _LINE - 18, break_long_words=False, break_on_hyphens=False):
            show(f"  {'':<14}    {line}")


def _print_end(report: Report) -> None:
    show()
    if report.coverage:
        missing_programs = [name for name, is_there in report.coverage.items() if not is_there]
        count = len(report.coverage) - len(missing_programs)
        without = f", without {', '.join(missing_programs)}" if missing_programs else ""
        show(f"golden programs: {count} of {len(report.coverage)}{without}")
    for name, reason in report.unobservable.items():
        show(f"unobservable: {name}, since {reason}")
    source = f"{report.backend} of {report.distribution} {report.version}"
    show(f"{source}: {report.summary}")
    for root, others in report.root_causes.items():
        if others:
            show(f"root cause: {root}; not judged, since they rest on it: {len(others)}")
    if not report.passed and not report.checks_asked:
        missing = 0 if report.level is None else report.level + 1
        names = ", ".join(r.check_id for r in report.obstacles(missing) if r.rests_on is None)
        show(f"L{missing} needs: {names or ', '.join(report.root_causes)}")


def _list_checks(as_json: bool) -> None:
    from etconfig.conformance.checks.check_catalog import all_checks

    checks = all_checks()
    if as_json:
        print_json(
            {
                "checks": [
                    {
                        "id": check.id,
                        "level": check.level,
                        "since": check.since,
                        "requires": list(check.requires),
                        "rests_on": list(check.rests_on),
                        "doc": check.doc,
                        "prevents": check.prevents,
                    }
                    for check in checks
                ]
            }
        )
        return
    rows = [(f"L{check.level}", check.id, ", ".join(check.requires) or "-", check.doc) for check in checks]
    print_table(("LEVEL", "CHECK", "REQUIRES", "WHAT IT CHECKS"), rows)


def _lower(settings: Settings, directory: Path) -> None:
    from etconfig.conformance.runner.lowering_process import lowered_apart
    from etconfig.conformance.subject.lowering import LoweringError, lower_cases
    from etconfig.conformance.subject.subject import Subject

    try:
        written = lower_cases(
            Subject(settings),
            directory,
            files_of_command(),
            progress=lambda name, what: show(f"{name}: {what}"),
            lowered=lowered_apart,
        )
    except RefusedFileError as error:
        raise click.ClickException(refused_write(error)) from error
    except LoweringError as error:
        raise click.ClickException(str(error)) from error
    show(f"programs in {directory}: {len(written)}")


_FORMATS = (".json", ".xml", ".html", ".svg")


def _rendered(report: Report, suffix: str) -> bytes:
    """Return a report as a file with this suffix."""
    from etconfig.conformance.runner.report_files import MARKS, badge_svg, report_junit, report_view
    from etconfig.report.page.page_writer import html_page

    if suffix == ".json":
        return (json.dumps(report.to_jsonable(), indent=2) + "\n").encode()
    if suffix == ".xml":
        return report_junit(report)
    return (badge_svg(report) if suffix == ".svg" else html_page(report_view(report), marks=MARKS)).encode()


def _is_report(path: Path) -> bool:
    from etconfig.report.page.page_writer import PAGE

    content = path.read_bytes()
    if path.suffix == ".html":
        return PAGE.has(path)
    if content.startswith(b"<svg"):
        return f">{_badge_label()}</text>".encode() in content
    if content.startswith(b"<?xml"):
        return b'<testsuites name="etconfig conformance ' in content
    found = json.loads(content)
    return isinstance(found, dict) and "plugin_api" in (found.get("etconfig") or ())


def _badge_label() -> str:
    from etconfig.conformance.runner.report_files import LABEL

    return LABEL


REPORT = FileKind("a report that `etconfig conformance` wrote", _is_report)
