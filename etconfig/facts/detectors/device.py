"""What the device is, as its firmware says: DMI tables on PCs, a device tree on boards and phones."""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.facts.detector import FunctionDetector, Reading
from etconfig.facts.system import System

_DMI = "/sys/class/dmi/id"
_DEVICE_TREE = "/proc/device-tree"

_PLACEHOLDERS = frozenset(
    {
        "default string",
        "not applicable",
        "not specified",
        "o.e.m.",
        "system manufacturer",
        "system product name",
        "to be filled by o.e.m.",
        "unknown",
    }
)
"""What firmware says when its maker filled nothing in."""


def _detect(system: System) -> Iterator[Reading]:
    compatible = _device_tree_strings(system, "compatible")
    model = _device_tree_strings(system, "model")
    vendor = compatible[0].partition(",")[0] if compatible else None
    yield _from_firmware(system, "device.vendor", "sys_vendor", vendor, "compatible")
    yield _from_firmware(system, "device.model", "product_name", model[0] if model else None, "model")
    yield _soc(compatible)


def _from_firmware(system: System, fact: str, dmi_name: str, in_tree: str | None, tree_name: str) -> Reading:
    dmi_path = f"{_DMI}/{dmi_name}"
    text = system.read_line(dmi_path)
    if text is not None and text.lower() not in _PLACEHOLDERS:
        return Reading(fact, text, dmi_path)
    if in_tree is not None:
        return Reading(fact, in_tree, f"{_DEVICE_TREE}/{tree_name}")
    says = "nothing" if text is None else f"only {text!r}"
    return Reading.unknown(fact, dmi_path, f"the firmware says {says}, and there is no device tree")


def _soc(compatible: list[str]) -> Reading:
    # "compatible" goes from the board to the chip: raspberrypi,5-model-b then brcm,bcm2712
    source = f"{_DEVICE_TREE}/compatible"
    chip = compatible[-1].rpartition(",")[2] if len(compatible) > 1 else None
    return Reading.of("soc.model", chip, source, otherwise="no device tree names a chip")


def _device_tree_strings(system: System, name: str) -> list[str]:
    """The strings of a property; each ends with a NUL."""
    text = system.read_text(f"{_DEVICE_TREE}/{name}") or ""
    return [part.strip() for part in text.split("\0") if part.strip()]


DEVICE = FunctionDetector("device", ("device.vendor", "device.model", "soc.model"), _detect)
