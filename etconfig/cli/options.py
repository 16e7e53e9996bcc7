"""Options that several commands share, and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from etconfig.installation import Installation

if TYPE_CHECKING:
    from etconfig.facts import FactSheet
    from etconfig.provenance import Sourced

CommandT = TypeVar("CommandT", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print data as JSON.")

profile_path_option = click.option(
    "--profile-path",
    "profile_paths",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A further directory of profiles. Repeatable.",
)

program_argument = click.argument("program", type=click.Path(path_type=Path))


def device_options(command: CommandT) -> CommandT:
    """`--facts` and `--fact`: which device is meant."""
    command = click.option(
        "--fact", "fact_texts", multiple=True, metavar="NAME=VALUE", help="Set a fact by hand. Repeatable."
    )(command)
    return click.option(
        "--facts",
        "sheet",
        type=click.Path(path_type=Path),
        help="Use a saved fact sheet instead of detecting this device.",
    )(command)


def configuration_options(command: CommandT) -> CommandT:
    """All that selects and changes a configuration."""
    command = profile_path_option(device_options(command))
    command = click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="PATH=VALUE",
        help="Set [METHOD[@INSTANCE]:]BACKEND.OPTION. Repeatable.",
    )(command)
    return click.option(
        "--profile", metavar="auto|NAME|FILE", help="The profile. By default the project's, else auto."
    )(command)


def make_installation(profile_paths: Sequence[Path] = ()) -> Installation:
    """What is installed, as seen from the current directory."""
    return Installation(Path.cwd(), profile_directories=profile_paths)


@dataclass(frozen=True)
class Device:
    """The device that a command is about.

    Attributes:
        facts: Detected, or from a sheet.
        by_hand: What `--fact` sets.
    """

    facts: FactSheet
    by_hand: dict[str, Sourced[object]]

    @property
    def known(self) -> FactSheet:
        """All facts, the hand-set ones in place."""
        return self.facts.with_overrides(self.by_hand)


def read_device(installation: Installation, sheet: Path | None, fact_texts: Sequence[str]) -> Device:
    """The device that `--facts` and `--fact` mean.

    Raises:
        FactError: the sheet or a hand-set fact is wrong.
    """
    from etconfig.facts import load_fact_sheet, parse_fact_assignments

    registry = installation.fact_registry
    facts = installation.detect_facts() if sheet is None else load_fact_sheet(sheet, registry)
    return Device(facts, dict(parse_fact_assignments(fact_texts, registry)))
