"""Neural processors: devices of the kernel's `accel` class, and devices with known PCI ids.

The drivers of the latter, for example of Coral and Hailo, may have classes of their own. etconfig cannot see
the NPU in a phone's system on a chip, which Android does not list, nor whether a runtime can use a device.
Plugins for OpenVINO and ONNX Runtime provide the lists of these runtimes, as facts in the plugins' own
namespaces.
"""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.detectors.device_names import NPUS, device_name, device_vendor
from etconfig.facts.detecting.detectors.sysfs_devices import (
    PCI_DEVICES,
    SysfsDevice,
    SysfsListing,
    count,
    find_devices,
    readings,
)
from etconfig.facts.detecting.detectors.system_detector import SystemDetector
from etconfig.facts.detecting.system import System

_ACCEL = "/sys/class/accel"
_LISTINGS = (SysfsListing(_ACCEL, "accel", "/device"),)


def _detect(system: System) -> Iterator[Reading]:
    devices = find_devices(system, _LISTINGS, _is_npu)
    looked_in = _ACCEL if devices is None else f"{_ACCEL} and {PCI_DEVICES}"
    yield count("npu.count", devices, looked_in)
    for index, device in enumerate(devices or ()):
        name = device_name(device, NPUS)
        yield from readings(f"npu.{index}", device, name=name, vendor=device_vendor(device))


def _is_npu(device: SysfsDevice) -> bool:
    return not device.path.startswith(PCI_DEVICES) or device.pci_id in NPUS


NPU = SystemDetector(
    "npu",
    ("npu.count", "npu.<n>.name", "npu.<n>.vendor", "npu.<n>.driver", "npu.<n>.pci_id"),
    _detect,
    ("Android", "Darwin", "Windows"),
)
