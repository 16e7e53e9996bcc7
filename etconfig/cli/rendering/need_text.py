"""The memory that a program needs, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.cli.shared.output import print_table, show

if TYPE_CHECKING:
    from etconfig.facts.memory_limit import MemoryLimit
    from etconfig.memory.need import MemoryNeed

_MAX_HOLDERS = 20


def print_need(need: MemoryNeed, limit: MemoryLimit | None) -> None:
    """Print a need on stdout, with the memory that the device has."""
    show(f"memory: needs {need.peak}{'' if limit is None else f', has {limit}'}")
    for line in need.notes:
        show(f"  {line}")
    print_table(("  PART", "SIZE", "ORIGIN", "CERTAINTY"), [(f"  {row[0]}", *row[1:]) for row in need.rows])
    holders = [(f"  {each.name}", str(each.amount)) for each in need.holders[:_MAX_HOLDERS]]
    print_table(("  HOLDER", "SIZE"), holders)
    if len(need.holders) > _MAX_HOLDERS:
        show(f"  and {len(need.holders) - _MAX_HOLDERS} more")
