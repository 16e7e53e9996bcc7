"""`etconfig devices`: list, show and compare the devices whose fact sheets come with etconfig."""

from __future__ import annotations

from pathlib import Path

import click

from etconfig.cli.shared.command_options import json_option, make_installation
from etconfig.cli.shared.completion import complete_device
from etconfig.cli.shared.fact_difference import compare_sheets
from etconfig.cli.shared.format import format_fact
from etconfig.cli.shared.input_files import SheetPath
from etconfig.cli.shared.output import print_json, print_table, show_json
from etconfig.cli.shared.usage import SuggestingGroup


@click.group("devices", cls=SuggestingGroup, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List and show the known devices, and compare them.

    A known device is a fact sheet that comes with etconfig. Commands that take --facts take its name as
    --device. The last part of a name suffices if only one device has it.

    \b
    Examples:
      etconfig devices list
      etconfig devices show raspberry-pi/pi-5
      etconfig devices diff pi-4 pi-5
    """
    if context.invoked_subcommand is None:
        context.invoke(list_devices)


@command.command("list")
@json_option
def list_devices(as_json: bool = False) -> None:
    """List the known devices.

    SOURCES says how the facts are known: captured on such a device, or cited from a document.

    \b
    Example:
      etconfig devices list --json
    """
    from etconfig.facts.known_devices import describe_devices

    found = describe_devices()
    if as_json:
        print_json([each.to_jsonable() for each in found])
        return
    rows = [(each.name, each.system, each.model, str(each.facts), ", ".join(each.sources)) for each in found]
    print_table(("DEVICE", "SYSTEM", "MODEL", "FACTS", "SOURCES"), rows)


@command.command("show")
@click.argument("name", shell_complete=complete_device)
@json_option
def show_device(name: str, as_json: bool) -> None:
    """Show the facts of a known device, and the source of each.

    With --json, prints the sheet, to be saved and changed.

    \b
    Examples:
      etconfig devices show raspberry-pi/pi-5
      etconfig devices show pixel-8 --json > my-phone.json
    """
    from etconfig.facts.known_devices import find_device, load_device, load_device_text

    full_name = find_device(name)
    if as_json:
        show_json(load_device_text(full_name))
        return
    sheet = load_device(full_name, make_installation().fact_registry)
    known = [fact for fact in sheet.facts.values() if fact.is_known]
    rows = [(fact.name, format_fact(fact), fact.origin.detail or "") for fact in known]
    print_table(("FACT", "VALUE", "SOURCE"), rows)


@command.command("diff")
@click.argument("old", metavar="A", type=SheetPath(), shell_complete=complete_device)
@click.argument("new", metavar="B", type=SheetPath(), shell_complete=complete_device)
@json_option
def diff_devices(old: Path, new: Path, as_json: bool) -> int:
    """Compare the facts of two devices.

    A and B are names of known devices, or fact sheets: FILE.json, or - for standard input. Exits with 0 if
    the facts are the same, with 1 if they differ, and with 2 if a sheet cannot be read.

    \b
    Examples:
      etconfig devices diff raspberry-pi/pi-4 raspberry-pi/pi-5
      etconfig devices diff pi-5 pi5.json --json
    """
    return compare_sheets(old, new, ignore_live=False, as_json=as_json)
