"""Tables of `etconfig fleet`, as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.cli.shared.output import print_table, show
from etconfig.cli.shared.writing import check_can_write, write_file
from etconfig.display import part_text

if TYPE_CHECKING:
    from etconfig.fleet.inventory.validation import InventoryFinding
    from etconfig.fleet.running.html import FleetTable
    from etconfig.fleet.running.part_result import PartResult


def show_fleet_tables(title: str, tables: Sequence[FleetTable], page: Path | None) -> None:
    """Print tables, and write them as HTML if that is requested."""
    shown = [table for table in tables if table.rows]
    for number, table in enumerate(shown):
        if number:
            show()
        show(f"{table.title}:")
        print_table(table.headers, table.texts)
    write_fleet_page(title, shown, page)


def check_fleet_page(page: Path | None) -> None:
    """Check, before long work begins, that `write_fleet_page` can write."""
    from etconfig.fleet.running.html import PAGE

    if page is not None:
        check_can_write(page, PAGE)


def write_fleet_page(title: str, tables: Sequence[FleetTable], page: Path | None) -> None:
    """Write tables as an HTML page, if that is requested."""
    from etconfig.fleet.running.html import PAGE, html_page

    if page is not None:
        write_file(page, html_page(title, tables).encode(), PAGE)


def is_covered(result: PartResult, required: float | None) -> bool:
    """Return True if enough devices get options; else say so."""
    if not required or (result.devices and result.resolved >= required * result.devices):
        return True
    if not result.devices:
        show("there are no devices, so none gets options", err=True)
        return False
    missing = result.devices - result.resolved
    gets = part_text(missing, result.devices, "device", "get")
    show(f"{gets} no options, but --require-coverage is {100 * required:.6g}%", err=True)
    return False


def show_inventory_findings(findings: Sequence[InventoryFinding]) -> None:
    """Print the findings of an inventory as a table."""
    if not findings:
        return
    several = len({finding.label for finding in findings}) > 1
    kinds = dict.fromkeys("FIRST SHEETS" if finding.sheets else "FIRST ROWS" for finding in findings)
    headers = ("FACT", "PROBLEM", "DEVICES", " OR ".join(sorted(kinds, reverse=True)), "VALUES")
    rows = [
        (
            *((finding.label,) if several else ()),
            finding.fact,
            finding.problem if finding.help is None else f"{finding.problem}; {finding.help}",
            f"{finding.devices:,}",
            ", ".join(_row_texts(finding)),
            ", ".join(finding.values),
        )
        for finding in findings
    ]
    print_table(("FILE", *headers) if several else headers, rows)


def _row_texts(finding: InventoryFinding) -> list[str]:
    rows = [str(row) for row in finding.sheets or finding.rows]
    if not finding.earlier:
        return rows
    return [f"{row} (as {first})" for row, first in zip(rows, finding.earlier, strict=True)]
