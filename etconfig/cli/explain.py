"""`etconfig explain`: where one option's value comes from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from etconfig.cli.options import configuration_options, json_option
from etconfig.cli.output import print_json
from etconfig.cli.resolve import resolve_for_command


@click.command("explain")
@click.argument("path")
@click.argument("program", required=False, type=click.Path(path_type=Path))
@configuration_options
@json_option
def command(
    path: str,
    program: Path | None,
    profile: str | None,
    overrides: Sequence[str],
    sheet: Path | None,
    fact_texts: Sequence[str],
    profile_paths: Sequence[Path],
    as_json: bool,
) -> None:
    """Say where an option's value comes from, and what it beat.

    PATH is [METHOD[@INSTANCE]:]BACKEND.OPTION; without a method, every method instance is told.

    \b
    Examples:
      etconfig explain ReferenceNpuBackend.core model.pte
      etconfig explain forward@left:ReferenceNpuBackend.core model.pte --json
    """
    from etconfig.option_path import parse_option_path
    from etconfig.resolver import explain_option, find_stories

    try:
        option_path = parse_option_path(path)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    resolution = resolve_for_command(program, profile, overrides, sheet, fact_texts, profile_paths)
    if as_json:
        stories = find_stories(resolution, option_path)
        print_json([{"path": str(full), **story.to_jsonable()} for full, story in stories])
    else:
        click.echo(explain_option(resolution, option_path), nl=False)
