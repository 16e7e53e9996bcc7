"""`etconfig diff`: compare two configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.options import ConfigurationRequest, configuration_options, json_option
from etconfig.cli.shared.output import print_json, show, show_blocks
from etconfig.cli.shared.standard_input import standard_input
from etconfig.cli.shared.usage import StrictCommand
from etconfig.diagnostics.escape import escape_line

if TYPE_CHECKING:
    from etconfig.option_path import OptionPath
    from etconfig.resolver import OptionChange, ReportedValue


@click.command("diff", cls=StrictCommand)
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@click.option("--program", type=click.Path(path_type=Path), help="Resolve for the methods of this program.")
@configuration_options
@json_option
def command(old: str, new: str, program: Path | None, request: ConfigurationRequest, as_json: bool) -> int:
    """Show which options differ between two configurations.

    A and B are each one of:

    \b
      NAME or FILE.toml   a profile, resolved like --profile
      FILE.json or -      a result that `etconfig resolve --json` printed; - is standard input
      facts:FILE.json     a fact sheet, resolved like --facts

    The other options apply to both. Only values count as differences; their origins are shown too.
    Exits with 1 if an option differs.

    \b
    Examples:
      etconfig diff generic/any generic/any
      etconfig diff facts:pi5.json facts:pi5.json --profile generic/any
    """
    from etconfig.resolver import differences

    sides = [_values_of(text, program, request) for text in (old, new)]
    changes = differences(*sides)
    if as_json:
        print_json({"changes": [change.to_jsonable() for change in changes]})
    elif not changes:
        show("The options are the same.")
    else:
        show_blocks(map(_block, changes))
    return 1 if changes else 0


def _block(change: OptionChange) -> str:
    """Return the option with both values, and a line for the origin of each."""
    sides = (("-", change.old), ("+", change.new))
    lines = [str(change), *(f"  {mark} {value}" for mark, value in sides if value is not None)]
    return "".join(f"{escape_line(line)}\n" for line in lines)


def _values_of(
    text: str, program: Path | None, request: ConfigurationRequest
) -> Mapping[OptionPath, ReportedValue]:
    """Return the values of one side by option path."""
    from etconfig.resolver import load_saved_resolution, reported_values

    kind, colon, rest = text.partition(":")
    if colon and kind == "facts":
        request = replace(request, sheet=standard_input() if rest == "-" else Path(rest))
    elif text == "-":
        return load_saved_resolution(standard_input())
    elif text.endswith(".json"):
        return load_saved_resolution(Path(text))
    else:
        request = replace(request, profile=text)
    return reported_values(request.resolve_file(program))
