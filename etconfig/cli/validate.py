"""`etconfig validate`: check configuration files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from etconfig.cli.options import make_installation, profile_path_option
from etconfig.cli.output import style_for
from etconfig.diagnostics.render import FORMATS, render


@click.command("validate")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--program", type=click.Path(path_type=Path), help="Check against this program too.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@profile_path_option
def command(files: Sequence[Path], program: Path | None, form: str, profile_paths: Sequence[Path]) -> int:
    """Check configuration files; exit with 1 if there are findings.

    Files named etconfig.toml and pyproject.toml are project files, all others are profiles.

    \b
    Examples:
      etconfig validate profiles/acme/*.toml
      etconfig validate etconfig.toml --program model.pte --format concise
    """
    from etconfig.api import load_program
    from etconfig.validation import validate_file

    installation = make_installation(profile_paths)
    loaded = None if program is None else load_program(program, installation=installation)
    facts = installation.detect_facts()
    found = [d for file in files for d in validate_file(file, installation, loaded, facts)]
    problems = list(dict.fromkeys(found))
    click.echo(render(problems, form, style_for(sys.stdout)), nl=False)
    errors = sum(problem.is_error for problem in problems)
    warnings = len(problems) - errors
    checked = "1 file" if len(files) == 1 else f"{len(files)} files"
    click.echo(f"{checked} checked: {errors} errors, {warnings} warnings", err=True)
    return 1 if errors else 0
