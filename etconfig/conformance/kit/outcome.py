"""How a check ends: `Outcome`, and what a check raises when it does not pass."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager


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
def suggesting(fix: str, *, where: str = "") -> Iterator[None]:
    """Tell of failures inside `where` they were seen, and what to do."""
    try:
        yield
    except CheckFailedError as error:
        raise CheckFailedError(f"{where}{', ' if where else ''}{error}; {fix}") from None


class NotApplicableError(Exception):
    """There is nothing for the check to look at; the message says why."""


class NotDelegatedError(Exception):
    """No program that the check needs delegates to the backend; the message says which are missing."""
