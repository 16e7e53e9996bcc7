"""Windows: the registry, and the results of a few functions of kernel32.

Written from Microsoft's documentation, and tested with captured results only. It does not see the limits of
job objects, which limit containers, nor processor groups other than the process's own, on machines with more
than 64 threads. GPUs that were removed still have keys.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from etconfig.facts.detecting.detector import Find, Reading
from etconfig.facts.detecting.detectors.accelerator_names import VENDORS
from etconfig.facts.detecting.detectors.cpuinfo import architecture
from etconfig.facts.detecting.device_text import filled_in
from etconfig.facts.detecting.system import System
from etconfig.facts.detecting.windows_functions import AFFINITY, FEATURES, MEMORY, POWER, PROCESSORS

VERSION_KEY = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion"
PROCESSOR_KEY = r"HKLM\HARDWARE\DESCRIPTION\System\CentralProcessor\0"
FIRMWARE_KEY = r"HKLM\HARDWARE\DESCRIPTION\System\BIOS"
_CLASSES = r"HKLM\SYSTEM\CurrentControlSet\Control\Class"
DISPLAY_KEY = rf"{_CLASSES}\{{4d36e968-e325-11ce-bfc1-08002be10318}}"
NPU_KEY = rf"{_CLASSES}\{{f01a9d53-3ff6-48d2-9f97-c8a7004be10c}}"
"""The setup class `ComputeAccelerator`."""

_MAX_DEVICES = 16
_WINDOWS_11_BUILD = 22000
_UNKNOWN_BYTE = 255

_VENDORS = {"GenuineIntel": "Intel", "AuthenticAMD": "AMD", "Qualcomm Technologies Inc": "Qualcomm"}

_FEATURES = {
    6: "sse",
    10: "sse2",
    13: "pni",
    30: "aes",
    31: "crc32",
    34: "atomics",
    36: "ssse3",
    37: "sse4_1",
    38: "sse4_2",
    39: "avx",
    40: "avx2",
    41: "avx512f",
    43: "asimddp",
}
"""Linux's names of features by the numbers PF_... in winnt.h. 30, 31, 34 and 43 are Arm's."""

_CORE, _NUMA_NODE, _CACHE = 0, 1, 2
_INSTRUCTION_CACHE = 1


class _Core(NamedTuple):
    efficiency_class: int
    threads: int


class _Processors(NamedTuple):
    """The result of GetLogicalProcessorInformationEx."""

    cores: list[_Core]
    numa_nodes: int
    cache_bytes: dict[int, int]


def _operating_system(system: System) -> Iterator[Reading]:
    """Find name, version and build."""
    yield Reading("os.name", "windows", "uname")
    values = system.registry_values(VERSION_KEY)
    build = str(values.get("CurrentBuild", ""))
    kernel = f"10.0.{build}.{values.get('UBR', 0)}" if build.isdecimal() else None
    reason = "the registry does not report it"
    yield Reading.of("os.kernel", kernel, VERSION_KEY, otherwise=reason)
    yield Reading.of("os.version", _version(values, build), VERSION_KEY, otherwise=reason)


def _cpu(system: System) -> Iterator[Reading]:
    """Find architecture, model, features and caches."""
    yield architecture(system)
    values = system.registry_values(PROCESSOR_KEY)
    reason = "the registry does not report it"
    model = str(values.get("ProcessorNameString", "")).strip() or None
    yield Reading.of("cpu.model", model, PROCESSOR_KEY, otherwise=reason)
    vendor = str(values.get("VendorIdentifier", "")) or None
    yield Reading.of("cpu.vendor", vendor and _VENDORS.get(vendor, vendor), PROCESSOR_KEY, otherwise=reason)
    flags = system.windows_call(FEATURES)
    features = None if flags is None else tuple(sorted(name for bit, name in _FEATURES.items() if flags[bit]))
    yield Reading.of("cpu.features", features, FEATURES, otherwise="the function does not report it")
    caches = _processors(system).cache_bytes
    for level, fact in ((1, "l1d"), (2, "l2"), (3, "l3")):
        missing = f"the function lists no level {level} cache"
        yield Reading.of(f"cpu.cache.{fact}", caches.get(level), PROCESSORS, otherwise=missing)


def _cores(system: System) -> Iterator[Reading]:
    """Count threads and cores; fast cores have the highest efficiency class."""
    processors = _processors(system)
    fastest = max((core.efficiency_class for core in processors.cores), default=0)
    count = len(processors.cores)
    fast = sum(1 for core in processors.cores if core.efficiency_class == fastest)
    counts = {
        "cpu.logical_cores": sum(core.threads for core in processors.cores),
        "cpu.physical_cores": count,
        "cpu.performance_cores": fast,
        "cpu.efficiency_cores": count - fast,
        "cpu.numa_nodes": processors.numa_nodes,
    }
    for fact, number in counts.items():
        value = number if processors.cores else None
        yield Reading.of(fact, value, PROCESSORS, otherwise="the function lists no cores")


def _available_cores(system: System) -> Iterator[Reading]:
    """Count the threads in the process's affinity."""
    answer = system.windows_call(AFFINITY)
    count = None if answer is None else struct.unpack("<QQ", answer)[0].bit_count()
    yield Reading.of(
        "cpu.available_cores", count or None, AFFINITY, otherwise="the function does not report it"
    )


def _memory(system: System) -> Iterator[Reading]:
    """Find total and available; swap is the commit limit beyond the total."""
    answer = system.windows_call(MEMORY)
    total = available = swap = None
    if answer is not None:
        _, _, total, available, commit_limit, *_ = struct.unpack("<II7Q", answer)
        swap = max(0, commit_limit - total)
    for fact, value in (("total", total), ("available", available), ("swap_total", swap)):
        yield Reading.of(f"memory.{fact}", value, MEMORY, otherwise="the function does not report it")


