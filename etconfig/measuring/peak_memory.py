"""`PeakMemory`: the memory that a part of a process needs at most."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from etconfig.analysis.machine import peak_rss_bytes

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # Source: proc(5)


class PeakMemory:
    """The growth of the peak resident memory since it was made; Linux only.

    Memory that was free already, such as of a model that was closed, counts as if it were not needed: in a
    process of its own, the number is exact.
    """

    def __init__(self) -> None:
        with suppress(OSError):  # without the right to it, or on other systems
            _CLEAR.write_text(_RESET_PEAK)
        self._before_bytes = _resident_bytes()

    def growth_bytes(self) -> int | None:
        """Return the growth in bytes; None on systems that do not report it."""
        peak = peak_rss_bytes()
        return None if peak is None or self._before_bytes is None else max(0, peak - self._before_bytes)

    def resident_growth_bytes(self) -> int | None:
        """Return the growth of the memory that is resident now; None on systems that do not report it."""
        now = _resident_bytes()
        return None if now is None or self._before_bytes is None else max(0, now - self._before_bytes)


def _resident_bytes() -> int | None:
    if not _STATUS.exists():
        return None
    found = re.search(r"^VmRSS:\s*(\d+) kB$", _STATUS.read_text("ascii", errors="replace"), re.MULTILINE)
    return None if found is None else int(found[1]) * 1024
