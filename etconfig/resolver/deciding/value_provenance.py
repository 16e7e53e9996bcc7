"""`Provenance`: where the value of an option came from, what it beat, and the facts it depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from etconfig.base.plain_data import jsonable
from etconfig.base.provenance import Origin, Sourced
from etconfig.base.records import record
from etconfig.profile.layer import UNSET
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, count_text, shown_text
from etconfig.schema.coerce import show_value


@record(frozen=True, kw_only=True)
class Provenance(HasView):
    """The origin of a value with the values that it beat.

    Attributes:
        winner: The value and its origin.
        beaten: The values that it beat, the strongest first; `UNSET` is among them where it was written. Of a
            table, only the keys that were beaten.
        facts: The facts that the value depends on, including the facts of conditions that do not hold.
        keys: For a table, the origin of each key: tables merge key by key.
        reason: Why the vendor recommends the value, in a sentence; empty if another source decided, or the
            vendor gives no reason.
    """

    winner: Sourced[object]
    beaten: tuple[Sourced[object], ...] = ()
    facts: tuple[str, ...] = ()
    keys: Mapping[str, Origin] = field(default_factory=dict, compare=False)
    reason: str = field(default="", compare=False)

    @property
    def origins(self) -> tuple[Origin, ...]:
        """The origins of the value and of the keys that come from elsewhere."""
        return tuple(dict.fromkeys((self.winner.origin, *self.keys.values())))

    def __repr__(self) -> str:
        beaten = f"; beat {count_text(len(self.beaten), 'other value')}" if self.beaten else ""
        return f"<Provenance: {_value_text(self.winner)} from {shown_text(str(self.winner.origin))}{beaten}>"

    def _view(self) -> View:
        lines = [self.reason] if self.reason else []
        return View(
            title=f"{_value_text(self.winner)} from {self.winner.origin}",
            lines=[*lines, f"depends on {', '.join(self.facts)}"] if self.facts else lines,
            tables=(provenance_table("", self),),
        )

    def to_jsonable(self) -> dict[str, Any]:
        """Return the provenance as plain data."""
        keys = {key: _origin_data(origin) for key, origin in self.keys.items()}
        return {
            **_sourced_data(self.winner),
            **({"keys": keys} if keys else {}),
            **({"reason": self.reason} if self.reason else {}),
            "beat": [_sourced_data(beaten) for beaten in self.beaten],
            "facts": list(self.facts),
        }


def provenance_table(caption: str, provenance: Provenance) -> Table:
    """Return the value and the values that it beat as a table."""
    rows = [("wins", _value_text(provenance.winner), str(provenance.winner.origin))]
    if len(provenance.origins) > 1:
        rows += [(f"key {key!r}", "", str(origin)) for key, origin in provenance.keys.items()]
    rows += [("beat", _value_text(each), str(each.origin)) for each in provenance.beaten]
    return Table(caption=caption, headers=("", "VALUE", "FROM"), rows=rows)


def _value_text(sourced: Sourced[object]) -> str:
    return "unset" if sourced.value is UNSET else show_value(sourced.value)


def _sourced_data(sourced: Sourced[object]) -> dict[str, Any]:
    value = {"unset": True} if sourced.value is UNSET else jsonable(sourced.value)
    return {"value": value, "origin": _origin_data(sourced.origin)}


def _origin_data(origin: Origin) -> dict[str, Any]:
    fields = {
        "kind": origin.kind.value,
        "source": origin.source,
        "line": origin.line,
        "column": origin.column,
        "detail": origin.detail,
    }
    return {name: value for name, value in fields.items() if value is not None}
