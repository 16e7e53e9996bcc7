"""`MemoryNeed`: the memory that programs need, by what takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from etconfig.base.number_text import format_bytes
from etconfig.base.records import record
from etconfig.errors import MemoryBudgetError
from etconfig.facts.memory_fit import MAX_MARGIN, MemoryFit, with_margin
from etconfig.facts.sheet import FactSheet
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View

MemoryOrigin: TypeAlias = Literal["read", "measured", "declared", "assumed"]
"""The source of a size: the program, a measurement, a backend's vendor, or none, the surest first."""

_ORIGINS: tuple[MemoryOrigin, ...] = ("read", "measured", "declared", "assumed")


@record(frozen=True)
class MemoryAmount:
    """A number of bytes.

    Attributes:
        size_bytes: The number.
        origin: Its source; of a sum the least sure one.
    """

    size_bytes: int = 0
    origin: MemoryOrigin = "read"

    @property
    def certainty(self) -> str:
        """`exact` for sizes that are read, else `estimate`."""
        return "exact" if self.origin == "read" else "estimate"

    def __add__(self, other: MemoryAmount) -> MemoryAmount:
        origin = max(self.origin, other.origin, key=_ORIGINS.index)
        return MemoryAmount(self.size_bytes + other.size_bytes, origin)

    def __str__(self) -> str:
        return format_bytes(self.size_bytes)

    def to_jsonable(self) -> dict[str, Any]:
        """Return the amount as plain data."""
        return {"bytes": self.size_bytes, "origin": self.origin, "certainty": self.certainty}


PARTS = ("constants", "arenas", "kernels", "payloads", "backend", "inputs")
"""The amounts of a `MemoryNeed` before the peak, in the order of reports."""


@record(frozen=True, kw_only=True)
class MemoryNeed(HasView):
    """The memory that programs need, when all instances are loaded one after another and then run.

    The process with its libraries comes on top.

    Attributes:
        program: The paths of the programs; `program` for one in memory.
        constants: The tables of the programs, and the constants of their methods, once for all instances. In
            a mapped file they count, although the system can take their pages back.
        arenas: The planned memory of all instances; on the numpy executor as much of it as is used.
        kernels: The working memory of the numpy executor's kernels, and the constants that they convert.
        payloads: The payloads and named data that are read to load them. Most backends free them.
        backend: What the backends make of them, and hold.
        inputs: The inputs outside of the planned memory, and the outputs that are returned.
        peak: The most memory at one time, which is less than the sum: payloads are freed.
        holders: What holds memory in the end, such as `forward@left: XnnpackBackend`, the largest first.
        notes: Sentences about what is assumed.
    """

    program: str
    constants: MemoryAmount
    arenas: MemoryAmount
    kernels: MemoryAmount
    payloads: MemoryAmount
    backend: MemoryAmount
    inputs: MemoryAmount
    peak: MemoryAmount
    holders: Mapping[str, MemoryAmount]
    notes: tuple[str, ...] = ()

    def fit(self, facts: FactSheet, margin: float = 0.0) -> MemoryFit:
        """Compare the peak with the memory of a device.

        Args:
            facts: The device. `memory.available` counts, or `memory.total` if that is unknown.
            margin: The share of the need that shall stay free: 0.1 asks for 10 % more.

        Raises:
            ValueError: the margin is not a number from 0 to 1,000,000.
        """
        if not 0 <= margin <= MAX_MARGIN:
            given = "too large" if margin > MAX_MARGIN else margin
            raise ValueError(f"margin is {given}; expected a share of the need, such as 0.1")
        return MemoryFit.of(with_margin(self.peak.size_bytes, margin), facts.values)

    def check(self, facts: FactSheet, margin: float = 0.0) -> None:
        """Refuse programs that do not fit, before they are loaded.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> etconfig.memory_need(program).check(etconfig.detect_facts(), margin=0.1)

        Args:
            facts: The device.
            margin: As for `fit`.

        Raises:
            MemoryBudgetError: they do not fit, or nothing is known of the memory; the error has the holders.
            ValueError: as for `fit`.
        """
        fit = self.fit(facts, margin)
        if not fit.fits:
            raise MemoryBudgetError(
                program=self.program,
                needed_bytes=fit.needed_bytes,
                available_bytes=fit.available_bytes,
                holders=tuple((name, each.size_bytes) for name, each in self.holders.items()),
            )

    def to_jsonable(self) -> dict[str, Any]:
        """Return the need as plain data."""
        holders = [{"name": name, **each.to_jsonable()} for name, each in self.holders.items()]
        parts = {part: getattr(self, part).to_jsonable() for part in (*PARTS, "peak")}
        return {"program": self.program, **parts, "holders": holders, "notes": list(self.notes)}

    @property
    def tables(self) -> tuple[Table, Table]:
        """The parts that take memory, and the holders, for people."""
        amounts: dict[str, MemoryAmount] = {part: getattr(self, part) for part in (*PARTS, "peak")}
        parts = [
            (part, str(each), each.origin, each.certainty)
            for part, each in amounts.items()
            if each.size_bytes or part == "peak"
        ]
        holders = [(name, str(each)) for name, each in self.holders.items()]
        return (
            Table(headers=("PART", "SIZE", "ORIGIN", "CERTAINTY"), rows=parts),
            Table(headers=("HOLDER", "SIZE"), rows=holders),
        )

    def _view(self) -> View:
        title = f"MemoryNeed: {self.program}, {self.peak} at most"
        return View(title=title, lines=self.notes, tables=self.tables)

    def __repr__(self) -> str:
        return f"<MemoryNeed: {self.peak} at most>"
