"""The processor: architecture, model, features, cores and caches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from etconfig.facts.detector import FunctionDetector, Reading
from etconfig.facts.detectors.cpuinfo import CPUINFO, Block, features_of, model_of, read_blocks, vendor_of
from etconfig.facts.detectors.topology import (
    Cpus,
    cache_bytes,
    online_cpus,
    performance_cpus,
    physical_cores,
)
from etconfig.facts.system import System

_ARCHITECTURES = {
    "aarch64": "arm64",
    "amd64": "x86_64",
    "armv6l": "arm",
    "armv7l": "arm",
    "armv8l": "arm",
    "i386": "x86",
    "i686": "x86",
}


def _detect(system: System) -> Iterator[Reading]:
    machine = system.host.machine
    architecture = None if machine is None else _ARCHITECTURES.get(machine.lower(), machine.lower())
    yield Reading.of("cpu.arch", architecture, "uname", otherwise="uname does not tell")
    blocks = read_blocks(system)
    online = online_cpus(system, blocks)
    fast = None if online is None else performance_cpus(system, online)
    main_cpu = min(fast.numbers) if fast is not None else 0
    yield from _identity(blocks, main_cpu)
    yield from _cores(system, blocks, online, fast)
    for level in (2, 3):
        cache = cache_bytes(system, main_cpu, level)
        size, source = cache or (None, f"/sys/devices/system/cpu/cpu{main_cpu}/cache")
        yield Reading.of(f"cpu.cache.l{level}", size, source, otherwise=f"sysfs lists no level {level} cache")


def _identity(blocks: Mapping[int, Block], main_cpu: int) -> Iterator[Reading]:
    block = blocks.get(main_cpu, {})
    known = f"{CPUINFO} names none that etconfig knows"
    yield Reading.of("cpu.model", model_of(block), CPUINFO, otherwise=known)
    yield Reading.of("cpu.vendor", vendor_of(block), CPUINFO, otherwise=known)
    features = features_of(list(blocks.values()))
    yield Reading.of("cpu.features", features, CPUINFO, otherwise=f"{CPUINFO} lists none")


def _cores(
    system: System, blocks: Mapping[int, Block], online: Cpus | None, fast: Cpus | None
) -> Iterator[Reading]:
    if online is None:
        for name in ("cpu.logical_cores", "cpu.physical_cores", "cpu.performance_cores"):
            yield Reading.unknown(name, CPUINFO, "neither sysfs nor /proc/cpuinfo lists the cores")
        return
    yield Reading("cpu.logical_cores", len(online.numbers), online.source)
    cores = physical_cores(system, online, blocks)
    if cores is None:
        reason = "neither sysfs nor /proc/cpuinfo tells which threads share a core"
        yield Reading.unknown("cpu.physical_cores", CPUINFO, reason)
        yield Reading.unknown("cpu.performance_cores", CPUINFO, reason)
        return
    yield Reading("cpu.physical_cores", len(cores.siblings), cores.source)
    if fast is None:
        reason = "sysfs tells neither the capacity nor the highest frequency of the cores"
        yield Reading.unknown("cpu.performance_cores", "/sys/devices/system/cpu", reason)
        return
    fast_cores = [core for core in cores.siblings if core & fast.numbers]
    yield Reading("cpu.performance_cores", len(fast_cores), fast.source, fast.detail)


CPU = FunctionDetector(
    "cpu",
    (
        "cpu.arch",
        "cpu.model",
        "cpu.vendor",
        "cpu.features",
        "cpu.logical_cores",
        "cpu.physical_cores",
        "cpu.performance_cores",
        "cpu.cache.l2",
        "cpu.cache.l3",
    ),
    _detect,
)
