"""The processor: architecture, model, features, caches, and the cores, with the available cores."""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.facts.detecting.cgroup import Limit, cpu_quota, cpuset
from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.detectors.cpuinfo import (
    CPUINFO,
    architecture,
    cpu_features,
    cpu_model,
    cpu_vendor,
    read_blocks,
)
from etconfig.facts.detecting.detectors.system_detector import SystemDetector
from etconfig.facts.detecting.detectors.topology import (
    CPUS,
    Cpus,
    cache_bytes,
    online_cpus,
    performance_cpus,
    physical_cores,
)
from etconfig.facts.detecting.device_text import MAX_LINE_BYTES, is_short
from etconfig.facts.detecting.system import System

_CACHES = {1: "cpu.cache.l1d", 2: "cpu.cache.l2", 3: "cpu.cache.l3"}


def _detect(system: System) -> Iterator[Reading]:
    yield architecture(system)
    online = online_cpus(system)
    fast = None if online is None else performance_cpus(system, online)
    main_cpu = min(fast.numbers) if fast is not None else 0
    yield from _identity(system, main_cpu)
    caches = cache_bytes(system, main_cpu)
    for level, fact in _CACHES.items():
        size, source = caches.get(level, (None, f"{CPUS}/cpu{main_cpu}/cache"))
        yield Reading.of(fact, size, source, otherwise=f"sysfs lists no level {level} cache")


def _identity(system: System, main_cpu: int) -> Iterator[Reading]:
    blocks = read_blocks(system)
    block = blocks.get(main_cpu, {})
    known = f"{CPUINFO} names none that etconfig knows"
    yield Reading.of("cpu.model", cpu_model(block), CPUINFO, otherwise=known)
    yield Reading.of("cpu.vendor", cpu_vendor(block), CPUINFO, otherwise=known)
    features = cpu_features(list(blocks.values()))
    yield Reading.of("cpu.features", features, CPUINFO, otherwise=f"{CPUINFO} lists none")


CPU = SystemDetector(
    "cpu",
    ("cpu.arch", "cpu.model", "cpu.vendor", "cpu.features", *_CACHES.values()),
    _detect,
    ("Darwin", "Windows"),
)


_NODES = "/sys/devices/system/node/online"
_BY_CORE = ("cpu.physical_cores", "cpu.performance_cores", "cpu.efficiency_cores")

_AVAILABLE = "cpu.available_cores"

_AFFINITY = "sched_getaffinity"


def _detect_cores(system: System) -> Iterator[Reading]:
    online = online_cpus(system)
    yield from _online(system, online)
    yield _offline(system, online)
    yield _isolated(system)
    nodes = system.read_cpus(_NODES)
    reason = f"there is no {_NODES}"
    yield Reading.of("cpu.numa_nodes", None if nodes is None else len(nodes), _NODES, otherwise=reason)


def _online(system: System, online: Cpus | None) -> Iterator[Reading]:
    if online is None:
        for name in ("cpu.logical_cores", *_BY_CORE):
            yield Reading.unknown(name, CPUINFO, "neither sysfs nor /proc/cpuinfo lists the cores")
        return
    yield Reading("cpu.logical_cores", len(online.numbers), online.source)
    cores = physical_cores(system, online)
    if cores is None:
        for name in _BY_CORE:
            reason = "neither sysfs nor /proc/cpuinfo shows which threads share a core"
            yield Reading.unknown(name, CPUINFO, reason)
        return
    count = len(cores.siblings)
    yield Reading("cpu.physical_cores", count, cores.source)
    fast = performance_cpus(system, online)
    if fast is None:
        for name in _BY_CORE[1:]:
            reason = "sysfs has neither the capacity nor the highest frequency of the cores"
            yield Reading.unknown(name, CPUS, reason)
        return
    fast_count = sum(1 for core in cores.siblings if core & fast.numbers)
    yield Reading("cpu.performance_cores", fast_count, fast.source, fast.detail)
    yield Reading("cpu.efficiency_cores", count - fast_count, fast.source, "the others")


def _offline(system: System, online: Cpus | None) -> Reading:
    # the file "offline" also lists CPUs that could be plugged in; virtual machines have many of these
    path = f"{CPUS}/present"
    present = system.read_cpus(path)
    count = None if present is None or online is None else len(present - online.numbers)
    return Reading.of("cpu.offline_cores", count, path, otherwise=f"there is no {path}")


def _isolated(system: System) -> Reading:
    path = f"{CPUS}/isolated"
    text = system.read_text(path, MAX_LINE_BYTES)
    is_there = text is not None and is_short(text)  # the file is usually empty
    count = len(system.read_cpus(path) or ()) if is_there else None
    return Reading.of("cpu.isolated_cores", count, path, otherwise=f"there is no {path}")


CORES = SystemDetector(
    "cores",
    ("cpu.logical_cores", *_BY_CORE, "cpu.offline_cores", "cpu.isolated_cores", "cpu.numa_nodes"),
    _detect_cores,
    ("Darwin", "Windows"),
)


def _detect_available(system: System) -> Iterator[Reading]:
    quota = cpu_quota(system)
    if quota is None:
        yield Reading.unknown("cpu.quota_cores", "control groups", "no control group limits the CPU time")
    else:
        yield Reading("cpu.quota_cores", quota.value, quota.source)
    yield _available(system, quota)


def _available(system: System, quota: Limit | None) -> Reading:
    affinity = system.host.affinity
    if affinity is None:
        return Reading.unknown(_AVAILABLE, _AFFINITY, "the affinity of the process is not known")
    cpus, source = affinity, _AFFINITY
    allowed = cpuset(system)
    if allowed is not None and affinity & allowed[0] < affinity:
        cpus, source = affinity & allowed[0], allowed[1]
    # rounded down: a thread beyond the quota would be throttled in every period
    if quota is not None and int(quota.value) < len(cpus):
        detail = f"a quota of {quota.value:g} cores, rounded down"
        return Reading(_AVAILABLE, max(1, int(quota.value)), quota.source, detail)
    return Reading(_AVAILABLE, max(1, len(cpus)), source)


AVAILABLE_CORES = SystemDetector(
    "available-cores",
    (_AVAILABLE, "cpu.quota_cores"),
    _detect_available,
    ("Darwin", "Windows"),
)
