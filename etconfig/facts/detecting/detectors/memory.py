"""Memory, on Linux from /proc/meminfo and the control groups."""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.facts.detecting.cgroup import Limit, memory_limits
from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.detectors.system_detector import SystemDetector
from etconfig.facts.detecting.device_text import bytes_of, decimal_count, text_lines
from etconfig.facts.detecting.system import System

_MEMINFO = "/proc/meminfo"


def _detect(system: System) -> Iterator[Reading]:
    meminfo = _meminfo_bytes(system)
    total = meminfo.get("MemTotal")
    yield Reading.of("memory.total", total, _MEMINFO, otherwise=f"{_MEMINFO} has no MemTotal")
    swap = meminfo.get("SwapTotal")
    yield Reading.of("memory.swap_total", swap, _MEMINFO, otherwise=f"{_MEMINFO} has no SwapTotal")
    limit, headroom = memory_limits(system)
    yield _available(meminfo, headroom)
    if limit is None:
        yield Reading.unknown("memory.cgroup_limit", "control groups", "no control group limits the memory")
    else:
        yield Reading("memory.cgroup_limit", int(limit.value), limit.source)


def _available(meminfo: dict[str, int], headroom: Limit | None) -> Reading:
    available = meminfo.get("MemAvailable")
    if available is not None and headroom is not None and headroom.value < available:
        detail = "the limit, less what its group uses"
        return Reading("memory.available", int(headroom.value), headroom.source, detail)
    reason = f"{_MEMINFO} has no MemAvailable"
    return Reading.of("memory.available", available, _MEMINFO, otherwise=reason)


def _meminfo_bytes(system: System) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for line in text_lines(system.read_text(_MEMINFO)):
        name, _, rest = line.partition(":")
        words = rest.split()
        count = decimal_count(words[0]) if len(words) == 2 and words[1] == "kB" else None
        size = None if count is None else bytes_of(count, 1024)
        if size is not None:
            sizes[name] = size
    return sizes


MEMORY = SystemDetector(
    "memory",
    ("memory.total", "memory.swap_total", "memory.available", "memory.cgroup_limit"),
    _detect,
    ("Darwin", "Windows"),
)
