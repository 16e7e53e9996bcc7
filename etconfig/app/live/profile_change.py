"""`ProfileChange`: another profile that `auto` selected as facts changed, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from etconfig.base.records import record
from etconfig.profile.selection import Selection
from etconfig.resolver.deciding.resolution import Resolution


@record(frozen=True, kw_only=True)
class ProfileChange:
    """Another profile that `auto` selected.

    Attributes:
        old: The name of the profile before.
        new: The name of the selected one.
        reasons: The reasons: the clauses that decide, with the facts that they read.
    """

    old: str
    new: str
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return a line such as `profile app/battery → app/mains`."""
        return f"profile {self.old} → {self.new}"

    def to_jsonable(self) -> dict[str, Any]:
        """Return the change as plain data."""
        return {"old": self.old, "new": self.new, "reasons": list(self.reasons)}


def profile_change(before: Resolution, after: Resolution) -> ProfileChange | None:
    """Return the change of the profile between two resolutions, or None if it is the same."""
    old, new = before.profile, after.profile
    if old is None or new is None or old == new:
        return None
    reasons = () if after.selection is None else tuple(_reasons(old, after.selection))
    return ProfileChange(old=old, new=new, reasons=reasons)


def _reasons(old: str, selection: Selection) -> Iterator[str]:
    matches = {match.profile.name: match for match in selection.matches}
    new = selection.profile.name
    yield from (f"{new} matches: {reason}" for reason in matches[new].reasons)
    before = matches.get(old)
    if before is None:
        return
    if not before.is_match:
        yield from (f"{old} no longer matches: {reason}" for reason in before.reasons)
    elif any(profile.name == old for profile in selection.chain):
        yield f"{new} extends {old}"
    else:
        yield f"{old} matches, too, but {new} comes from a closer source"
