"""`Stopwatch`: the time that work takes by itself, also asleep, without that of other processes."""

from __future__ import annotations

import time
from pathlib import Path

SCHEDULER = Path("/proc/thread-self/schedstat")
"""Linux: nanoseconds on a processor, nanoseconds of waiting for one, and the number of time slices."""


class Stopwatch:
    """Measures from its creation on, in the thread that created it.

    Processor time would miss work that sleeps or waits for a device. Time on the clock would count the
    other processes of a busy machine. So the time that the thread spent waiting for a processor is
    subtracted from the time on the clock.
    """

    def __init__(self) -> None:
        self._queued = queued_seconds()
        self._worked = time.process_time()
        self._started = time.perf_counter()

    @property
    def delay(self) -> float:
        """The time on the clock by the processor time, at least 1: for work that never sleeps, the load."""
        clock = time.perf_counter() - self._started
        worked = time.process_time() - self._worked
        return max(1.0, clock / worked) if worked > 0 else 1.0

    def seconds_without_load(self, delay: float) -> float:
        """Return the seconds that the work took by itself.

        Args:
            delay: The `delay` of other work just before, which never sleeps: an estimate for systems
                that do not report how long a thread waited for a processor.
        """
        clock = time.perf_counter() - self._started
        worked = time.process_time() - self._worked
        waited = worked * (delay - 1)
        queued = queued_seconds()
        if queued is not None and self._queued is not None:
            waited = queued - self._queued
        return max(worked, clock - waited)


def queued_seconds() -> float | None:
    """Return how long this thread has waited for a processor; None if the system does not report it."""
    try:
        _, queued_ns, _ = SCHEDULER.read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return None
    return int(queued_ns) / 1e9
