"""`Event`: one piece of work that was timed."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

EventKind: TypeAlias = Literal["phase", "load", "method", "kernel", "delegate", "backend"]
"""A part of opening a program or loading a method, a whole load, a whole execute, a kernel call,
a delegate call, or what a backend times within one."""


class Event(NamedTuple):
    """One piece of work.

    A tuple, not a dataclass: one is made for every instruction that runs.

    Attributes:
        name: The operator, backend id or method; a name of the backend's choice for its own.
        kind: What kind of work.
        start_ns: `time.perf_counter_ns()` when it began.
        end_ns: `time.perf_counter_ns()` when it ended, also if it failed.
        thread: The number of the thread in `RecordingTracer.threads`.
        method: The method instance, such as `forward` or `forward@left`; empty outside of any.
        run: The number of the execute that it was part of, across all methods; None while loading.
        chain: For kernel and delegate calls and what is within them, the index of the chain.
        instruction: The same, the index in the chain.
        debug_id: For a backend's own, the number by which its ahead-of-time half knows the work.
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
        """How long it took."""
        return self.end_ns - self.start_ns
