"""`Result`: how one check ended."""

from __future__ import annotations

from typing import Any

from etconfig.conformance.kit.outcome import Outcome
from etconfig.records import record


@record(frozen=True, kw_only=True)
class Result:
    """How one check ended.

    Attributes:
        check_id: The check.
        outcome: How it ended.
        message: What was seen, or why nothing could be; None for a check that passed.
        seconds: How long it took.
        reason: Why it was expected to fail, from the expected failures.
        is_advisory: It is newer than the kit that the vendor pins, and counts for nothing.
    """

    check_id: str
    outcome: Outcome
    message: str | None = None
    seconds: float = 0.0
    reason: str | None = None
    is_advisory: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain data, for reports and `from_json`."""
        return {
            "check": self.check_id,
            "outcome": self.outcome.value,
            "message": self.message,
            "seconds": round(self.seconds, 6),
            "reason": self.reason,
            "advisory": self.is_advisory,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Result:
        """What `to_json` gave."""
        return cls(
            check_id=data["check"],
            outcome=Outcome(data["outcome"]),
            message=data["message"],
            seconds=data["seconds"],
            reason=data["reason"],
            is_advisory=data["advisory"],
        )
