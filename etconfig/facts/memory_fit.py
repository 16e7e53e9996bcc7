"""`MemoryFit`: a need of memory beside the memory that a device has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from etconfig.base.number_text import format_bytes
from etconfig.base.records import record

MAX_MARGIN = 1_000_000
"""The largest share of a need that may be asked to stay free."""


def with_margin(needed_bytes: int, margin: float) -> int:
    """Return a need with a share of it that shall stay free: 0.1 asks for 10 % more."""
    return math.ceil(needed_bytes * (1 + margin))


@record(frozen=True)
class MemoryFit:
    """A need of memory beside the memory that a device has.

    Attributes:
        needed_bytes: The need.
        available_bytes: The fact `memory.available`, or `memory.total` if only that is known, or None.
        kind: `free` or `in total`, by the fact.
    """

    needed_bytes: int
    available_bytes: int | None = None
    kind: str = ""

    @classmethod
    def of(cls, needed_bytes: int, facts: Mapping[str, object]) -> MemoryFit:
        """Compare a need with the known facts of a device."""
        for name, kind in (("memory.available", "free"), ("memory.total", "in total")):
            value = facts.get(name)
            if isinstance(value, int):
                return cls(needed_bytes, value, kind)
        return cls(needed_bytes)

    @property
    def fits(self) -> bool | None:
        """True if the device has enough; None if nothing is known of its memory."""
        return None if self.available_bytes is None else self.needed_bytes <= self.available_bytes

    def __str__(self) -> str:
        has = "unknown" if self.available_bytes is None else format_bytes(self.available_bytes)
        return f"needs {format_bytes(self.needed_bytes)}, has {has} {self.kind}".rstrip()

    def to_jsonable(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        return {"needed_bytes": self.needed_bytes, "available_bytes": self.available_bytes, "fits": self.fits}
