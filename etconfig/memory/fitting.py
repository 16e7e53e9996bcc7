"""`memory_problem`: a program that needs more memory than the device has, as a diagnostic."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.diagnostics import Diagnostic, Severity
from etconfig.facts.memory_limit import MemoryLimit, limit_of_memory
from etconfig.memory.need import MemoryNeed

_MAX_HOLDERS = 4
"""The most holders that the note names."""


def memory_problem(need: MemoryNeed, facts: Mapping[str, object]) -> Diagnostic | None:
    """Return an error if a device can never have the memory, a warning if it has too little now, or None.

    Args:
        need: The need.
        facts: The values of the known facts by name; `memory.total` and `memory.available` are read.
    """
    total_bytes, limit = facts.get("memory.total"), limit_of_memory(facts)
    needed_bytes, severity = need.peak.size_bytes, Severity.WARNING
    if isinstance(total_bytes, int) and needed_bytes > total_bytes:
        severity, limit = Severity.ERROR, MemoryLimit(total_bytes, "in total")
    if limit is None or needed_bytes <= limit.size_bytes:
        return None
    holders = ", ".join(f"{each.name} {each.amount}" for each in need.holders[:_MAX_HOLDERS])
    return Diagnostic(
        code="memory-exceeded",
        message=f"{need.program} needs {need.peak}, has {limit}",
        notes=(f"the largest holders: {holders}", *need.notes),
        help="load fewer instances together, choose a smaller variant, or options that take less memory",
        severity=severity,
    )
