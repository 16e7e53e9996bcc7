"""Graphics processors: DRM and PCI devices, and NVIDIA's by its management library.

Counted are those that can compute: what has a DRM render node, and Intel's, AMD's and NVIDIA's
display controllers on the PCI bus, for which NVIDIA's driver makes no render node on servers.
The display chips of servers' management controllers and of virtual machines are neither.
Jetson's GPU, which has no PCI address, is found by its driver; NVML is not asked for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from etconfig.facts.detector import Reading
from etconfig.facts.detectors.device_names import AMD, GPUS, INTEL, NVIDIA, device_name, device_vendor
from etconfig.facts.detectors.sysfs_devices import (
    PCI_DEVICES,
    SysfsDevice,
    SysfsListing,
    count,
    find_devices,
    readings,
)
from etconfig.facts.detectors.system_detector import SystemDetector
from etconfig.facts.nvml import NvmlGpu
from etconfig.facts.system import System

_DRM = "/sys/class/drm"
_JETSON_DRIVER = "/sys/bus/platform/drivers/gk20a"
_LISTINGS = (SysfsListing(_DRM, "renderD", "/device"), SysfsListing(_JETSON_DRIVER, "17000000."))
_DISPLAY_CLASS = 0x03
_COMPUTING_VENDORS = (INTEL, AMD, NVIDIA)

_MEMORY_FILES = ("mem_info_vram_total", "tile0/physical_vram_size_bytes")
"""In the device's directory: amdgpu's and xe's. Intel's i915 does not tell."""

_NVML = "NVML"


def _detect(system: System) -> Iterator[Reading]:
    devices = find_devices(system, _LISTINGS, _can_compute)
    listed = _nvml_gpus(system, devices or ())
    if devices is None and listed is None:
        yield count("gpu.count", None, _DRM)
        return
    by_address = {gpu.pci_address: gpu for gpu in listed or ()}
    usable = devices or []
    if listed is not None:
        usable = _usable(usable, by_address)
    yield count("gpu.count", usable, f"{_DRM} and {PCI_DEVICES}")
    for index, device in enumerate(usable):
        yield from _gpu(system, f"gpu.{index}", device, by_address.get(device.pci_address or ""))


def _usable(devices: Iterable[SysfsDevice], by_address: Mapping[str, NvmlGpu]) -> list[SysfsDevice]:
    """Of NVIDIA's GPUs those that the library lists: a container sees the others on the bus, but cannot
    use them; in WSL the library lists what is on no bus.
    """
    kept = [device for device in devices if not _is_nvidia(device) or device.pci_address in by_address]
    unlisted = by_address.keys() - {device.pci_address for device in kept}
    return kept + [SysfsDevice(_NVML, pci_address=address) for address in sorted(unlisted)]


def _is_nvidia(device: SysfsDevice) -> bool:
    return (device.pci_id or "").startswith(f"{NVIDIA}:")


def _can_compute(device: SysfsDevice) -> bool:
    if device.path.startswith(PCI_DEVICES):
        is_display = device.pci_class >> 16 == _DISPLAY_CLASS
        return is_display and (device.pci_id or "").partition(":")[0] in _COMPUTING_VENDORS
    # of Jetson's display engine, whose GPU is listed by its own driver, and of virtual machines
    return not (device.compatible or "").startswith("nvidia,tegra") and device.driver != "virtio_gpu"


def _nvml_gpus(system: System, devices: Iterable[SysfsDevice]) -> Sequence[NvmlGpu] | None:
    """What the library lists, where there is reason to load it: that may take a tenth of a second."""
    if any(map(_is_nvidia, devices)) or "dxg" in (system.list_directory("/dev") or ()):
        return system.nvml_gpus()
    return None


def _gpu(system: System, prefix: str, device: SysfsDevice, nvidia: NvmlGpu | None) -> Iterator[Reading]:
    if nvidia is None:
        yield from readings(prefix, device, name=device_name(device, GPUS), vendor=device_vendor(device))
        yield _memory(system, prefix, device)
        return
    yield from readings(prefix, device, name=nvidia.name, vendor="NVIDIA", named_by=_NVML)
    reason = "the library does not tell"
    yield Reading.of(f"{prefix}.memory", nvidia.memory_bytes, _NVML, otherwise=reason)


def _memory(system: System, prefix: str, device: SysfsDevice) -> Reading:
    for file in _MEMORY_FILES:
        size = system.read_int(f"{device.path}/{file}")
        if size:
            return Reading(f"{prefix}.memory", size, f"{device.path}/{file}")
    return Reading.unknown(f"{prefix}.memory", device.path, "its driver names no memory of its own")


GPU = SystemDetector(
    "gpu",
    ("gpu.count", "gpu.<n>.name", "gpu.<n>.vendor", "gpu.<n>.memory", "gpu.<n>.driver", "gpu.<n>.pci_id"),
    _detect,
    ("Android", "Darwin", "Windows"),
)
