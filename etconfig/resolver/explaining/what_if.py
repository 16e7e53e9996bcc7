"""`WhatIf`: the difference that other facts make to a resolution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic

from etconfig.base.provenance import Sourced
from etconfig.base.records import record
from etconfig.facts.registry import FactValue
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, count_text, shown_names, shown_text
from etconfig.resolver.deciding.resolved import ResolvedT
from etconfig.resolver.explaining.difference import OptionChange, ReportedValue, differences, reported_values
from etconfig.schema.coerce import show_value


@record(frozen=True, kw_only=True)
class WhatIf(HasView, Generic[ResolvedT]):
    """The answer to "what if these facts were different?". It is true if a profile or option changes.

    Attributes:
        facts: The facts in question, with their assumed values.
        old: The resolution as it is.
        new: The resolution on the assumed facts.
        changes: The options that differ, each with the old and the new value and their origins.
    """

    facts: Mapping[str, FactValue]
    old: ResolvedT
    new: ResolvedT
    changes: tuple[OptionChange, ...]

    @property
    def profile(self) -> tuple[str | None, str | None]:
        """The profile as it is, and on the assumed facts."""
        return self.old.profile, self.new.profile

    def __bool__(self) -> bool:
        return bool(self.changes) or self.old.profile != self.new.profile

    def to_jsonable(self) -> dict[str, Any]:
        """Return the answer as plain data."""
        return {
            "facts": dict(self.facts),
            "profile": {"old": self.old.profile, "new": self.new.profile},
            "changes": [change.to_jsonable() for change in self.changes],
        }

    def __repr__(self) -> str:
        facts = shown_names(self._fact_lines())
        return f"<WhatIf {facts}: {shown_text(self._profile_line())}; {self._count()}>"

    def _view(self) -> View:
        return View(
            title=f"What if {', '.join(self._fact_lines())}: {self._count()}",
            lines=(self._profile_line(),),
            tables=(
                Table(
                    caption="",
                    headers=("OPTION", "OLD", "FROM", "NEW", "FROM"),
                    rows=[_row(change) for change in self.changes],
                ),
            ),
        )

    def _fact_lines(self) -> list[str]:
        known = self.old.facts.values
        return [
            f"{name}: {show_value(known[name]) if name in known else 'unknown'} → {show_value(value)}"
            for name, value in self.facts.items()
        ]

    def _profile_line(self) -> str:
        old, new = self.profile
        return f"profile {old}" if old == new else f"profile {old} → {new}"

    def _count(self) -> str:
        return f"{count_text(len(self.changes), 'option')} changed" if self.changes else "no option changes"


def compare_what_if(
    old: ResolvedT, new: ResolvedT, facts: Mapping[str, Sourced[FactValue]]
) -> WhatIf[ResolvedT]:
    """Compare two resolutions, of which the second assumes some facts."""
    return WhatIf(
        facts={name: sourced.value for name, sourced in facts.items()},
        old=old,
        new=new,
        changes=differences(reported_values(old), reported_values(new)),
    )


def _row(change: OptionChange) -> tuple[str, ...]:
    return str(change.path), *_side(change.old), *_side(change.new)


def _side(reported: ReportedValue | None) -> tuple[str, str]:
    return ("(none)", "") if reported is None else (show_value(reported.value), reported.origin)
