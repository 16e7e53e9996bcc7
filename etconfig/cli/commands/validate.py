"""`etconfig validate`: check configuration files, and fix what can be fixed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.app.installation.installation import Installation
from etconfig.cli.shared.command_options import device_options, make_installation, profile_path_option
from etconfig.cli.shared.files import files_argument, named_as_given
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.input_files import FoundFiles, StandardInput, expanded_sheets, sheet_names
from etconfig.cli.shared.output import (
    judged,
    note,
    print_error,
    repository_names,
    show,
    show_diff,
    show_document,
    show_escaped,
    show_json,
    show_styled,
    style_for,
    with_progress,
)
from etconfig.cli.shared.requests import open_targets, read_device
from etconfig.cli.shared.standard_output import command_output
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import files_of_command, writing
from etconfig.diagnostics import Diagnostic, Severity, on_devices
from etconfig.diagnostics.render import FORMATS, render, worth_showing
from etconfig.errors import ConfigError

if TYPE_CHECKING:
    from etconfig.app.validating.fixing import FixedFile
    from etconfig.app.validating.validation import Validator


_MAX_ROUNDS = 10
"""The most times that files are fixed: a file that can be read after a fix may have further problems."""
_MAX_UNMATCHED = 5
"""The most profiles that are named as resolved on no device."""


@click.command("validate", cls=StrictCommand)
@files_argument
@click.option(
    "--program",
    "programs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Check against this program too; by default against the project file's. Repeatable.",
)
@click.option(
    "--models",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Check against the models of this file that engines run; by default the project file's.",
)
@partial(device_options, several=True)
@click.option(
    "--format",
    "form",
    type=click.Choice((*FORMATS, "html", "junit")),
    default="text",
    show_default=True,
    help="The format of findings: text for people, concise for editors, json for programs, "
    "sarif for code hosts, github for annotations in GitHub Actions, html for a page, junit for results of "
    "tests.",
)
@click.option("--fix", is_flag=True, help="Fix the files where that keeps their meaning.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option(
    "--unsafe-fixes",
    is_flag=True,
    help="With --fix or --diff: also apply guesses, such as for a mistyped name.",
)
@click.option("--strict", is_flag=True, help="The same as --fail-on warning.")
@profile_path_option
def command(
    files: FoundFiles,
    programs: Sequence[Path],
    models: Path | None,
    sheet: Sequence[Path],
    fact_texts: Sequence[str],
    form: str,
    fix: bool,
    diff: bool,
    unsafe_fixes: bool,
    strict: bool,
    profile_paths: Sequence[Path],
) -> int:
    """Check configuration files; exit with 1 if there are errors.

    Without FILES, checks the project file, and the profiles and models that it names. Files named
    etconfig.toml and pyproject.toml are project files, files with [model.NAME] and no [profile] are files
    of models, all others are profiles. In a directory, every *.toml below it is checked. With --facts,
    --device or --fact, the arguments must resolve on each of these devices: a profile's where its
    `match` holds, a project file's everywhere, with the profile that it names or that auto selects.
    A file called - is a profile on standard input. Files that do not exist or cannot be read do not keep
    the others from being checked; the exit status is then 2.

    \b
    Examples:
      etconfig validate profiles/acme/*.toml
      etconfig validate profiles --facts pi5.json --device pixel-8
      etconfig validate etconfig.toml --program model.pte --format concise
      etconfig validate profiles --models models.toml
      etconfig validate profiles --fix
      etconfig validate - < profiles/acme/board.toml
    """
    _check_fixing(files, fix=fix, diff=diff, unsafe_fixes=unsafe_fixes)
    from etconfig.app.validating.fixing import fix_files
    from etconfig.app.validating.validation import Validator, readable_installation

    sheets = expanded_sheets(sheet)

    def check() -> tuple[list[Diagnostic], list[Path]]:
        installation, unreadable = readable_installation(make_installation(profile_paths))
        try:
            validators = _make_validators(installation, programs, models, sheets, fact_texts)
        except ConfigError as error:
            if not _is_in(error, files.paths):
                raise
            validators = {"": Validator(installation=installation)}  # the error is found again, and shown
        validators = {
            name: replace(each, of_directories=files.of_directories) for name, each in validators.items()
        }
        problems = _check(files.paths, validators, unreadable)
        unmatched = set.intersection(*(validator.unmatched for validator in validators.values()))
        return problems, [path for path in files.paths if path in unmatched]

    problems, unmatched = check()
    fixed = fix_files(files.paths, problems, with_unsafe=unsafe_fixes) if fix or diff else []
    if diff:
        show_diff("".join(file.diff() for file in fixed))
    count, changed = 0, set[Path]()
    for _ in range(0 if diff else _MAX_ROUNDS):
        if not fixed:
            break
        _write_fixed(fixed)
        count += sum(file.count for file in fixed)
        changed.update(file.path for file in fixed)
        problems, unmatched = check()  # with another validator, which reads the files again
        fixed = fix_files(files.paths, problems, with_unsafe=unsafe_fixes)
    if changed:
        note(f"{format_count(count, 'problem')} fixed in {format_count(len(changed), 'file')}")
    problems = [*judged(problems)]
    if not diff:
        _print(files.paths, problems, form)
    for message in files.missing:
        print_error(message)
    _note_unmatched(unmatched, sheets)
    note(_summary(files.paths, problems))
    return _exit_status(files, problems, strict=strict)


def _check_fixing(files: FoundFiles, *, fix: bool, diff: bool, unsafe_fixes: bool) -> None:
    if fix and diff:
        raise click.UsageError("--diff shows what --fix would do; give one of them")
    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes goes with --fix or --diff")
    if fix and any(isinstance(file, StandardInput) for file in files.paths):
        raise click.UsageError("--fix cannot change standard input; --diff shows what it would change")


def _write_fixed(fixed: Sequence[FixedFile]) -> None:
    """Write all files, or none if one must not be changed.

    Raises:
        click.ClickException: a file must not be changed, or cannot be written.
    """
    for file in fixed:
        with writing(file.path):
            files_of_command().check_edit(file.path)
    for file in fixed:
        with writing(file.path):
            files_of_command().edit(file.path, file.after.encode())


def _exit_status(files: FoundFiles, problems: Iterable[Diagnostic], *, strict: bool) -> int:
    """Return 2 if some files could not be checked, else 1 if there are errors, or warnings if they count."""
    names = {str(path) for path in files.paths}
    if files.missing or any(_is_unread(problem, names) for problem in problems):
        return 2
    counted = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    return 1 if any(problem.severity in counted for problem in problems) else 0


def _is_unread(problem: Diagnostic, names: Collection[str]) -> bool:
    """Return True if a file could not be read; other things that it names may be unreadable, too."""
    is_file = [span.file in names and span.text is None for span in problem.spans[:1]]
    return problem.code == "unreadable-file" and is_file == [True]


def _print(files: Sequence[Path], problems: Sequence[Diagnostic], form: str) -> None:
    if form in ("html", "junit"):
        from etconfig.cli.rendering.findings_file import findings_junit, findings_page
        from etconfig.report.model import View, count_text

        view = View(
            title="Findings of etconfig validate", lines=[f"{count_text(len(files), 'file')} checked"]
        )
        show_document(findings_page(view, problems) if form == "html" else findings_junit(files, problems))
        return
    if form in ("sarif", "github"):
        problems = [*map(repository_names(), problems)]
    if form in ("json", "sarif"):
        show_json(render(problems, form))
        return
    style = style_for(command_output())
    shown = worth_showing(problems)
    text = render(shown, form, style)
    if form == "github":
        show_escaped(text)
    else:
        show_styled(text, style)
    if len(shown) < len(problems):
        show(f"{len(problems) - len(shown):,} more problems are not shown; --format json has all", err=True)


def _note_unmatched(files: Sequence[Path], sheets: Sequence[Path]) -> None:
    """Say which profiles were resolved on no device, since the findings do not show it."""
    if not files:
        return
    named = ", ".join(sheet_names(sheets)) if sheets else "this device"
    shown = ", ".join(map(str, files[:_MAX_UNMATCHED]))
    more = f" and {len(files) - _MAX_UNMATCHED} more" if len(files) > _MAX_UNMATCHED else ""
    note(
        f"note: {shown}{more}: not resolved on {named}, since `match` does not hold there; "
        "resolve --profile FILE resolves it anyway"
    )


def _make_validators(
    installation: Installation,
    programs: Sequence[Path],
    models: Path | None,
    sheets: Sequence[Path],
    fact_texts: Sequence[str],
) -> dict[str, Validator]:
    """Return the validator of each device, by its name; one without a device if none is given."""
    from etconfig.app.validating.validation import Validator

    loaded = open_targets(programs, models, installation) or None
    if not sheets and not fact_texts:
        return {"": Validator(installation=installation, programs=loaded)}
    devices = [read_device(installation, sheet, fact_texts) for sheet in sheets or (None,)]
    return {
        name: Validator(
            installation=installation,
            programs=loaded,
            device=device.facts,
            fact_overrides=device.by_hand,
            only_matching=True,
        )
        for name, device in zip(sheet_names(sheets or [None]), devices, strict=True)
    }


def _is_in(error: ConfigError, files: Iterable[Path]) -> bool:
    """Return True if the file with the first problem of an error is one of these."""
    spans = error.diagnostics[0].spans if error.diagnostics else ()
    return any(Path(spans[0].file).resolve() == each.resolve() for each in files) if spans else False


def _check(
    files: Sequence[Path], validators: Mapping[str, Validator], unreadable: Sequence[Diagnostic]
) -> list[Diagnostic]:
    """Return the problems of all files, each once, with its devices; files may extend the same broken one.

    Args:
        files: The files.
        validators: The validator of each device.
        unreadable: The problems of a project file that is left out.
    """
    found = {problem: dict.fromkeys(validators) for problem in named_as_given(unreadable, files)}
    for file in with_progress(files, "checking"):
        for device, validator in validators.items():
            for problem in named_as_given(validator.problems(file), files):
                found.setdefault(problem, {})[device] = None
    # after all files, on whose problems they depend; and the same for every device
    selection = next(iter(validators.values())).selection_problems()
    unused = [{*each.unused_allowances(files)} for each in validators.values()]
    after = (*selection, *(each for each in unused[0] if all(each in others for others in unused)))
    found |= {problem: dict.fromkeys(validators) for problem in named_as_given(after, files)}
    return on_devices(found, len(validators))


def _summary(files: Sequence[Path], problems: Sequence[Diagnostic]) -> str:
    from etconfig.app.validating.fixing import fix_files

    errors = sum(problem.is_error for problem in problems)
    notes = sum(problem.severity is Severity.NOTE for problem in problems)
    counts = [format_count(errors, "error"), format_count(len(problems) - errors - notes, "warning")]
    if notes:
        counts.append(format_count(notes, "note"))
    parts = [f"{format_count(len(files), 'file')} checked: {', '.join(counts)}"]
    # made and counted: a fix that would break the file, as of a name that is taken, is left out
    safe, every = (
        sum(file.count for file in fix_files(files, problems, with_unsafe=with_unsafe))
        for with_unsafe in (False, True)
    )
    if safe:
        parts.append(f"{safe} fixable with --fix")
    if every > safe:
        parts.append(f"{every - safe} fixable with --fix --unsafe-fixes")
    return "; ".join(parts)
