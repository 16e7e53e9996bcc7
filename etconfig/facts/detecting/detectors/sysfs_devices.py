"""The devices in sysfs: of a class such as `accel`, and on the PCI bus."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.device_text import text_lines
from etconfig.facts.detecting.system import System

PCI_DEVICES = "/sys/bus/pci/devices"

_PCI_ID = re.compile("[0-9A-Fa-f]{4}:[0-9A-Fa-f]{4}")
_PCI_CLASS = re.compile("[0-9A-Fa-f]{1,8}")


class SysfsDevice(NamedTuple):
    """One device, as described in its `uevent`.

    Attributes:
        path: Its directory.
        driver: The driver that it is bound to.
        pci_id: Vendor and device in hexadecimal, such as `8086:7d55`.
        pci_address: Its address on the bus, such as `0000:00:02.0`.
        pci_class: Class, subclass and interface, such as 0x030000.
        compatible: The first name in its device tree node, such as `brcm,2712-v3d`.
    """

    path: str
    driver: str | None = None
    pci_id: str | None = None
    pci_address: str | None = None
    pci_class: int = 0
    compatible: str | None = None


class SysfsListing(NamedTuple):
    """A directory that lists devices of one kind: the names that begin with `prefix`."""

    directory: str
    prefix: str
    inside: str = ""
    """The path from the listed name to the device."""


def find_devices(
    system: System, listings: Sequence[SysfsListing], is_wanted: Callable[[SysfsDevice], bool]
) -> list[SysfsDevice] | None:
    """Return the wanted devices, first the listed ones, then those on the PCI bus, each once.

    The result is None if neither a directory nor the bus can be listed.
    """
    listed = [system.list_directory(listing.directory) for listing in listings]
    addresses = system.list_directory(PCI_DEVICES)
    if addresses is None and all(names is None for names in listed):
        return None
    paths = [
        f"{listing.directory}/{name}{listing.inside}"
        for listing, names in zip(listings, listed, strict=True)
        for name in names or ()
        if name.startswith(listing.prefix)
    ]
    paths += [f"{PCI_DEVICES}/{address}" for address in addresses or ()]
    devices = (device_at(system, path) for path in paths)
    found: dict[str, SysfsDevice] = {}
    for device in filter(is_wanted, devices):
        found.setdefault(device.pci_address or device.path, device)
    return list(found.values())


def device_at(system: System, path: str) -> SysfsDevice:
    """Return the device with the directory `path`; without a `uevent`, only the path is known."""
    lines = text_lines(system.read_text(f"{path}/uevent"))
    said = {key: value for key, equals, value in (line.partition("=") for line in lines) if equals}
    pci_class = said.get("PCI_CLASS", "")
    return SysfsDevice(
        path,
        said.get("DRIVER"),
        said["PCI_ID"].lower() if _PCI_ID.fullmatch(said.get("PCI_ID", "")) else None,
        said.get("PCI_SLOT_NAME"),
        int(pci_class, 16) if _PCI_CLASS.fullmatch(pci_class) else 0,
        said.get("OF_COMPATIBLE_0"),
    )


_SHOWN_BYTES = 200
"""The most bytes of an id in a reason."""


def readings(
    prefix: str, device: SysfsDevice, *, name: str | None, vendor: str | None, named_by: str | None = None
) -> Iterator[Reading]:
    """Yield the facts that GPUs and NPUs have in common.

    Args:
        prefix: The beginning of the facts' names, such as `gpu.0`.
        device: The device.
        name: Its name.
        vendor: Its vendor.
        named_by: The source of the name, if it is not the device's id.
    """
    source = device.path
    shown = device.pci_id or device.compatible or "a device without an id"
    if len(shown.encode(errors="replace")) > _SHOWN_BYTES:
        shown = "a device with a long id"
    reason = f"etconfig knows no name for {shown}"
    yield Reading.of(f"{prefix}.name", name, named_by or source, otherwise=reason)
    yield Reading.of(f"{prefix}.vendor", vendor, source, otherwise=f"etconfig knows no maker for {shown}")
    yield Reading.of(f"{prefix}.driver", device.driver, source, otherwise="no driver is bound to it")
    yield Reading.of(f"{prefix}.pci_id", device.pci_id, source, otherwise="it is not on a PCI bus")


def count(fact: str, devices: Iterable[SysfsDevice] | None, looked_in: str) -> Reading:
    """Return the fact that counts the devices."""
    number = None if devices is None else len(list(devices))
    return Reading.of(fact, number, looked_in, otherwise=f"neither {looked_in} nor a PCI bus can be listed")
