"""The simulated accelerator: a calculated model of its time, and its cores.

A core is a thread that is busy as long as a real core would be.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from etconfig_reference.errors import DeviceError
from etconfig_reference.options import PowerMode

MACS_PER_CYCLE = (64, 64, 16, 16)
"""The multiply-accumulates of each core per cycle: two wide cores, two narrow ones."""

LAUNCH_CYCLES = 50
"""The fixed cost of every operation, in cycles."""

CLOCK_HZ: Mapping[PowerMode, int] = {
    PowerMode.LOW: 5_000_000,
    PowerMode.BALANCED: 10_000_000,
    PowerMode.HIGH: 20_000_000,
}


def count_cycles(multiply_accumulates: Iterable[int], core: int) -> int:
    """Return the cycles of operations with this much work, one after another on one core."""
    return sum(LAUNCH_CYCLES + -(-work // MACS_PER_CYCLE[core]) for work in multiply_accumulates)


def seconds_of(cycles: int, power_mode: PowerMode) -> float:
    """Return the time of these cycles."""
    return cycles / CLOCK_HZ[power_mode]


class Core:
    """Does the work that it is given, one item after another, until `close`.

    Args:
        sleep: Waits for a number of seconds.
    """

    def __init__(self, sleep: Callable[[float], None]) -> None:
        self._sleep = sleep
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="reference-npu-core")
        self._process_id = os.getpid()

    def start(self, seconds: float) -> Future[None]:
        """Start work that takes this many seconds; the future is done when the work is.

        Raises:
            DeviceError: the process was forked, so it does not have the thread of the device.
        """
        if os.getpid() != self._process_id:
            raise DeviceError(
                "the method was loaded before this process was forked, and the device stayed behind; "
                "load it again here"
            )
        return self._thread.submit(self._sleep, seconds)

    def close(self) -> None:
        """Wait for the work that was started, and end the thread."""
        self._thread.shutdown()
