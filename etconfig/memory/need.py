"""`MemoryNeed`: the memory that a program needs, by what takes it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from etconfig.base.number_text import format_bytes
from etconfig.base.records import record
from etconfig.errors import MemoryBudgetError
from etconfig.facts.memory_limit import limit_of_memory
from etconfig.facts.sheet import FactSheet
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View

MemoryOrigin: TypeAlias = Literal["read", "measured", "declared", "assumed"]
"""The source of a size: the program, a measurement, a backend's vendor, or none, the surest first."""

_ORIGINS: tuple[MemoryOrigin, ...] = ("read", "measured", "declared", "assumed")


@record(frozen=True, kw_only=True)
class MemoryAmount:
    """A number of bytes.

    Attributes:
        size_bytes: The number.
        origin: Its source; of a sum the least sure one.
        is_exact: True if it is exact, False if it is an estimate.
    """

    size_bytes: int = 0
    origin: MemoryOrigin = "read"
    is_exact: bool = True

    @property
    def certainty(self) -> str:
        """`exact` or `estimate`."""
        return "exact" if self.is_exact else "estimate"

    def __add__(self, other: MemoryAmount) -> MemoryAmount:
        return MemoryAmount(
            size_bytes=self.size_bytes + other.size_bytes,
            origin=max(self.origin, other.origin, key=_ORIGINS.index),
            is_exact=self.is_exact and other.is_exact,
        )

    def __str__(self) -> str:
        return format_bytes(self.size_bytes)

    def to_jsonable(self) -> dict[str, Any]:
        """Return the amount as plain data."""
        return {"bytes": self.size_bytes, "origin": self.origin, "certainty": self.certainty}


def total(amounts: Iterable[MemoryAmount]) -> MemoryAmount:
    """Return the sum of amounts."""
    return sum(amounts, MemoryAmount())


@record(frozen=True)
class MemoryHolder:
    """Something that holds memory while all methods are loaded.

    Attributes:
        name: Its name, such as `forward@left: XnnpackBackend`.
        amount: Its memory.
    """

    name: str
    amount: MemoryAmount


PARTS = ("constants", "arenas", "payloads", "backend", "inputs", "peak")
"""The amounts of a `MemoryNeed`, in the order of reports."""


@record(frozen=True, kw_only=True)
class MemoryNeed(HasView):
    """The memory that a program needs, when all its instances are loaded one after another and then run.

    The process with its libraries comes on top.

    Attributes:
        program: The path of the program, or `program` for one in memory.
        constants: The tables of the program, and the constants of its methods, once for all instances. In
            a mapped file they count, although the system can take their pages back.
        arenas: The planned memory of all instances.
        payloads: The payloads and named data that are read to load them. Most backends free them.
        backend: What the backends make of them, and hold.
        inputs: The inputs outside of the planned memory, and the outputs that are returned.
        peak: The most memory at one time, which is less than the sum: payloads are freed.
        holders: What holds memory in the end, the largest first.
        notes: Sentences about what is assumed.
    """

    program: str
    constants: MemoryAmount
    arenas: MemoryAmount
    payloads: MemoryAmount
    backend: MemoryAmount
    inputs: MemoryAmount
    peak: MemoryAmount
    holders: tuple[MemoryHolder, ...] = ()
    notes: tuple[str, ...] = ()

    def with_margin(self, margin: float = 0.0) -> int:
        """Return the bytes of the peak and a share of it.

        Raises:
            ValueError: the margin is not a number from 0 on.
        """
        if not 0 <= margin < math.inf:
            raise ValueError(f"margin is {margin}; expected a share of the need, such as 0.1")
        return math.ceil(self.peak.size_bytes * (1 + margin))

    def fits(self, facts: FactSheet, margin: float = 0.0) -> bool | None:
        """Return True if the device has the memory; None if nothing is known of its memory.

        Args:
            facts: The device. `memory.available` counts, or `memory.total` if that is unknown.
            margin: The share of the need that shall stay free: 0.1 asks for 10 % more.

        Raises:
            ValueError: as `with_margin`.
        """
        limit = limit_of_memory(facts.values)
        return None if limit is None else self.with_margin(margin) <= limit.size_bytes

    def check(self, facts: FactSheet, margin: float = 0.0) -> None:
        """Refuse a program that does not fit, before it is loaded.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> etconfig.memory_need(program).check(etconfig.detect_facts(), margin=0.1)

        Args:
            facts: The device.
            margin: As for `fits`.

        Raises:
            MemoryBudgetError: it does not fit, or nothing is known of the memory; the error has the holders.
            ValueError: as `with_margin`.
        """
        if not self.fits(facts, margin):
            limit = limit_of_memory(facts.values)
            raise MemoryBudgetError(
                program=self.program,
                needed_bytes=self.with_margin(margin),
                available_bytes=None if limit is None else limit.size_bytes,
                holders=tuple((each.name, each.amount.size_bytes) for each in self.holders),
            )

    def to_jsonable(self) -> dict[str, Any]:
        """Return the need as plain data."""
        holders = [{"name": each.name, **each.amount.to_jsonable()} for each in self.holders]
        parts = {part: getattr(self, part).to_jsonable() for part in PARTS}
        return {"program": self.program, **parts, "holders": holders, "notes": list(self.notes)}

    @property
    def rows(self) -> tuple[tuple[str, str, str, str], ...]:
        """Each part as texts: its name, size, origin and certainty."""
        amounts = ((part, getattr(self, part)) for part in PARTS)
        return tuple((part, str(amount), amount.origin, amount.certainty) for part, amount in amounts)

    def _view(self) -> View:
        table = Table(headers=("PART", "SIZE", "ORIGIN", "CERTAINTY"), rows=self.rows)
        title = f"MemoryNeed: {self.program}, {self.peak} at most"
        return View(title=title, lines=self.notes, tables=(table,))

    def __repr__(self) -> str:
        return f"<MemoryNeed: {self.peak} at most>"


def needs_together(needs: Sequence[MemoryNeed]) -> MemoryNeed:
    """Return the need of several programs together, one loaded after the other."""
    if len(needs) == 1:
        return needs[0]
    parts = {part: total(getattr(need, part) for need in needs) for part in PARTS}
    holders = sorted(
        (MemoryHolder(f"{n.program}: {each.name}", each.amount) for n in needs for each in n.holders),
        key=lambda each: -each.amount.size_bytes,
    )
    notes = dict.fromkeys(note for need in needs for note in need.notes)
    names = ", ".join(need.program for need in needs)
    return MemoryNeed(program=names, **parts, holders=tuple(holders), notes=tuple(notes))
