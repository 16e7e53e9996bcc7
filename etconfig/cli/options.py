"""Options that several commands share, and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from etconfig.cli.output import show_diagnostics
from etconfig.installation import Installation

if TYPE_CHECKING:
    from etconfig.api import LoadedProgram
    from etconfig.facts import FactSheet
    from etconfig.provenance import Sourced
    from etconfig.resolver import Resolution

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


@dataclass(frozen=True, kw_only=True)
class ConfigurationRequest:
    """What the configuration options of a command ask for.

    Attributes:
        profile: `--profile`.
        overrides: `--set`.
        sheet: `--facts`.
        fact_texts: `--fact`.
        profile_paths: `--profile-path`.
    """

    profile: str | None
    overrides: Sequence[str]
    sheet: Path | None
    fact_texts: Sequence[str]
    profile_paths: Sequence[Path]

    @cached_property
    def installation(self) -> Installation:
        """What is installed, with the profiles that the request names."""
        return make_installation(self.profile_paths)

    def resolve(self, program: LoadedProgram | None) -> Resolution:
        """The resolution that is asked for; its warnings go to stderr."""
        from etconfig import api

        device = read_device(self.installation, self.sheet, self.fact_texts)
        resolution = api.resolve(
            program,
            profile=self.profile,
            facts=device.facts,
            fact_overrides=device.by_hand,
            overrides=self.overrides,
            installation=self.installation,
        )
        show_diagnostics(resolution.warnings)
        return resolution

    def resolve_file(self, program: Path | None) -> Resolution:
        """As `resolve`, for a program in a file."""
        from etconfig.api import load_program

        return self.resolve(
            None if program is None else load_program(program, installation=self.installation)
        )


def configuration_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """All that selects and changes a configuration, given to the command as one `request`."""

    @wraps(function)
    def with_request(**parameters: Any) -> Any:
        asked = {field.name: parameters.pop(field.name) for field in fields(ConfigurationRequest)}
        return function(request=ConfigurationRequest(**asked), **parameters)

    command = profile_path_option(device_options(with_request))
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
