"""The architecture of the processor, and from /proc/cpuinfo the vendor, model and features of the cores."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.device_text import decimal_count, text_lines
from etconfig.facts.detecting.host import MAX_CPUS
from etconfig.facts.detecting.system import System
from etconfig.facts.registry import meant_value

CPUINFO = "/proc/cpuinfo"

MAX_FEATURES = 1024
"""More extensions than Linux has names for."""

_HEXADECIMAL = re.compile("0x[0-9A-Fa-f]{1,8}")

CpuinfoBlock: TypeAlias = "Mapping[str, str]"
"""The block of /proc/cpuinfo for one hardware thread, by key."""

_X86_VENDORS = {"GenuineIntel": "Intel", "AuthenticAMD": "AMD"}

_ARM_IMPLEMENTERS = {
    0x41: "Arm",
    0x42: "Broadcom",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x51: "Qualcomm",
    0x53: "Samsung",
    0x61: "Apple",
    0xC0: "Ampere",
}
"""Source: Linux, arch/arm64/include/asm/cputype.h."""

_ARM_PARTS = {
    0xD03: "Cortex-A53",
    0xD04: "Cortex-A35",
    0xD05: "Cortex-A55",
    0xD07: "Cortex-A57",
    0xD08: "Cortex-A72",
    0xD09: "Cortex-A73",
    0xD0A: "Cortex-A75",
    0xD0B: "Cortex-A76",
    0xD0C: "Neoverse-N1",
    0xD0D: "Cortex-A77",
    0xD0E: "Cortex-A76AE",
    0xD40: "Neoverse-V1",
    0xD41: "Cortex-A78",
    0xD42: "Cortex-A78AE",
    0xD44: "Cortex-X1",
    0xD46: "Cortex-A510",
    0xD47: "Cortex-A710",
    0xD48: "Cortex-X2",
    0xD49: "Neoverse-N2",
    0xD4B: "Cortex-A78C",
    0xD4C: "Cortex-X1C",
    0xD4D: "Cortex-A715",
    0xD4E: "Cortex-X3",
    0xD4F: "Neoverse-V2",
    0xD80: "Cortex-A520",
    0xD81: "Cortex-A720",
    0xD82: "Cortex-X4",
    0xD84: "Neoverse-V3",
    0xD85: "Cortex-X925",
    0xD87: "Cortex-A725",
    0xD8E: "Neoverse-N3",
}
"""The cores that Arm designed, by part number. Source: the same file."""


def architecture(system: System) -> Reading:
    """Return `cpu.arch`, from the machine name of uname."""
    machine = system.host.machine
    name = None if machine is None else meant_value("cpu.arch", machine) or machine
    return Reading.of("cpu.arch", name, "uname", otherwise="uname does not report it")


def read_blocks(system: System) -> dict[int, CpuinfoBlock]:
    """Return the blocks of /proc/cpuinfo by the number of the hardware thread."""
    blocks: dict[int, CpuinfoBlock] = {}
    block: dict[str, str] = {}
    for line in (*text_lines(system.read_text(CPUINFO)), ""):
        if line:
            key, _, value = line.partition(":")
            block[key.strip()] = value.strip()
            continue
        number = decimal_count(block.get("processor", ""))
        if number is not None and number < MAX_CPUS:  # some boards add a block of their own without a thread
            blocks.setdefault(number, block)
        block = {}
    return blocks


def cpu_vendor(block: CpuinfoBlock) -> str | None:
    """Return the designer of the core, or None if the block lacks it or has an unknown number."""
    implementer = _number(block, "CPU implementer")
    if implementer is not None:
        return _ARM_IMPLEMENTERS.get(implementer)
    vendor = block.get("vendor_id")
    return None if vendor is None else _X86_VENDORS.get(vendor, vendor)


def cpu_model(block: CpuinfoBlock) -> str | None:
    """Return the name of the processor or core, or None if the block lacks it."""
    if cpu_vendor(block) == "Arm":
        part = _number(block, "CPU part")
        return None if part is None else _ARM_PARTS.get(part)
    return block.get("model name") or None


def cpu_features(blocks: Sequence[CpuinfoBlock]) -> tuple[str, ...] | None:
    """Return the extensions that all threads have, sorted, or None if no block lists any."""
    # most threads have the same text, so build sets only of the few different ones
    texts = {block.get("flags") or block.get("Features") for block in blocks}
    extensions = [frozenset(text.split()) for text in texts if text]
    common = sorted(frozenset.intersection(*extensions)) if extensions else None
    return tuple(common) if common is not None and len(common) <= MAX_FEATURES else None


def _number(block: CpuinfoBlock, key: str) -> int | None:
    text = block.get(key, "")
    return int(text, 16) if _HEXADECIMAL.fullmatch(text) else None
