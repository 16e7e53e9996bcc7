"""The device according to its firmware: DMI tables on PCs, a device tree on boards and phones."""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.detectors.system_detector import SystemDetector
from etconfig.facts.detecting.device_text import MAX_LINE_BYTES, filled_in, is_short
from etconfig.facts.detecting.system import System

_DMI = "/sys/class/dmi/id"
_DEVICE_TREE = "/proc/device-tree"


def _detect(system: System) -> Iterator[Reading]:
    compatible = _device_tree_strings(system, "compatible")
    model = _device_tree_strings(system, "model")
    board = compatible[0] if compatible else None
    vendor = None if board is None else board.partition(",")[0]
    yield _from_firmware(system, "device.vendor", "sys_vendor", vendor, "compatible")
    yield _from_firmware(system, "device.family", "product_family", None, "compatible")
    yield _from_firmware(system, "device.model", "product_name", model[0] if model else None, "model")
    yield _from_firmware(system, "device.board", "board_name", board, "compatible")
    yield from _soc(compatible)


def _from_firmware(system: System, fact: str, dmi_name: str, in_tree: str | None, tree_name: str) -> Reading:
    dmi_path = f"{_DMI}/{dmi_name}"
    text = system.read_line(dmi_path)
    name = filled_in(text)
    if name is not None:
        return Reading(fact, name, dmi_path)
    if in_tree is not None:
        return Reading(fact, in_tree, f"{_DEVICE_TREE}/{tree_name}")
    says = "nothing" if text is None else f"only {text!r}"
    return Reading.unknown(fact, dmi_path, f"the firmware says {says}, and no device tree has it")


def _soc(compatible: list[str]) -> Iterator[Reading]:
    # "compatible" lists the board first and the chip last: raspberrypi,5-model-b then brcm,bcm2712
    source = f"{_DEVICE_TREE}/compatible"
    names_a_chip = len(compatible) > 1 and "," in compatible[-1]
    vendor, chip = compatible[-1].split(",", 1) if names_a_chip else (None, None)
    for fact, value in (("soc.vendor", vendor), ("soc.model", chip)):
        yield Reading.of(fact, value, source, otherwise="no device tree names a chip")


def _device_tree_strings(system: System, name: str) -> list[str]:
    """Return the strings of a property, each of which ends with a NUL."""
    text = system.read_text(f"{_DEVICE_TREE}/{name}", MAX_LINE_BYTES) or ""
    if not is_short(text):
        return []
    return [part.strip() for part in text.split("\0") if part.strip()]


DEVICE = SystemDetector(
    "device",
    (
        *("device.vendor", "device.family", "device.model", "device.board", "device.is_emulator"),
        *("soc.vendor", "soc.model"),
    ),
    _detect,
    ("Android", "Darwin", "Windows"),
)
