"""The share of the processor that this process may use: its affinity, cpuset and quota."""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.facts.detecting.cgroup import Limit, cpu_quota, cpuset
from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.detectors.system_detector import SystemDetector
from etconfig.facts.detecting.system import System

_AVAILABLE = "cpu.available_cores"
_AFFINITY = "sched_getaffinity"


def _detect(system: System) -> Iterator[Reading]:
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
    _detect,
    ("Darwin", "Windows"),
)
