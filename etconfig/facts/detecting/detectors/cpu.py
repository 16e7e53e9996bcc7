"""The processor: architecture, model, features and caches."""

from __future__ import annotations

from collections.abc import Iterator

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
from etconfig.facts.detecting.detectors.topology import CPUS, cache_bytes, online_cpus, performance_cpus
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
