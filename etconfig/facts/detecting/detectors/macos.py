"""macOS: what sysctl, vm_stat, pmset, notifyutil and ioreg print.

Written from their manual pages and Apple's documentation, and tested with captured outputs only.
system_profiler knows more, but takes seconds. iOS allows no commands, so write a sheet by hand there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from etconfig.facts.detecting.detector import Find, Reading
from etconfig.facts.detecting.detectors.cpuinfo import architecture
from etconfig.facts.detecting.device_text import decimal_count, text_lines
from etconfig.facts.detecting.system import System

SYSCTL = (
    "/usr/sbin/sysctl",
    "hw",
    "machdep.cpu",
    "kern.osproductversion",
    "kern.hv_vmm_present",
    "vm.swapusage",
)
VM_STAT = ("/usr/bin/vm_stat",)
BATTERY = ("/usr/bin/pmset", "-g", "batt")
THERMAL_PRESSURE = ("/usr/bin/notifyutil", "-g", "com.apple.system.thermalpressurelevel")
ACCELERATORS = ("/usr/sbin/ioreg", "-r", "-c", "IOAccelerator", "-d", "1", "-w", "0")

_ARM_FEATURES = {
    "AdvSIMD": "asimd",
    "arm.AdvSIMD": "asimd",
    "arm.FEAT_AES": "aes",
    "arm.FEAT_BF16": "bf16",
    "arm.FEAT_CRC32": "crc32",
    "arm.FEAT_DotProd": "asimddp",
    "arm.FEAT_FCMA": "fcma",
    "arm.FEAT_FHM": "asimdfhm",
    "arm.FEAT_FP16": "asimdhp",
    "arm.FEAT_I8MM": "i8mm",
    "arm.FEAT_JSCVT": "jscvt",
    "arm.FEAT_LRCPC": "lrcpc",
    "arm.FEAT_LSE": "atomics",
    "arm.FEAT_RDM": "asimdrdm",
    "arm.FEAT_SHA256": "sha2",
    "arm.FEAT_SHA3": "sha3",
    "arm.FEAT_SHA512": "sha512",
    "arm.FEAT_SME": "sme",
    "arm.FEAT_SME2": "sme2",
}
"""Linux's names of features, by the names below `hw.optional`."""

_INTEL_FEATURES = {"avx1.0": "avx", "sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2"}
"""Linux's names of features, where they differ."""

_PRESSURE_STATES = {"0": "nominal", "1": "fair", "2": "serious", "3": "critical", "4": "critical"}
"""The states by number: nominal, moderate, heavy, trapping, sleeping. Source: OSThermalNotification.h."""

_PAGES = re.compile(r"^(Pages free|Pages inactive):\s+([0-9]+)\.$", re.MULTILINE)
_PAGE_BYTES = re.compile(r"page size of ([0-9]+) bytes")
_SWAP_TOTAL = re.compile(r"total = ([0-9]{1,9}(?:\.[0-9]{1,6})?)M")
_POWER_SOURCE = re.compile(r"drawing from '(AC|Battery|UPS) Power'")
_CHARGE = re.compile(r"\t([0-9]{1,3})%;")
_PRESSURE = re.compile(r"thermalpressurelevel ([0-9]+)")
_GPU_MODEL = re.compile(r'^\s*"model" = "([^"]+)"$', re.MULTILINE)


def _operating_system(system: System) -> Iterator[Reading]:
    """Find name, kernel and version."""
    yield Reading("os.name", "macos", "uname")
    yield Reading.of("os.kernel", system.host.release, "uname", otherwise="uname does not report it")
    yield _text(_sysctl(system), "os.version", "kern.osproductversion")


def _cpu(system: System) -> Iterator[Reading]:
    """Find architecture, model, features and caches."""
    values = _sysctl(system)
    yield architecture(system)
    yield _text(values, "cpu.model", "machdep.cpu.brand_string")
    vendor = "Apple" if _is_apple_silicon(values) else "Intel" if "machdep.cpu.vendor" in values else None
    yield Reading.of("cpu.vendor", vendor, "sysctl machdep.cpu", otherwise="sysctl does not report it")
    features = _features(values)
    yield Reading.of("cpu.features", features or None, "sysctl", otherwise="sysctl lists none")
    # Apple's processors list the caches of each kind of core, fast cores first
    for fact, name in (("l1d", "l1dcachesize"), ("l2", "l2cachesize"), ("l3", "l3cachesize")):
        yield _number(values, f"cpu.cache.{fact}", f"hw.perflevel0.{name}", f"hw.{name}")


def _cores(system: System) -> Iterator[Reading]:
    """Count threads and cores, fast and slow."""
    values = _sysctl(system)
    yield _number(values, "cpu.logical_cores", "hw.logicalcpu")
    yield _number(values, "cpu.physical_cores", "hw.physicalcpu")
    yield _number(values, "cpu.performance_cores", "hw.perflevel0.physicalcpu", "hw.physicalcpu")
    if "hw.physicalcpu" in values and "hw.perflevel1.physicalcpu" not in values:
        yield Reading("cpu.efficiency_cores", 0, "sysctl hw", "it reports one kind of core")
    else:
        yield _number(values, "cpu.efficiency_cores", "hw.perflevel1.physicalcpu")


def _available_cores(system: System) -> Iterator[Reading]:
    """Count all threads: macOS does not limit processes to some of them."""
    yield _number(_sysctl(system), "cpu.available_cores", "hw.activecpu", "hw.logicalcpu")


