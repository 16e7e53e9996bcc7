"""What a resolver remembers of its last resolve, so that the next one repeats only what must change.

One resolve is remembered, not many: facts change one at a time, what did not change is then at
hand, and memory stays that of one result. A `Snapshot` never changes once it is made, and a
memo takes a new one by one assignment. So threads need no lock: all that a race can do is to
compute something twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from etconfig.diagnostics import Diagnostic
from etconfig.records import record
from etconfig.resolver.advice import Advice
from etconfig.resolver.arguments import Arguments
from etconfig.resolver.backend_chains import Outcome

Slot: TypeAlias = "tuple[str, str | None]"
"""A method and one of its instances; None is the default instance."""


@record(frozen=True, kw_only=True)
class Snapshot:
    """One resolve that succeeded; the sequences are in the order of the `Groups` that made it.

    Attributes:
        facts: The values of the facts that have a say.
        held: What the conditions came to, by identity.
        advice: The vendors' advice, by backend id.
        outcomes: What each group came to.
        slots: The arguments of each slot, or what is wrong with them.
        arguments: The arguments of the slots that have them.
        incomplete: What is wrong with those of the others.
    """

    facts: tuple[object, ...]
    held: Mapping[int, bool]
    advice: Mapping[str, Advice]
    outcomes: Sequence[Outcome]
    slots: Sequence[Arguments | Sequence[Diagnostic]]
    arguments: Mapping[Slot, Arguments]
    incomplete: Mapping[Slot, Sequence[Diagnostic]]


@dataclass
class Memo:
    """The last snapshot. It does not travel: a copy of a resolver starts with an empty one."""

    snapshot: Snapshot | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return Memo, ()
