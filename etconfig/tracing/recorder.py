"""`RecordingTracer` keeps events, `Track` records the events of one Method, `NullTracer` records nothing."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter_ns

from etconfig.tracing.events import Event, EventKind

DEFAULT_MAX_EVENTS = 500_000
"""The number of events that a tracer keeps by default: about 150 MB."""


class NullTracer:
    """A tracer for backends that records nothing."""

    @property
    def is_enabled(self) -> bool:
        """False: nothing is recorded."""
        return False

    def span(self, name: str, debug_id: int | None = None) -> AbstractContextManager[None]:
        """Do nothing."""
        return nullcontext()

    def record(self, name: str, kind: EventKind) -> AbstractContextManager[None]:
        """Do nothing."""
        return nullcontext()


class RecordingTracer:
    """A tracer that keeps events in memory, in the order in which they end.

    One tracer may serve several Methods and threads: appending to a list is atomic.

    Example:
        >>> from etconfig.tracing import RecordingTracer
        >>> tracer = RecordingTracer()
        >>> program = etconfig.load_program("model.pte")
        >>> with program.load_method("forward", tracer=tracer) as method:
        ...     outputs = method.execute([np.zeros((1, 1, 8, 8), np.float32)])
        >>> sorted({event.kind for event in tracer.events})
        ['backend', 'delegate', 'kernel', 'load', 'method', 'phase']

    Attributes:
        max_events: The number of events to keep; later ones are dropped and counted.
    """

    def __init__(self, max_events: int = DEFAULT_MAX_EVENTS) -> None:
        self.max_events = max_events
        self._events: list[Event] = []
        self._dropped = 0
        self._dropping = threading.Lock()
        self._threads: dict[int, tuple[int, str]] = {}
        self._thread_numbers = itertools.count()
        self._runs = itertools.count()

    @property
    def events(self) -> tuple[Event, ...]:
        """The events recorded so far."""
        return tuple(self._events)

    @property
    def dropped(self) -> int:
        """The number of events dropped beyond `max_events`."""
        return self._dropped

    @property
    def threads(self) -> dict[int, str]:
        """The names of the threads, by the numbers in the events."""
        return dict(self._threads.values())

    def clear(self) -> None:
        """Discard all recorded events."""
        self._events.clear()
        self._dropped = 0

    def track(self, method: str) -> Track:
        """Return a recorder for the events of one method instance."""
        return Track(self, method)

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Time the enclosed part of opening a program."""
        return Track(self, "").record(name, "phase")

    def next_run(self) -> int:
        """Return a new number for an execute."""
        return next(self._runs)

    @property
    def room(self) -> int:
        """The number of events that can still be kept."""
        return max(0, self.max_events - len(self._events))

    def lose(self, count: int) -> None:
        """Count events that were not even made, since there was no room."""
        with self._dropping:
            self._dropped += count

    def add(self, event: Event) -> None:
        """Keep an event if there is room."""
        if len(self._events) < self.max_events:
            self._events.append(event)
        else:
            with self._dropping:
                self._dropped += 1

    def current_thread(self) -> int:
        """Return the number of the calling thread."""
        known = self._threads.get(threading.get_ident())
        if known is None:
            number = next(self._thread_numbers)
            known = self._threads[threading.get_ident()] = (number, threading.current_thread().name)
        return known[0]


class Track:
    """Records the events of one method instance; its delegates use it as their tracer.

    A Method admits one thread at a time, so one current instruction is enough: a backend's worker
    threads find the right one, too.
    """

    def __init__(self, recorder: RecordingTracer, method: str) -> None:
        self._recorder = recorder
        self._method = method
        self._run: int | None = None
        self._chain: int | None = None
        self._instruction: int | None = None

    @property
    def is_enabled(self) -> bool:
        """True: events are recorded."""
        return True

    def span(self, name: str, debug_id: int | None = None) -> AbstractContextManager[None]:
        """Time the enclosed work of a backend."""
        return self.record(name, "backend", debug_id)

    @contextmanager
    def record(self, name: str, kind: EventKind, debug_id: int | None = None) -> Iterator[None]:
        """Time the enclosed work."""
        start_ns = perf_counter_ns()
        try:
            yield
        finally:
            self._add(name, kind, start_ns, debug_id)

    @contextmanager
    def execute(self) -> Iterator[None]:
        """Time one execute of the method."""
        with self.run(), self.record(self._method, "method"):
            yield

    @contextmanager
    def run(self) -> Iterator[None]:
        """Give the events meanwhile the number of one execute, for executors that time it themselves."""
        self._run = self._recorder.next_run()
        try:
            yield
        finally:
            self._run = self._chain = self._instruction = None

    @property
    def method(self) -> str:
        """The method instance, such as `forward@left`."""
        return self._method

    @property
    def room(self) -> int:
        """The number of events that can still be kept."""
        return self._recorder.room

    def lose(self, count: int) -> None:
        """Count events that were not even made, since there was no room."""
        self._recorder.lose(count)

    def at(self, chain: int, instruction: int) -> None:
        """Set the instruction that the following events of backends are part of."""
        self._chain, self._instruction = chain, instruction

    def add(
        self,
        name: str,
        kind: EventKind,
        start_ns: int,
        end_ns: int,
        *,
        chain: int | None = None,
        instruction: int | None = None,
        debug_id: int | None = None,
    ) -> None:
        """Keep an event that an executor timed itself; the times come from `time.perf_counter_ns`."""
        recorder = self._recorder
        thread = recorder.current_thread()
        recorder.add(
            Event(name, kind, start_ns, end_ns, thread, self._method, self._run, chain, instruction, debug_id)
        )

    def traced(
        self, step: Callable[[], object], name: str, kind: EventKind, chain: int, instruction: int
    ) -> Callable[[], object]:
        """Return a step that times another one."""

        def traced_step() -> None:
            self._chain, self._instruction = chain, instruction
            start_ns = perf_counter_ns()
            try:
                step()
            finally:
                self._add(name, kind, start_ns)
                self._chain = self._instruction = None

        return traced_step

    def _add(self, name: str, kind: EventKind, start_ns: int, debug_id: int | None = None) -> None:
        end_ns = perf_counter_ns()
        recorder = self._recorder
        recorder.add(
            Event(
                name,
                kind,
                start_ns,
                end_ns,
                recorder.current_thread(),
                self._method,
                self._run,
                self._chain,
                self._instruction,
                debug_id,
            )
        )
