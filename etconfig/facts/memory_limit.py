"""`limit_of_memory`: the memory that a device has for a program, by its facts."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.base.number_text import format_bytes
from etconfig.base.records import record


@record(frozen=True)
class MemoryLimit:
    """The memory that a device has for a program.

    Attributes:
        size_bytes: The number of bytes.
        kind: `free` if it is the fact `memory.available`, `in total` if only `memory.total` is known.
    """

    size_bytes: int
    kind: str

    def __str__(self) -> str:
        return f"{format_bytes(self.size_bytes)} {self.kind}"


def limit_of_memory(facts: Mapping[str, object]) -> MemoryLimit | None:
    """Return the limit by the known facts of a device; None if they say nothing of its memory."""
    for name, kind in (("memory.available", "free"), ("memory.total", "in total")):
        value = facts.get(name)
        if isinstance(value, int):
            return MemoryLimit(value, kind)
    return None
