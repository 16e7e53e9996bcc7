"""`etconfig profiles`: which profiles there are, and which one fits a device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.options import (
    device_options,
    json_option,
    make_installation,
    profile_path_option,
    read_device,
)
from etconfig.cli.output import print_json, print_table
from etconfig.errors import ConfigError

if TYPE_CHECKING:
    from etconfig.profile import ProfileMatch


@click.group("profiles", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List profiles, and say why they match this device or not.

    \b
    Examples:
      etconfig profiles list
      etconfig profiles match
      etconfig profiles match --facts pi5.json
    """
    if context.invoked_subcommand is None:
        context.invoke(list_command)


@command.command("list")
@profile_path_option
@json_option
def list_command(profile_paths: Sequence[Path] = (), as_json: bool = False) -> None:
    """List the known profiles and where they are."""
    library = make_installation(profile_paths).profiles
    rows = [(name, str(library.find(name).path)) for name in library.names]
    if as_json:
        print_json([{"name": name, "path": path} for name, path in rows])
    else:
        print_table(("PROFILE", "FILE"), rows)


@command.command("match")
@device_options
@profile_path_option
@json_option
def match_command(
    sheet: Path | None, fact_texts: Sequence[str], profile_paths: Sequence[Path], as_json: bool
) -> int:
    """Say for each profile why it matches this device or not, and which one `auto` selects.

    Exits with 1 if none is selected.
    """
    from etconfig.profile import match_profiles, select_profile

    installation = make_installation(profile_paths)
    facts = read_device(installation, sheet, fact_texts).known.values
    matches = match_profiles(installation.profiles, facts)
    problem, selected = None, None
    try:
        selected = select_profile(installation.profiles, facts).profile.name
    except ConfigError as error:
        problem = error
    if as_json:
        rows = [{"profile": m.profile.name, "matches": m.is_match, "why": list(m.reasons)} for m in matches]
        print_json({"selected": selected, "profiles": rows})
    else:
        print_table(("PROFILE", "MATCHES", "WHY"), [_row(match) for match in matches])
        click.echo(f"\nauto selects {selected}" if problem is None else f"\nauto selects none: {problem}")
    return 0 if problem is None else 1


def _row(match: ProfileMatch) -> tuple[str, str, str]:
    return match.profile.name, "yes" if match.is_match else "no", "; ".join(match.reasons)
