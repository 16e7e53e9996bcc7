"""`Outcome`, the end of a check, and the errors that a check raises unless it passes."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager


class Outcome(enum.Enum):
    """The end of a check."""

    PASSED = "passed"
    """The backend does what the check requires."""
    FAILED = "failed"
    """The backend does not; the message says what was seen, what was expected and what to do."""
    XFAILED = "xfailed"
    """It failed, and the file of expected failures lists it."""
    XPASSED = "xpassed"
    """It passed although the file of expected failures lists it: remove the line."""
    UNDECLARED = "undeclared"
    """The backend does not declare the capability that the check requires; never a pass."""
    NOT_APPLICABLE = "not-applicable"
    """The backend has nothing that the check could examine."""
    NOT_DELEGATED = "not-delegated"
    """No program that the check needs delegates to the backend, so nothing was run."""
    NOT_JUDGED = "not-judged"
    """A check that it rests on failed, so it was not run: it would fail for the same cause."""
    CRASHED = "crashed"
    """The process of the check was killed, or ended by itself."""
    TIMED_OUT = "timed-out"
    """The check exceeded its time limit."""

    @property
    def is_loss(self) -> bool:
        """True if the check cost its process; in the kit's own process, the next check might end the kit."""
        return self in {Outcome.CRASHED, Outcome.TIMED_OUT}

    @property
    def is_cause(self) -> bool:
        """True if other checks would fail for the same cause: those that rest on this one are not judged."""
        return not self.is_good and self is not Outcome.XPASSED

    @property
    def is_good(self) -> bool:
        """True if a level can be reached with this outcome."""
        return self in {Outcome.PASSED, Outcome.XFAILED, Outcome.UNDECLARED, Outcome.NOT_APPLICABLE}


class CheckFailedError(Exception):
    """The backend does not do what the check requires; the message says what was seen and expected."""


@contextmanager
def suggesting(fix: str, *, where: str = "") -> Iterator[None]:
    """Complete the message of a failure inside: `where` it was seen, and the `fix`."""
    try:
        yield
    except CheckFailedError as error:
        raise CheckFailedError(f"{where}{', ' if where else ''}{error}; {fix}") from None


class NotApplicableError(Exception):
    """The check has nothing to examine; the message says why."""


class NotDelegatedError(Exception):
    """No program that the check needs delegates to the backend; the message says which are missing."""
