"""A process that loads a plugin and little else, and reports the time, the imports and the options.

Run as `python -m etconfig.conformance.process.import_probe`; `child_process` describes the request.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etconfig.conformance.process.guards import watch_imports
from etconfig.diagnostics.error_text import error_text

if TYPE_CHECKING:
    from etconfig.conformance.kit.kit_settings import Settings


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


def run_requested_probe() -> None:
    """Read the request from stdin, and write the answer to the file that it names.

    The request contains the modules to import `first`, the `costly` packages to watch for, the settings,
    and `makes_backend`: whether to create a backend, which may be unavailable. The answer contains the
    `seconds` that loading took afterwards, the `places` where costly packages were imported, the `options`
    from loading twice, or the `problem`.
    """
    request = json.load(sys.stdin)
    places = watch_imports(request["costly"])
    try:
        answer = {"problem": None, **_load(request)}
    except Exception as error:
        answer = {"problem": error_text(error)}
    Path(request["answer"]).write_text(json.dumps({**answer, "places": places}), encoding="utf-8")


def _load(request: dict[str, Any]) -> dict[str, Any]:
    before = Stopwatch()
    for name in request["first"]:
        importlib.import_module(name)
    delay = before.delay
    from etconfig.conformance.kit.kit_settings import Settings  # after `first`, whose imports come before all

    settings = Settings.from_jsonable(request["settings"])
    watch = Stopwatch()
    options = _options(settings)
    seconds = watch.seconds_without_load(delay)
    if request["makes_backend"]:
        _make_backend(settings)
    return {"seconds": seconds, "options": [options, _options(settings)]}


def _options(settings: Settings) -> list[str]:
    spec = settings.installation().plugins.backend_spec(settings.backend)
    return list(spec.options.option_infos())


def _make_backend(settings: Settings) -> None:
    from etconfig.errors import BackendUnavailableError

    with suppress(BackendUnavailableError):
        settings.installation().plugins.create_backend(settings.backend)


if __name__ == "__main__":
    run_requested_probe()
