"""`etconfig resolve`: the arguments of every method, instance and backend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.options import configuration_options, json_option, make_installation, read_device
from etconfig.cli.output import print_json, print_table, show_diagnostics

if TYPE_CHECKING:
    from etconfig.resolver import Resolution


@click.command("resolve")
@click.argument("program", required=False, type=click.Path(path_type=Path))
@configuration_options
@click.option("--explain", is_flag=True, help="Say for every value what it beat and which facts decide.")
@json_option
def command(
    program: Path | None,
    profile: str | None,
    overrides: Sequence[str],
    sheet: Path | None,
    fact_texts: Sequence[str],
    profile_paths: Sequence[Path],
    explain: bool,
    as_json: bool,
) -> None:
    """Resolve the arguments of every method, instance and backend.

    Without PROGRAM, for the methods and backends that the configuration mentions.

    \b
    Examples:
      etconfig resolve model.pte
      etconfig resolve model.pte --profile auto --set forward:NpuBackend.core=1 --json
    """
    resolution = resolve_for_command(program, profile, overrides, sheet, fact_texts, profile_paths)
    if as_json:
        print_json(resolution.to_jsonable())
    elif explain:
        _print_explained(resolution)
    else:
        click.echo(f"profile {resolution.profile}\n")
        print_table(("METHOD", "BACKEND", "OPTION", "VALUE", "FROM"), list(option_rows(resolution)))


def resolve_for_command(
    program: Path | None,
    profile: str | None,
    overrides: Sequence[str],
    sheet: Path | None,
    fact_texts: Sequence[str],
    profile_paths: Sequence[Path],
) -> Resolution:
    """What `resolve` gives for the options of a command; warnings go to stderr."""
    from etconfig import api

    installation = make_installation(profile_paths)
    loaded = None if program is None else api.load_program(program, installation=installation)
    device = read_device(installation, sheet, fact_texts)
    resolution = api.resolve(
        loaded,
        profile=profile,
        facts=device.facts,
        fact_overrides=device.by_hand,
        overrides=overrides,
        installation=installation,
    )
    show_diagnostics(resolution.warnings)
    return resolution


def option_rows(resolution: Resolution) -> Iterator[tuple[str, str, str, str, str]]:
    """A row for each option of each method instance and backend."""
    from etconfig.resolver import shown

    for arguments in resolution:
        for backend, resolved in arguments.backends.items():
            for name in resolved.chains:
                winner = resolved.story(name).winner
                yield arguments.label, backend, name, shown(winner.value), str(winner.origin)


def _print_explained(resolution: Resolution) -> None:
    from etconfig.option_path import OptionPath
    from etconfig.resolver import explain_option

    blocks = [
        explain_option(resolution, OptionPath(backend, name, arguments.method, arguments.instance))
        for arguments in resolution
        for backend, resolved in arguments.backends.items()
        for name in resolved.chains
    ]
    click.echo("\n".join(blocks), nl=False)
