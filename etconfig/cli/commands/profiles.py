"""`etconfig profiles`: list and show profiles, and explain which of them match a device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from etconfig.cli.shared.command_options import (
    device_options,
    json_option,
    make_installation,
    profile_path_option,
    require_match_option,
)
from etconfig.cli.shared.completion import complete_profile_name
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.listings import list_profiles
from etconfig.cli.shared.output import (
    print_json,
    print_table,
    show,
    show_diagnostics,
    show_document,
    show_table,
)
from etconfig.cli.shared.requests import read_device
from etconfig.cli.shared.usage import SuggestingGroup

if TYPE_CHECKING:
    from etconfig.app.configuring.profile_choice import ProfileChoices
    from etconfig.profile.selection import ProfileMatch


@click.group("profiles", cls=SuggestingGroup, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> int | None:
    """List and show profiles, and explain which of them match.

    \b
    Examples:
      etconfig profiles list
      etconfig profiles show raspberry-pi/pi-5
      etconfig profiles match
      etconfig profiles match --facts pi5.json
    """
    if context.invoked_subcommand is None:
        return cast(int, context.invoke(list_command))
    return None


@command.command("list")
@profile_path_option
@json_option
def list_command(profile_paths: Sequence[Path] = (), as_json: bool = False) -> int:
    """List the known profiles and their files; exit with 1 if a directory cannot be read.

    \b
    Example:
      etconfig profiles list --json
    """
    installation = make_installation(profile_paths)
    listing = list_profiles(installation)
    if as_json:
        print_json(listing.to_jsonable())
    else:
        show_table(listing)
    problems = installation.profiles.problems
    show_diagnostics(problems)
    return 1 if problems else 0


@command.command("show")
@click.argument("profile", metavar="NAME|FILE", shell_complete=complete_profile_name)
@profile_path_option
@json_option
def show_command(profile: str, profile_paths: Sequence[Path], as_json: bool) -> None:
    """Show a profile and all that it extends, base first; later ones win.

    FILE ends in .toml.

    \b
    Examples:
      etconfig profiles show raspberry-pi/pi-5
      etconfig profiles show profiles/acme/board.toml
    """
    from etconfig.profile.document import load_document
    from etconfig.profile.inheritance import load_chain

    chain = []
    for each in load_chain(make_installation(profile_paths).profiles, profile):
        if each.path is not None:  # every profile of a library has a file
            text = load_document(each.path).source.text
            chain.append({"name": each.name, "path": str(each.path), "text": text})
    if as_json:
        print_json(chain)
        return
    show_document("\n".join(f"# {each['name']}: {each['path']}\n{each['text'].rstrip()}\n" for each in chain))


@command.command("match")
@click.argument("names", nargs=-1)
@click.option("--all", "show_all", is_flag=True, help="Show the profiles that do not match, too.")
@require_match_option
@device_options
@profile_path_option
@json_option
def match_command(
    names: Sequence[str],
    show_all: bool,
    require_match: bool,
    sheet: Path | None,
    fact_texts: Sequence[str],
    profile_paths: Sequence[Path],
    as_json: bool,
) -> int:
    """Show which profiles match this device, why, and which one `auto` selects.

    With NAMES, shows only these, whether they match or not. Names the profile of the project file, too. Exits
    with 1 if `auto` selects none, or if that profile cannot be used.

    \b
    Examples:
      etconfig profiles match
      etconfig profiles match raspberry-pi/pi-5 --fact power.source=battery
    """
    from etconfig.app.configuring.profile_choice import ProfileChoice, profile_choices
    from etconfig.profile.selector import match_profiles

    installation = make_installation(profile_paths)
    for name in names:
        installation.profiles.find(name)  # an unknown name is an error
    facts = read_device(installation, sheet, fact_texts).known
    matches = match_profiles(installation.profiles, facts.values)
    named = [match for match in matches if not names or match.profile.name in names]
    choices = profile_choices(installation, facts, require_match=require_match)
    if as_json:
        rows = [{"profile": m.profile.name, "matches": m.is_match, "why": list(m.reasons)} for m in named]
        print_json({**_choices_data(choices), "profiles": rows})
    else:
        _print_matches(named if show_all or names else [match for match in named if match.is_match])
        others = 0 if show_all or names else len(named) - sum(match.is_match for match in named)
        if others:
            show()
            show(f"Not shown: {format_count(others, 'profile')} without a match; --all shows why.")
        show()
        show(_choices_text(choices))
    if isinstance(choices.auto, ProfileChoice) and choices.auto.note is not None:
        show_diagnostics([choices.auto.note])
    return (
        0
        if all(isinstance(each, (ProfileChoice, type(None))) for each in (choices.named, choices.auto))
        else 1
    )


def _choices_text(choices: ProfileChoices) -> str:
    """Return a sentence with the profile that `auto` selects, and the project file's."""
    from etconfig.errors import ConfigError

    auto = choices.auto
    selected = f"none: {auto}" if isinstance(auto, ConfigError) else auto.profile.name
    if choices.named_by is None:
        return f"auto selects {selected}"
    if isinstance(choices.named, ConfigError):
        return f"the project file names no usable profile: {choices.named}; auto would select {selected}"
    return f"{choices.named_by.span.place} names {choices.named_by.target}; auto would select {selected}"


def _choices_data(choices: ProfileChoices) -> dict[str, Any]:
    from etconfig.errors import ConfigError

    auto, named_by = choices.auto, choices.named_by
    problem = str(choices.named) if isinstance(choices.named, ConfigError) else None
    project = (
        {"profile": named_by.target, "place": named_by.span.place, "problem": problem} if named_by else None
    )
    return {
        "selected": None if isinstance(auto, ConfigError) else auto.profile.name,
        "is_fallback": not isinstance(auto, ConfigError) and auto.note is not None,
        "project": project,
    }


def _print_matches(matches: Sequence[ProfileMatch]) -> None:
    """Print a table with a line for each reason."""
    rows: list[tuple[str, str, str]] = []
    for match in matches:
        head = (match.profile.name, "yes" if match.is_match else "no")
        for reason in match.reasons:
            rows.append((*head, reason))
            head = ("", "")
    print_table(("PROFILE", "MATCHES", "WHY"), rows)
