"""Tables of `etconfig fleet`, as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.cli.shared.output import print_json, print_table, show, show_tables
from etconfig.cli.shared.writing import write_file
from etconfig.report.model import View, part_text
from etconfig.report.page.page_writer import PAGE, html_page

if TYPE_CHECKING:
    from etconfig.fleet.inventory.column_validation import InventoryFinding
    from etconfig.fleet.running.part_result import PartResult


def give_tables(view: View, data: object, page: Path | None, *, as_json: bool) -> None:
    """Print tables, or their data as JSON, and write them as an HTML page if that is requested."""
    if as_json:
        print_json(data)
    else:
        show_tables(view.tables)
    if page is not None:
        write_file(page, html_page(view).encode(), PAGE)


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