def _power(system: System) -> Iterator[Reading]:
    """Find source and level."""
    answer = system.windows_call(POWER)
    line, _, percent = (_UNKNOWN_BYTE,) * 3 if answer is None else struct.unpack_from("<BBB", answer)
    source = {0: "battery", 1: "mains"}.get(line)
    yield Reading.of("power.source", source, POWER, otherwise="the function does not report it")
    level = None if percent == _UNKNOWN_BYTE else min(percent, 100) / 100
    yield Reading.of("power.battery_level", level, POWER, otherwise="the function reports no battery")


def _device(system: System) -> Iterator[Reading]:
    """Find the names in the firmware."""
    values = system.registry_values(FIRMWARE_KEY)
    names = {
        "device.vendor": "SystemManufacturer",
        "device.family": "SystemFamily",
        "device.model": "SystemProductName",
        "device.board": "BaseBoardProduct",
    }
    for fact, name in names.items():
        value = filled_in(str(values.get(name, "")).strip())
        yield Reading.of(fact, value, f"{FIRMWARE_KEY} {name}", otherwise="the firmware does not say")


def _gpu(system: System) -> Iterator[Reading]:
    """List the display adapters on a bus, without Windows' own for remote and basic displays."""
    yield from _devices(system, "gpu", DISPLAY_KEY)


def _npu(system: System) -> Iterator[Reading]:
    """List the compute accelerators."""
    yield from _devices(system, "npu", NPU_KEY)


def _devices(system: System, kind: str, class_key: str) -> Iterator[Reading]:
    keys = [f"{class_key}\\{index:04}" for index in range(_MAX_DEVICES)]
    listed = [(key, system.registry_values(key)) for key in keys]
    found = [(key, values) for key, values in listed if _is_on_a_bus(values)]
    if not system.registry_values(VERSION_KEY):
        yield Reading.unknown(f"{kind}.count", class_key, "the registry cannot be read")
        return
    yield Reading(f"{kind}.count", len(found), class_key)
    for index, (key, values) in enumerate(found):
        yield from _one_device(f"{kind}.{index}", key, values)


def _one_device(prefix: str, key: str, values: Mapping[str, object]) -> Iterator[Reading]:
    name = str(values.get("DriverDesc", "")) or None
    yield Reading.of(f"{prefix}.name", name, key, otherwise="its driver has no description")
    pci_id = _pci_id(str(values["MatchingDeviceId"]).lower())
    vendor = VENDORS.get((pci_id or "").partition(":")[0])
    yield Reading.of(f"{prefix}.vendor", vendor, key, otherwise="etconfig knows no maker for its id")
    yield Reading.of(f"{prefix}.pci_id", pci_id, key, otherwise="it is not on a PCI bus")
    if prefix.startswith("gpu"):
        size = values.get("HardwareInformation.qwMemorySize")
        own = size if isinstance(size, int) and size else None
        yield Reading.of(f"{prefix}.memory", own, key, otherwise="its driver names no memory of its own")


def _is_on_a_bus(values: Mapping[str, object]) -> bool:
    return str(values.get("MatchingDeviceId", "")).lower().startswith(("pci\\", "acpi\\"))


def _pci_id(matching: str) -> str | None:
    r"""Return `8086:7d55` from `pci\ven_8086&dev_7d55`."""
    vendor, device = matching.partition("ven_")[2][:4], matching.partition("dev_")[2][:4]
    return f"{vendor}:{device}" if matching.startswith("pci") and vendor and device else None


def _version(values: Mapping[str, object], build: str) -> str | None:
    """Return 10 or 11, or the year of a server; Windows itself reports all of them as 10."""
    product = str(values.get("ProductName", ""))
    if "Server" in product:
        return next((word for word in product.split() if word.isdecimal()), None)
    if not build.isdecimal():
        return None
    return "11" if int(build) >= _WINDOWS_11_BUILD else "10"


def _processors(system: System) -> _Processors:
    """Read the structures SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX. Source: winnt.h."""
    answer = system.windows_call(PROCESSORS) or b""
    found = _Processors([], 0, {})
    at, nodes = 0, 0
    while at + 8 <= len(answer):
        relation, size = struct.unpack_from("<II", answer, at)
        if size < 8 or at + size > len(answer):
            break
        if relation == _CORE:
            (efficiency_class,) = struct.unpack_from("<B", answer, at + 9)
            found.cores.append(_Core(efficiency_class, _threads(answer, at)))
        elif relation == _NUMA_NODE:
            nodes += 1
        elif relation == _CACHE:
            level, _, _, cache_bytes, kind = struct.unpack_from("<BBHII", answer, at + 8)
            if kind != _INSTRUCTION_CACHE:
                found.cache_bytes[level] = max(cache_bytes, found.cache_bytes.get(level, 0))
        at += size
    return found._replace(numa_nodes=nodes)


def _threads(answer: bytes, at: int) -> int:
    """Return the number of threads of the core whose record begins at `at`: the bits in the groups' masks."""
    (groups,) = struct.unpack_from("<H", answer, at + 30)
    masks = (struct.unpack_from("<Q", answer, at + 32 + 16 * group)[0] for group in range(groups))
    return sum(mask.bit_count() for mask in masks)


FINDERS: Mapping[str, Find] = {
    "operating-system": _operating_system,
    "cpu": _cpu,
    "cores": _cores,
    "available-cores": _available_cores,
    "memory": _memory,
    "power": _power,
    "device": _device,
    "gpu": _gpu,
    "npu": _npu,
}
"""The functions of this system, by the name of the detector that calls them."""
