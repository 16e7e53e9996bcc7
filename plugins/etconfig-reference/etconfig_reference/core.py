"""`Core`: one core of the simulated device, a thread that is busy as long as a real core would be."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from etconfig_reference.errors import DeviceError


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