def _memory(system: System) -> Iterator[Reading]:
    """Find total, swap, and the free and inactive memory."""
    values = _sysctl(system)
    yield _number(values, "memory.total", "hw.memsize")
    swap = _SWAP_TOTAL.search(values.get("vm.swapusage", ""))
    swap_bytes = None if swap is None else int(float(swap[1]) * (1 << 20))
    yield Reading.of(
        "memory.swap_total", swap_bytes, "sysctl vm.swapusage", otherwise="sysctl does not report it"
    )
    text = system.run(*VM_STAT) or ""
    page = _PAGE_BYTES.search(text)
    pages = [int(count) for _, count in _PAGES.findall(text)]
    available = sum(pages) * int(page[1]) if page is not None and len(pages) == 2 else None
    reason = "vm_stat does not report it"
    yield Reading.of(
        "memory.available", available, "vm_stat", otherwise=reason, detail="free and inactive pages"
    )


def _power(system: System) -> Iterator[Reading]:
    """Find source and level."""
    text = system.run(*BATTERY) or ""
    source = _POWER_SOURCE.search(text)
    name = None if source is None else "mains" if source[1] == "AC" else "battery"
    yield Reading.of("power.source", name, "pmset -g batt", otherwise="pmset does not report it")
    levels = [min(int(percent), 100) for percent in _CHARGE.findall(text)]
    level = sum(levels) / (100 * len(levels)) if levels else None
    yield Reading.of("power.battery_level", level, "pmset -g batt", otherwise="pmset lists no battery")


def _thermal(system: System) -> Iterator[Reading]:
    """Find the state; programs cannot read temperatures."""
    level = _PRESSURE.search(system.run(*THERMAL_PRESSURE) or "")
    state = None if level is None else _PRESSURE_STATES.get(level[1])
    yield Reading.of("thermal.state", state, "notifyutil", otherwise="notifyutil does not report it")


def _device(system: System) -> Iterator[Reading]:
    """Find vendor and model, and on Apple silicon the chip."""
    values = _sysctl(system)
    yield Reading("device.vendor", "Apple", "uname")
    yield _text(values, "device.model", "hw.model")
    chip = values.get("machdep.cpu.brand_string") if _is_apple_silicon(values) else None
    for fact, value in (("soc.vendor", chip and "Apple"), ("soc.model", chip)):
        reason = "it has no Apple silicon"
        yield Reading.of(fact, value, "sysctl machdep.cpu.brand_string", otherwise=reason)


def _gpu(system: System) -> Iterator[Reading]:
    """List the GPUs of ioreg, which on an Intel Mac lists none."""
    models = _GPU_MODEL.findall(system.run(*ACCELERATORS) or "")
    yield Reading.of("gpu.count", len(models) or None, "ioreg", otherwise="ioreg names none")
    for index, model in enumerate(models):
        yield Reading(f"gpu.{index}.name", model, "ioreg")
        if model.startswith("Apple"):
            yield Reading(f"gpu.{index}.vendor", "Apple", "ioreg")


def _npu(system: System) -> Iterator[Reading]:
    """Find the Neural Engine, which every Mac with Apple silicon has, but virtual machines lack."""
    values = _sysctl(system)
    if not _is_apple_silicon(values):
        yield Reading.unknown("npu.count", "sysctl", "sysctl reports no Apple silicon")
        return
    is_virtual = values.get("kern.hv_vmm_present") == "1"
    source = "sysctl kern.hv_vmm_present"
    yield Reading("npu.count", 0 if is_virtual else 1, source, "all Apple silicon has one")
    if not is_virtual:
        yield Reading("npu.0.name", "Apple Neural Engine", source)
        yield Reading("npu.0.vendor", "Apple", source)


def _sysctl(system: System) -> Mapping[str, str]:
    lines = text_lines(system.run(*SYSCTL))
    pairs = (line.partition(":") for line in lines)
    return {name: value.strip() for name, colon, value in pairs if colon}


def _is_apple_silicon(values: Mapping[str, str]) -> bool:
    return values.get("machdep.cpu.brand_string", "").startswith("Apple")


def _features(values: Mapping[str, str]) -> tuple[str, ...]:
    arm = {linux for name, linux in _ARM_FEATURES.items() if values.get(f"hw.optional.{name}") == "1"}
    intel = f"{values.get('machdep.cpu.features', '')} {values.get('machdep.cpu.leaf7_features', '')}"
    return tuple(sorted(arm | {_INTEL_FEATURES.get(name, name) for name in intel.lower().split()}))


def _text(values: Mapping[str, str], fact: str, name: str) -> Reading:
    return Reading.of(fact, values.get(name) or None, f"sysctl {name}", otherwise=f"sysctl has no {name}")


def _number(values: Mapping[str, str], fact: str, *names: str) -> Reading:
    """Return the first of several numbers that exists."""
    for name in names:
        number = decimal_count(values.get(name, ""))
        if number is not None:
            return Reading(fact, number, f"sysctl {name}")
    return Reading.unknown(fact, f"sysctl {names[0]}", f"sysctl has no {' and no '.join(names)}")


FINDERS: Mapping[str, Find] = {
    "operating-system": _operating_system,
    "cpu": _cpu,
    "cores": _cores,
    "available-cores": _available_cores,
    "memory": _memory,
    "power": _power,
    "thermal": _thermal,
    "device": _device,
    "gpu": _gpu,
    "npu": _npu,
}
"""The functions of this system, by the name of the detector that calls them."""
