"""`check`: makes a check of the kit out of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from etconfig.records import record

if TYPE_CHECKING:
    from etconfig.conformance.subject.subject import Subject


@record(frozen=True, kw_only=True)
class Check:
    """One check.

    Attributes:
        id: Kebab-case name, such as `destroy-once`; it never changes its meaning.
        level: The level that needs it.
        prevents: What goes wrong without it, in a few words.
        run: Returns when the backend does it, raises CheckFailedError when not.
        requires: The capabilities that must be declared, as attributes of `Capabilities`, or a dim
            order; without them the outcome is `undeclared`.
        since: The version of the kit that brought it.
        is_isolated: It runs in a process of its own, with limits of time and memory.
        timeout_seconds: How long an isolated check may take.
    """

    id: str
    level: int
    prevents: str
    run: Callable[[Subject], None]
    requires: tuple[str, ...] = ()
    since: str = "1.0"
    is_isolated: bool = False
    timeout_seconds: float = 60.0

    @property
    def allows_xfail(self) -> bool:
        """Whether its level can be reached although it fails, as was expected."""
        return self.level > 1

    @property
    def doc(self) -> str:
        """What it holds: the first paragraph of its docstring, in a line."""
        return " ".join((inspect.getdoc(self.run) or "").partition("\n\n")[0].split())


def check(
    check_id: str,
    *,
    level: int,
    prevents: str,
    requires: tuple[str, ...] = (),
    since: str = "1.0",
    isolated: bool = False,
    timeout_seconds: float = 60.0,
) -> Callable[[Callable[[Subject], None]], Check]:
    """Make a check of a function; see `Check` for the arguments."""

    def decorate(function: Callable[[Subject], None]) -> Check:
        return Check(
            id=check_id,
            level=level,
            prevents=prevents,
            run=function,
            requires=requires,
            since=since,
            is_isolated=isolated,
            timeout_seconds=timeout_seconds,
        )

    return decorate
