"""The option `--memory`, and the memory that instances need, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.output import show, show_tables

if TYPE_CHECKING:
    from etconfig.facts.sheet import FactSheet
    from etconfig.memory.need import MemoryNeed

memory_option = click.option(
    "--memory",
    "with_memory",
    is_flag=True,
    help="Estimate the memory that all instances need together.",
)


def print_need(need: MemoryNeed, device: FactSheet) -> None:
    """Print a need on stdout, beside the memory of a device."""
    show()
    show(f"memory: {need.fit(device)}")
    for line in need.notes:
        show(f"  {line}")
    show_tables(need.tables)
