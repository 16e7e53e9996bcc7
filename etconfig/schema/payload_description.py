"""The contents and the needs of a payload, as its backend's plugin reads them from the bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from etconfig.base.records import record


def _check_texts(name: str, texts: object) -> None:
    """Refuse what is not a list or tuple of texts, each with something in it. Raises TypeError."""
    if not isinstance(texts, (list, tuple)) or not all(isinstance(each, str) and each for each in texts):
        raise TypeError(f"{name} of a PayloadDescription must be texts, not {texts!r:.80}")


@record(frozen=True)
class PayloadNeed:
    """A condition on a device that a payload has, and the reason.

    Both expressions are written in the language of profiles. An unknown fact leaves the need undecided.

    Example:
        >>> from etconfig.plugin.v1 import PayloadNeed
        >>> PayloadNeed('cpu.arch == "arm64"', reason="it is compiled for arm64", found="cpu.arch").reason
        'it is compiled for arm64'

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
        texts = (self.condition, self.reason, *(() if self.found is None else (self.found,)))
        if not all(isinstance(each, str) and each.strip() for each in texts):
            raise TypeError(f"{self!r:.200} has a field that is not a text, or is empty")


@record(frozen=True, kw_only=True)
class PayloadDescription:
    """The contents of a payload and the devices that it fits, read from its bytes.

    Attributes:
        operators: The number of operators by name, in the payload's own terms.
        target: The device or processor that it is compiled for; None if it fits any.
        sdk_version: The version of the engine or compiler that made it; None if it says none.
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
        if not all(isinstance(name, str) and type(count) is int for name, count in counts):
            raise TypeError("operators of a PayloadDescription must be numbers by name")
        for text in (self.target, self.sdk_version):
            if not (text is None or isinstance(text, str)):
                raise TypeError(f"target and sdk_version of a PayloadDescription are texts, not {text!r:.80}")
        if not isinstance(self.needs, (list, tuple)) or not all(
            isinstance(each, PayloadNeed) for each in self.needs
        ):
            raise TypeError("needs of a PayloadDescription must be a list of PayloadNeed")
        _check_texts("notes", self.notes)
