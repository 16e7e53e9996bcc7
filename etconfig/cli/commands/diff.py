"""`etconfig diff`: compare two configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.command_options import json_option, models_option, programs_option
from etconfig.cli.shared.each_device import (
    OnDevice,
    notes_of_resolution,
    on_each_device,
    opened_apart,
    show_each,
    show_notes,
)
from etconfig.cli.shared.input_files import known_device, standard_input
from etconfig.cli.shared.output import print_json, show, show_blocks
from etconfig.cli.shared.requests import ConfigurationRequest, several_devices_options
from etconfig.cli.shared.usage import StrictCommand
from etconfig.diagnostics.escape import escape_line

if TYPE_CHECKING:
    from etconfig.app.configuring.targets import Delegating
    from etconfig.base.option_path import OptionPath
    from etconfig.resolver.deciding.resolution import Resolution
    from etconfig.resolver.explaining.difference import OptionChange, ReportedValue


@click.command("diff", cls=StrictCommand)
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@programs_option
@models_option
@several_devices_options
@json_option
def command(
    old: str, new: str, programs: Sequence[Path], requests: Sequence[ConfigurationRequest], as_json: bool
) -> int:
    """Show which options differ between two configurations.

    A and B are each one of:

    \b
      NAME or FILE.toml   a profile, resolved like --profile
      FILE.json or -      a result that `etconfig resolve --json` printed; - is standard input
      facts:FILE.json     a fact sheet, resolved like --facts
      device:NAME         a known device, resolved like --device

    The other options apply to both. Only values count as differences; their origins are shown too. Without a
    program, what only one side mentions is compared with * on the other, and counts if something sets it.
    Exits with 1 if an option differs. With several devices or programs, compares for each program on each
    device; the exit status is 2 if one of them does not resolve.

    \b
    Examples:
      etconfig diff generic/any generic/any
      etconfig diff facts:pi5.json facts:pi5.json --profile generic/any
      etconfig diff generic/any generic/any --device pixel-8 --device pi-5
    """
    if all(_names_device(text) for text in (old, new)) and requests[0].sheet is not None:
        raise click.UsageError("both sides name a device already: leave out --facts and --device")

    resolved: list[OnDevice[Resolution]] = []

    def compare(request: ConfigurationRequest, program: Delegating | None) -> Sequence[OptionChange]:
        from etconfig.resolver.explaining.difference import (
            differences,
            reported_values,
            standalone_differences,
        )

        before, after = (_side(text, program, request, resolved) for text in (old, new))
        if program is None and not isinstance(before, Mapping) and not isinstance(after, Mapping):
            return standalone_differences(before, after)
        values = (side if isinstance(side, Mapping) else reported_values(side) for side in (before, after))
        return differences(*values)

    opened = [*opened_apart(requests[0], programs)]
    if len(requests) == len(opened) == 1:
        changes = compare(requests[0], opened[0][1])
        show_notes(resolved, notes_of_resolution)
        if as_json:
            print_json(_data(changes))
        else:
            _show(changes)
        return 1 if changes else 0
    found = list(on_each_device(requests, opened, compare))
    show_notes(resolved, notes_of_resolution)
    if as_json:
        print_json({"differences": [{**one.to_jsonable(), **_data(one.result or ())} for one in found]})
        failed = any(one.error for one in found)
    else:
        failed = bool(show_each(found, _show))
    return 2 if failed else int(any(one.result for one in found))


def _data(changes: Sequence[OptionChange]) -> dict[str, object]:
    return {"changes": [change.to_jsonable() for change in changes]}


def _show(changes: Sequence[OptionChange]) -> None:
    if changes:
        show_blocks(map(_block, changes))
    else:
        show("The options are the same.")


def _names_device(text: str) -> bool:
    return text.startswith(("facts:", "device:"))


def _block(change: OptionChange) -> str:
    """Return the option with both values, and a line for the origin of each."""
    sides = (("-", change.old), ("+", change.new))
    lines = [str(change), *(f"  {mark} {value}" for mark, value in sides if value is not None)]
    return "".join(f"{escape_line(line)}\n" for line in lines)


def _side(
    text: str,
    program: Delegating | None,
    request: ConfigurationRequest,
    resolved: list[OnDevice[Resolution]],
) -> Resolution | Mapping[OptionPath, ReportedValue]:
    """Return the resolution of one side, which is added to `resolved`, or the values of a saved one."""
    from etconfig.resolver.explaining.saved import load_saved_resolution

    kind, colon, rest = text.partition(":")
    if _names_device(text) and not rest:
        raise click.UsageError(f"{text} is empty, like an unset variable; write what follows the colon")
    if colon and kind == "facts":
        request = replace(request, sheet=standard_input() if rest == "-" else Path(rest), called=None)
    elif colon and kind == "device":
        request = replace(request, sheet=known_device(rest), called=None)
    elif text == "-":
        return load_saved_resolution(standard_input())
    elif text.endswith(".json"):
        return load_saved_resolution(Path(text))
    else:
        request = replace(request, profile=text)
    result = request.resolve_silently(program)
    resolved.append(OnDevice(device=request.device_name, program=None, result=result))
    return result
