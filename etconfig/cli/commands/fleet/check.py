"""`etconfig fleet validate`: every value of every device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from etconfig.cli.rendering.fleet_text import show_inventory_findings
from etconfig.cli.shared.fleet_options import inventories_argument, inventory_options
from etconfig.cli.shared.fleet_requests import InventoryRequest, show_part
from etconfig.cli.shared.options import json_option, make_installation
from etconfig.cli.shared.output import print_json, show, show_findings
from etconfig.cli.shared.usage import StrictCommand
from etconfig.display import count_text

if TYPE_CHECKING:
    from etconfig.fleet.validation import InventoryFinding


@click.command("validate", cls=StrictCommand)
@inventories_argument
@inventory_options
@json_option
def validate_inventory(inventory: InventoryRequest, as_json: bool) -> int:
    """Check every value of every device; exit with 1 if there are findings.

    Checks the names of columns, their types, and the units, types and ranges of values; that each device
    has a name of its own; and that no number is NaN or infinite. Values that are wrong for the same reason
    are one finding, with the number of devices and the first rows. Of a JSONL file, rows are lines
    without the empty ones.

    \b
    Examples:
      etconfig fleet validate devices.parquet
      etconfig fleet validate devices.jsonl --json
    """
    from etconfig.fleet.inventory import InventoryOpener, find_sources
    from etconfig.fleet.validation import duplicates_of, validate_part

    sources = find_sources(inventory.inventories, inventory.table)
    findings: list[InventoryFinding] = []
    registry = make_installation().fact_registry
    with inventory.database() as database:
        opener = InventoryOpener(
            database,
            registry,
            id_column=inventory.id_column,
            ignored=inventory.ignored,
            cache=inventory.cache,
        )
        parts = [part for part in map(opener.open, sources) if part is not None]
        for number, part in enumerate(parts, 1):
            show_part(part, number, len(parts))
            findings += validate_part(database, part)
        shared = duplicates_of(database, parts)
    devices = sum(part.rows for part in parts)
    if as_json:
        print_json(
            {
                "devices": devices,
                "findings": [finding.to_jsonable() for finding in findings],
                "problems": [str(problem) for problem in opener.problems],
                "devices_in_several_files": shared,
            }
        )
    else:
        show_findings(opener.problems)
        show_inventory_findings(findings)
        if shared:
            noun = "device is" if shared == 1 else "devices are"
            show(f"{shared:,} {noun} in several files; name each device once")
    count = len(findings) + len(opener.problems) + bool(shared)
    show(f"{count_text(devices, 'device')} checked: {count_text(count, 'finding')}", err=True)
    return 1 if count else 0
