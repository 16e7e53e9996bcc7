"""`diff_sheets`: the facts of two sheets that differ in their values, whatever their origins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from etconfig.base.records import record
from etconfig.facts.registry import FactValue, Volatility
from etconfig.facts.sheet import FactSheet

FactChange: TypeAlias = "tuple[FactValue, FactValue]"
"""The value before and after."""


@record(frozen=True, kw_only=True)
class SheetDifference:
    """The changes from one sheet to another. An unknown fact counts as absent.

    Attributes:
        added: Facts that only the new sheet knows, with their values.
        removed: Facts that only the old sheet knows, with their values.
        changed: Facts with different values, the old value first.
    """

    added: Mapping[str, FactValue]
    removed: Mapping[str, FactValue]
    changed: Mapping[str, FactChange]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def to_jsonable(self) -> dict[str, object]:
        """Return the difference as plain data; a changed fact is an object with `old` and `new`."""
        changed = {name: {"old": old, "new": new} for name, (old, new) in self.changed.items()}
        return {"added": dict(self.added), "removed": dict(self.removed), "changed": changed}


def diff_sheets(old: FactSheet, new: FactSheet, *, ignore_live: bool = False) -> SheetDifference:
    """Compare the values of two sheets. Origins do not count; units are fixed by the registry.

    Args:
        old: The sheet before.
        new: The sheet after.
        ignore_live: True to leave out facts that may change at any time, such as the available memory.
    """
    before, after = (_compared(sheet, ignore_live) for sheet in (old, new))
    was, now = old.shown_values, new.shown_values
    return SheetDifference(
        added={name: now[name] for name in after if name not in before},
        removed={name: was[name] for name in before if name not in after},
        changed={
            name: (was[name], now[name]) for name in before if name in after and before[name] != after[name]
        },
    )


def _compared(sheet: FactSheet, ignore_live: bool) -> dict[str, FactValue]:
    return {
        name: value
        for name, value in sheet.values.items()
        if not (ignore_live and sheet[name].volatility is Volatility.LIVE)
    }
