"""`Event`: one piece of timed work."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

EventKind: TypeAlias = Literal["phase", "load", "method", "kernel", "delegate", "backend"]
"""A part of opening a program or loading a method, a whole load, a whole execute, a kernel call,
a delegate call, or a span that a backend times within a delegate call."""


class Event(NamedTuple):
    """One piece of work.

    A tuple, not a dataclass: every instruction that runs makes one, and tuples are cheaper.

    Attributes:
        name: The operator, backend id or method; for a backend's own event, a name of its choice.
        kind: The kind of work.
        start_ns: `time.perf_counter_ns()` at the beginning.
        end_ns: `time.perf_counter_ns()` at the end, also if the work failed.
        thread: The number of the thread in `RecordingTracer.threads`.
        method: The method instance, such as `forward` or `forward@left`; empty outside of any.
        run: The number of the execute that the work was part of, across all methods; None while loading.
        chain: For kernel and delegate calls and work within them, the index of the chain.
        instruction: For the same, the index of the instruction in the chain.
        debug_id: For a backend's own event, the number that its ahead-of-time half gave the work.
    """

    name: str
    kind: EventKind
    start_ns: int
    end_ns: int
    thread: int = 0
    method: str = ""
    run: int | None = None
    chain: int | None = None
    instruction: int | None = None
    debug_id: int | None = None

    @property
    def duration_ns(self) -> int:
        """The duration in nanoseconds."""
        return self.end_ns - self.start_ns
