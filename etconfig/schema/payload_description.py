"""The contents and the needs of a payload, as its backend's plugin reads them from the bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from etconfig.base.records import record


@record(frozen=True)
class PayloadNeed:
    """A condition on a device that a payload has, and the reason.

    Both expressions are written in the language of profiles. An unknown fact leaves the need undecided.

    Attributes:
        condition: The condition that a device must meet.
        reason: Why, in a sentence about the payload without a period: `it is compiled for HTP v75`.
        found: The device's counterpart, an expression that is a text; by default, the facts in the condition.

    Raises:
        TypeError: a field is not a text, or is empty.
    """

    condition: str
    reason: str = field(kw_only=True)
    found: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for text in (self.condition, self.reason, *([] if self.found is None else [self.found])):
            if not isinstance(text, str) or not text.strip():
                raise TypeError(f"{self!r:.200} has a field that is not a text, or is empty")


@record(frozen=True, kw_only=True)
class PayloadDescription:
    """The contents of a payload and the devices that it fits, read from its bytes.

    Attributes:
        operators: The number of operators by name, in the payload's own terms.
        target: The device or processor that it is compiled for; None if it fits any.
        sdk_version: The engine or compiler that made it, with its version; None if it says none.
        needs: The conditions on a device's facts.
        notes: Further sentences for users.

    Raises:
        TypeError: a field has a wrong type.
    """

    operators: Mapping[str, int] = field(default_factory=dict)
    target: str | None = None
    sdk_version: str | None = None
    needs: Sequence[PayloadNeed] = ()
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        counts = self.operators.items() if isinstance(self.operators, Mapping) else [(None, None)]
        checks = {
            "operators must be numbers by name": (
                (type(n), type(count)) == (str, int) for n, count in counts
            ),
            "target and sdk_version must be texts": (
                each is None or isinstance(each, str) for each in (self.target, self.sdk_version)
            ),
            "needs must be a list of PayloadNeed": _are(PayloadNeed, self.needs),
            "notes must be a list of texts": _are(str, self.notes),
        }
        for rule, results in checks.items():
            if not all(results):
                raise TypeError(f"of a PayloadDescription, {rule}")


def _are(kind: type, items: object) -> list[bool]:
    return [isinstance(each, kind) for each in items] if isinstance(items, (list, tuple)) else [False]
