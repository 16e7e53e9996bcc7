"""Levels of the kit, outcomes and results of checks, and the errors that a check raises unless it passes."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from etconfig.base.records import record

KIT = "1.1"
"""The version of the kit. Checks that a later 1.N adds are advisory for vendors that pin an earlier one."""

LEVELS = {0: "loads", 1: "runs", 2: "isolates and survives", 3: "does everything it declares"}
"""Each level, and what a backend that reaches it does."""


def is_newer(since: str, kit: str) -> bool:
    """Check whether a check was added after `kit`, the version that a vendor pins."""
    return tuple(map(int, since.split("."))) > tuple(map(int, kit.split(".")))


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
        """True if other checks would fail for the same cause: checks that rest on this one are not judged."""
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


@record(frozen=True, kw_only=True)
class Result:
    """The outcome of one check.

    Attributes:
        check_id: The id of the check.
        outcome: Its outcome.
        message: What was seen, or why nothing could be seen; None for a check that passed.
        seconds: The time it took.
        reason: Why it was expected to fail, from the file of expected failures; None if it was not.
        is_advisory: True if the check is newer than the kit that the vendor pins, so that it does not count.
        rests_on: The check whose failure is the root cause, if this one was not judged.
    """

    check_id: str
    outcome: Outcome
    message: str | None = None
    seconds: float = 0.0
    reason: str | None = None
    is_advisory: bool = False
    rests_on: str | None = None

    def to_jsonable(self) -> dict[str, Any]:
        """Return plain data, for reports and `from_jsonable`."""
        return {
            "check": self.check_id,
            "outcome": self.outcome.value,
            "message": self.message,
            "seconds": round(self.seconds, 6),
            "reason": self.reason,
            "advisory": self.is_advisory,
            "rests_on": self.rests_on,
        }

    @classmethod
    def from_jsonable(cls, data: dict[str, Any]) -> Result:
        """Return the result that `to_jsonable` described."""
        return cls(
            check_id=data["check"],
            outcome=Outcome(data["outcome"]),
            message=data["message"],
            seconds=data["seconds"],
            reason=data["reason"],
            is_advisory=data["advisory"],
            rests_on=data["rests_on"],
        )
