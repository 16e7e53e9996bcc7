"""What ran, and when: events that are recorded only if somebody asks for them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Literal, TypeAlias

from etconfig.records import record

EventKind: TypeAlias = Literal["method", "kernel", "delegate", "backend"]
"""A whole execute, a kernel call, a delegate call, or what a backend times within one."""


@record(frozen=True, kw_only=True)
class Event:
    """One piece of work.

    Attributes:
        name: The operator, backend id or method; a name of the backend's choice for its own.
        kind: What kind of work.
        start_ns: `time.perf_counter_ns()` when it began.
        end_ns: `time.perf_counter_ns()` when it ended, also if it failed.
        chain: For kernel and delegate calls, the index of the chain; otherwise None.
        instruction: For kernel and delegate calls, the index in the chain; otherwise None.
    """

    name: str
    kind: EventKind
    start_ns: int
    end_ns: int
    chain: int | None = None
    instruction: int | None = None


class NullTracer:
    """A tracer that is off: it is handed to backends, and records nothing."""

    @property
    def is_enabled(self) -> bool:
        """False."""
        return False

    def span(self, name: str) -> AbstractContextManager[None]:
        """Nothing happens."""
        return nullcontext()


class RecordingTracer:
    """A tracer that keeps every event in memory, in the order in which they ended.

    One tracer may serve several Methods and threads: appending to a list is atomic.
    """

    def __init__(self) -> None:
        self._events: list[Event] = []

    @property
    def is_enabled(self) -> bool:
        """True."""
        return True

    @property
    def events(self) -> tuple[Event, ...]:
        """What was recorded so far."""
        return tuple(self._events)

    def clear(self) -> None:
        """Forget what was recorded."""
        self._events.clear()

    def span(self, name: str) -> AbstractContextManager[None]:
        """Time the enclosed work of a backend under `name`."""
        return self.record(name, "backend")

    @contextmanager
    def record(
        self, name: str, kind: EventKind, chain: int | None = None, instruction: int | None = None
    ) -> Iterator[None]:
        """Time the enclosed work."""
        start_ns = time.perf_counter_ns()
        try:
            yield
        finally:
            end_ns = time.perf_counter_ns()
            self._events.append(
                Event(
                    name=name,
                    kind=kind,
                    start_ns=start_ns,
                    end_ns=end_ns,
                    chain=chain,
                    instruction=instruction,
                )
            )
