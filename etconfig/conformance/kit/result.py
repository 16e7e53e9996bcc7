"""`Result`: the outcome of one check, with its message."""

from __future__ import annotations

from typing import Any

from etconfig.base.records import record
from etconfig.conformance.kit.outcome import Outcome


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
