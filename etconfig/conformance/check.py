"""`check`: makes a check of the kit out of a function."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from etconfig.records import record

if TYPE_CHECKING:
    from etconfig.conformance.subject import Subject

KIT = "1.0"
"""The version of the kit: checks that a later 1.N adds are advisory for who pins an earlier one."""

LEVELS = {0: "loads", 1: "runs", 2: "isolates and survives", 3: "does everything it declares"}
"""The levels, and what a backend does that reached one."""


class Outcome(enum.Enum):
    """How a check ended."""

    PASSED = "passed"
    """The backend does what the check is about."""
    FAILED = "failed"
    """The backend does not; the message says what was seen and what was expected."""
    XFAILED = "xfailed"
    """It failed, as a line of the expected failures says."""
    XPASSED = "xpassed"
    """It passed, although a line of the expected failures says otherwise: remove the line."""
    UNDECLARED = "undeclared"
    """The backend does not declare what the check is about; never a pass."""
    NOT_APPLICABLE = "not-applicable"
    """There is nothing of the backend that the check could look at."""
    NOT_DELEGATED = "not-delegated"
    """No program of the check's delegates to the backend, so nothing was seen."""
    CRASHED = "crashed"
    """The process that the check ran in was killed, or ended on its own."""
    TIMED_OUT = "timed-out"
    """The check took longer than it may."""

    @property
    def is_loss(self) -> bool:
        """Whether it cost the check its process; in that of the kit, the backend may do so again."""
        return self in {Outcome.CRASHED, Outcome.TIMED_OUT}

    @property
    def is_good(self) -> bool:
        """Whether a level can be reached with it."""
        return self in {Outcome.PASSED, Outcome.XFAILED, Outcome.UNDECLARED, Outcome.NOT_APPLICABLE}


class CheckFailedError(Exception):
    """The backend does not do what the check is about; the message says what was seen and expected."""


@contextmanager
def advising(advice: str, *, where: str = "") -> Iterator[None]:
    """Tell of failures inside `where` they were seen, and what to do."""
    try:
        yield
    except CheckFailedError as error:
        raise CheckFailedError(f"{where}{', ' if where else ''}{error}; {advice}") from None


class NotApplicableError(Exception):
    """There is nothing for the check to look at; the message says why."""


class NotDelegatedError(Exception):
    """No program that the check needs delegates to the backend; the message says which are missing."""


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


def is_newer(since: str, kit: str) -> bool:
    """Whether a check came after the version of the kit that a vendor pins."""
    return tuple(map(int, since.split("."))) > tuple(map(int, kit.split(".")))
