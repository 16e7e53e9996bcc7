"""`etconfig fleet validate`: every value of every device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from etconfig.cli.rendering.fleet_text import show_inventory_findings
from etconfig.cli.shared.command_options import json_option, make_installation
from etconfig.cli.shared.fleet_requests import (
    InventoryRequest,
    inventories_argument,
    inventory_options,
    show_part,
)
from etconfig.cli.shared.output import note, print_json, show, show_findings
from etconfig.cli.shared.usage import StrictCommand
from etconfig.report.model import count_text

if TYPE_CHECKING:
    from etconfig.fleet.inventory.column_validation import InventoryFinding


_MAX_ROWS = 10**9


def _check_rows(context: click.Context, parameter: click.Parameter, text: str) -> int | None:
    """Return the number of rows, or None for all."""
    if text == "all":
        return None
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(_MAX_ROWS)) else 0
    if not 1 <= number <= _MAX_ROWS:
        message = f"{text!r} is neither a number from 1 to {_MAX_ROWS} nor 'all'"
        raise click.BadParameter(message, context, parameter)
    return number


@click.command("validate", cls=StrictCommand)
@inventories_argument
@inventory_options
@click.option(
    "--rows",
    "limit",
    default="3",
    show_default=True,
    metavar="NUMBER|all",
    callback=_check_rows,
    help="The most rows to name for each finding.",
)
@json_option
def validate_inventory(inventory: InventoryRequest, limit: int | None, as_json: bool) -> int:
    """Check every value of every device; exit with 1 if there are findings, with 2 if a file is unreadable.

    Checks the names of columns, their types, and the units, types and ranges of values. Each device
    must have its own name, and no number may be NaN or infinite. Values that are wrong for the same reason
    are one finding, with the number of devices and the first rows. Of a JSONL file, rows are lines
    without the empty ones. An inventory without devices is a finding, too.

    \b
    Examples:
      etconfig fleet validate devices.parquet
      etconfig fleet validate devices.jsonl --json
      etconfig fleet validate devices.jsonl --rows all --json
    """
    from etconfig.fleet.inventory.column_validation import duplicates_of, no_devices, validate_part
    from etconfig.fleet.inventory.inventory import find_sources

    sources = find_sources(inventory.inventories, inventory.table)
    findings: list[InventoryFinding] = []
    registry = make_installation().fact_registry
    with inventory.database() as database:
        opener = inventory.reading.opener(database, registry)
        parts = [part for part in map(opener.open, sources) if part is not None]
        for number, part in enumerate(parts, 1):
            show_part(part, number, len(parts))
            findings += validate_part(database, part, limit)
        shared = duplicates_of(database, parts)
    devices, problems = sum(part.rows for part in parts), opener.problems
    if not devices and not problems:
        problems = [no_devices([source.label for source in sources])]
    if as_json:
        print_json(
            {
                "devices": devices,
                "findings": [finding.to_jsonable() for finding in findings],
                "problems": [str(problem) for problem in problems],
                "devices_in_several_files": shared,
            }
        )
    else:
        show_findings(problems)
        show_inventory_findings(findings)
        if shared:
            noun = "device is" if shared == 1 else "devices are"
            show(f"{shared:,} {noun} in several files; name each device once")
    count = len(findings) + len(problems) + bool(shared)
    note(f"{count_text(devices, 'device')} checked: {count_text(count, 'finding')}")
    if any(problem.code == "unreadable-file" for problem in problems):
        return 2
    return 1 if count else 0
