"""The cores in sysfs: their hardware threads, and the fast cores among them."""

from __future__ import annotations

from typing import NamedTuple

from etconfig.facts.detecting.detectors.cpuinfo import CPUINFO, read_blocks
from etconfig.facts.detecting.device_text import bytes_of, decimal_count
from etconfig.facts.detecting.system import System

CPUS = "/sys/devices/system/cpu"
_INTEL_PERFORMANCE_CORES = "/sys/devices/cpu_core/cpus"

_MEASURES = (("cpu_capacity", 0.6), ("cpufreq/cpuinfo_max_freq", 0.8))
"""The files that distinguish slow cores, and the share of the fastest core below which a core is slow.

Little Arm cores have at most half the capacity of the fastest core, middle ones at least two thirds.
Frequencies differ less: frequencies of equal cores differ by a tenth at most.
"""


class Cpus(NamedTuple):
    """A set of hardware threads, and the place where it was read."""

    numbers: frozenset[int]
    source: str
    detail: str | None = None


class Cores(NamedTuple):
    """The threads of each physical core, and the place where they were read."""

    siblings: frozenset[frozenset[int]]
    source: str


def online_cpus(system: System) -> Cpus | None:
    """Return the hardware threads that are online."""
    source = f"{CPUS}/online"
    numbers = system.read_cpus(source)
    if numbers is not None:
        return Cpus(numbers, source)
    blocks = read_blocks(system)
    return Cpus(frozenset(blocks), CPUINFO) if blocks else None


def physical_cores(system: System, online: Cpus) -> Cores | None:
    """Return the threads of each core from sysfs, or else from the ids in /proc/cpuinfo."""
    return _cores_in_sysfs(system, online) or _cores_in_cpuinfo(system, online)


def performance_cpus(system: System, online: Cpus) -> Cpus | None:
    """Return the threads of the cores that are not slow; all of them if the cores are alike."""
    listed = system.read_cpus(_INTEL_PERFORMANCE_CORES)
    if listed is not None and listed & online.numbers:
        return Cpus(listed & online.numbers, _INTEL_PERFORMANCE_CORES)
    for file, share in _MEASURES:
        values = {cpu: system.read_int(f"{CPUS}/cpu{cpu}/{file}") or 0 for cpu in online.numbers}
        if all(values.values()):
            least = share * max(values.values())
            fast = frozenset(cpu for cpu, value in values.items() if value >= least)
            return Cpus(fast, f"{CPUS}/cpu*/{file}", f"at least {share:.0%} of the fastest core's")
    return None


def cache_bytes(system: System, cpu: int) -> dict[int, tuple[int, str]]:
    """Return the size of a thread's data or unified cache and the file with it, by level."""
    caches = f"{CPUS}/cpu{cpu}/cache"
    found: dict[int, tuple[int, str]] = {}
    for name in system.list_directory(caches) or ():
        path = f"{caches}/{name}"
        level = system.read_int(f"{path}/level")
        size = _size_bytes(system.read_line(f"{path}/size"))
        if level is not None and size is not None and system.read_line(f"{path}/type") != "Instruction":
            found.setdefault(level, (size, f"{path}/size"))
    return found


def _cores_in_sysfs(system: System, online: Cpus) -> Cores | None:
    siblings: set[frozenset[int]] = set()
    seen: set[int] = set()
    source = ""
    for cpu in sorted(online.numbers):
        if cpu in seen:
            continue
        # the second name is the older name of the same list
        for file in ("core_cpus_list", "thread_siblings_list"):
            core = system.read_cpus(f"{CPUS}/cpu{cpu}/topology/{file}")
            if core is not None:
                source = f"{CPUS}/cpu*/topology/{file}"
                break
        else:
            return None
        core |= {cpu}
        siblings.add(core)
        seen |= core
    return Cores(frozenset(siblings), source)


def _cores_in_cpuinfo(system: System, online: Cpus) -> Cores | None:
    blocks = read_blocks(system)
    cores: dict[tuple[str, str], set[int]] = {}
    for cpu in online.numbers:
        block = blocks.get(cpu, {})
        if "physical id" not in block or "core id" not in block:
            return None
        cores.setdefault((block["physical id"], block["core id"]), set()).add(cpu)
    return Cores(frozenset(map(frozenset, cores.values())), CPUINFO)


def _size_bytes(text: str | None) -> int | None:
    """Parse a size as sysfs prints it: `512K`."""
    if text is None or text[-1] not in "KM":
        return None
    count = decimal_count(text[:-1])
    return None if count is None else bytes_of(count, 1 << (10 if text[-1] == "K" else 20))
