"""The difference of two fact sheets, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.cli.shared.format import format_known
from etconfig.cli.shared.output import show

if TYPE_CHECKING:
    from etconfig.facts.difference import SheetDifference
    from etconfig.facts.sheet import FactSheet


def print_difference(old: FactSheet, new: FactSheet, difference: SheetDifference) -> None:
    """Print a line for each fact: `-` only before, `+` only now, `~` another value."""
    for name in difference.removed:
        show(f"- {name}  {format_known(old, name)}")
    for name in difference.added:
        show(f"+ {name}  {format_known(new, name)}")
    for name in difference.changed:
        show(f"~ {name}  {format_known(old, name)} -> {format_known(new, name)}")
    if not difference:
        show("The facts are the same.")
