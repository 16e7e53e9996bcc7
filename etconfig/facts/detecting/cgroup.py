"""The limits of the process's control groups, in version 1, version 2 or a mix of both.

The limits of all ancestors apply too, so the smallest one on the way up counts.
Source: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

from etconfig.facts.detecting.device_text import decimal_count, text_lines
from etconfig.facts.detecting.system import System

_UNLIMITED_BYTES = 1 << 62
"""Version 1 writes "no limit" as the largest number of whole pages, a little below 2**63."""


_MAX_QUOTA_US = 1 << 53
"""Up to here a float is exact; the largest quota of the kernel is 2**44 nanoseconds."""


class Limit(NamedTuple):
    """A limit and the file that it was read from."""

    value: float
    source: str


class _Mount(NamedTuple):
    version: int
    controllers: frozenset[str]
    root: str
    mount_point: str


class _Groups(NamedTuple):
    """The directories of the process's group for one controller, innermost first."""

    version: int
    directories: tuple[str, ...]


class _MemoryFiles(NamedTuple):
    limit: str
    usage: str
    reclaimable_key: str


_MEMORY_FILES = {
    1: _MemoryFiles("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: _MemoryFiles("memory.max", "memory.current", "inactive_file"),
}

_CPUSET_FILES = {1: ("cpuset.effective_cpus", "cpuset.cpus"), 2: ("cpuset.cpus.effective",)}


def cpu_quota(system: System) -> Limit | None:
    """Return the share of CPU time that the groups allow, in cores, or None if there is no quota."""
    groups = _groups(system, "cpu")
    quotas = (_quota(system, groups.version, directory) for directory in groups.directories)
    return _smallest(quotas)


def cpuset(system: System) -> tuple[frozenset[int], str] | None:
    """Return the CPUs that the groups allow and the file that lists them, or None without such a file."""
    groups = _groups(system, "cpuset")
    for directory in groups.directories:
        for file in _CPUSET_FILES[groups.version]:
            cpus = system.read_cpus(f"{directory}/{file}")
            if cpus is not None:
                return cpus, f"{directory}/{file}"
    return None


def memory_limits(system: System) -> tuple[Limit | None, Limit | None]:
    """Return the memory that the groups allow, and still allow, in bytes; None if there is no limit.

    Inactive file cache counts as free, as in the kernel's MemAvailable.
    """
    version, directories = _groups(system, "memory")
    limits = [_memory_limit(system, version, directory) for directory in directories]
    pairs = zip(directories, limits, strict=True)
    left = [limit and _headroom(system, version, directory, limit) for directory, limit in pairs]
    return _smallest(limits), _smallest(left)


def _smallest(limits: Iterable[Limit | None]) -> Limit | None:
    return min((limit for limit in limits if limit is not None), key=lambda limit: limit.value, default=None)


def _quota(system: System, version: int, directory: str) -> Limit | None:
    if version == 1:
        source = f"{directory}/cpu.cfs_quota_us"
        quota = system.read_int(source)
        period = system.read_int(f"{directory}/cpu.cfs_period_us")
    else:
        source = f"{directory}/cpu.max"
        words = (system.read_line(source) or "max").split()
        if len(words) != 2:
            return None
        quota, period = map(decimal_count, words)
    if quota is None or period is None or not 0 < quota <= _MAX_QUOTA_US or not 0 < period <= _MAX_QUOTA_US:
        return None
    return Limit(quota / period, source)


def _memory_limit(system: System, version: int, directory: str) -> Limit | None:
    source = f"{directory}/{_MEMORY_FILES[version].limit}"
    limit_bytes = system.read_int(source)
    if limit_bytes is None or limit_bytes >= _UNLIMITED_BYTES:
        return None
    return Limit(limit_bytes, source)


def _headroom(system: System, version: int, directory: str, limit: Limit) -> Limit:
    files = _MEMORY_FILES[version]
    usage_bytes = system.read_int(f"{directory}/{files.usage}") or 0
    statistics = system.read_text(f"{directory}/memory.stat") or ""
    reclaimable_bytes = _statistic(statistics, files.reclaimable_key)
    in_use_bytes = max(0, usage_bytes - reclaimable_bytes)
    return Limit(max(0, limit.value - in_use_bytes), limit.source)


def _statistic(text: str, key: str) -> int:
    for line in text_lines(text):
        name, _, number = line.partition(" ")
        count = decimal_count(number) if name == key else None
        if count is not None:
            return count
    return 0


def _groups(system: System, controller: str) -> _Groups:
    """Return the groups that limit `controller`; without any, there are no directories.

    A controller belongs to one hierarchy at a time: to version 1, if it is listed there.
    """
    memberships = _memberships(system)
    for mount in sorted(_mounts(system), key=attrgetter("version")):
        if mount.version == 1 and controller in mount.controllers & memberships.keys():
            return _Groups(1, _directories(mount, memberships[controller]))
        if mount.version == 2 and "" in memberships:
            return _Groups(2, _directories(mount, memberships[""]))
    return _Groups(2, ())


def _memberships(system: System) -> dict[str, str]:
    """Return the process's group by controller; the group of version 2 has an empty controller name."""
    memberships: dict[str, str] = {}
    for line in text_lines(system.read_text("/proc/self/cgroup")):
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon:
            memberships.update(dict.fromkeys(controllers.split(","), path))
    return memberships


def _mounts(system: System) -> Iterator[_Mount]:
    """Yield the mounts of the hierarchies. Source: proc_pid_mountinfo(5)."""
    for line in text_lines(system.read_text("/proc/self/mountinfo")):
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3 or kind[0] not in ("cgroup", "cgroup2"):
            continue
        controllers = frozenset(kind[2].split(","))
        yield _Mount(2 if kind[0] == "cgroup2" else 1, controllers, root=fields[3], mount_point=fields[4])


def _directories(mount: _Mount, path: str) -> tuple[str, ...]:
    """Return the directories of a group and its mounted ancestors, innermost first."""
    root = mount.root.rstrip("/")
    inside = path == root or path.startswith(f"{root}/")
    parts = path[len(root) :].strip("/").split("/") if inside else []
    if ".." in parts:  # the group is outside the namespace, so only the mounted top is visible
        parts = []
    names = [part for part in parts if part]
    depths = range(len(names), -1, -1)
    return tuple("/".join([mount.mount_point.rstrip("/"), *names[:depth]]) for depth in depths)
