"""`check`: the decorator that makes a function a check of the kit."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from etconfig.base.records import record

if TYPE_CHECKING:
    from etconfig.conformance.subject.subject import Subject


@record(frozen=True, kw_only=True)
class Check:
    """One check of the kit.

    Attributes:
        id: Kebab-case name, such as `destroy-once`; its meaning never changes.
        level: The level that requires it.
        prevents: A few words on what goes wrong without it.
        run: Returns if the backend passes, raises CheckFailedError if not.
        rests_on: The ids of checks without which this one says nothing: if one of them fails, this one is
            not judged, since it would fail for the same cause.
        requires: The capabilities that must be declared, as attributes of `Capabilities`, or a dim
            order; without them the outcome is `undeclared`.
        since: The version of the kit that added it.
        is_isolated: True if it runs in its own process, with limits of time and memory.
        is_fresh: True if its process must be a new one, in which nothing was imported before.
        timeout_seconds: The time limit of an isolated check.
    """

    id: str
    level: int
    prevents: str
    run: Callable[[Subject], None]
    rests_on: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    since: str = "1.0"
    is_isolated: bool = False
    is_fresh: bool = False
    timeout_seconds: float = 60.0

    @property
    def allows_xfail(self) -> bool:
        """True if its level can be reached although it fails, provided that this is expected."""
        return self.level > 1

    @property
    def doc(self) -> str:
        """The first paragraph of its docstring in a line: the rule that it verifies."""
        return " ".join((inspect.getdoc(self.run) or "").partition("\n\n")[0].split())


def check(
    check_id: str,
    *,
    level: int,
    prevents: str,
    rests_on: tuple[str, ...] = (),
    requires: tuple[str, ...] = (),
    since: str = "1.0",
    isolated: bool = False,
    fresh: bool = False,
    timeout_seconds: float = 60.0,
) -> Callable[[Callable[[Subject], None]], Check]:
    """Return a decorator that makes a function a check; see `Check` for the arguments."""

    def decorate(function: Callable[[Subject], None]) -> Check:
        return Check(
            id=check_id,
            level=level,
            prevents=prevents,
            run=function,
            rests_on=rests_on,
            requires=requires,
            since=since,
            is_isolated=isolated or fresh,
            is_fresh=fresh,
            timeout_seconds=timeout_seconds,
        )

    return decorate
