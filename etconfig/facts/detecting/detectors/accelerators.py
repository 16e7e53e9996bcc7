"""Graphics processors and neural processors, from DRM, `accel` and PCI devices, and NVIDIA's library NVML.

Only GPUs that can compute count: GPUs with a DRM render node, and the display controllers of Intel, AMD and
NVIDIA on the PCI bus, since NVIDIA's driver creates no render nodes on servers. The display chips of
management controllers and of virtual machines are neither. Jetson's GPU has no PCI address and is found by
its driver, without NVML.

NPUs are devices of the kernel's `accel` class, and devices with known PCI ids: the drivers of these,
for example of Coral and Hailo, may have classes of their own. etconfig cannot see the NPU in a phone's system
on a chip, which Android does not list, nor whether a runtime can use a device. Plugins for OpenVINO and ONNX
Runtime provide the lists of these runtimes, as facts in the plugins' own namespaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.detectors.accelerator_names import (
    AMD,
    GPUS,
    INTEL,
    NPUS,
    NVIDIA,
    device_name,
    device_vendor,
)
from etconfig.facts.detecting.detectors.sysfs_devices import (
    PCI_DEVICES,
    SysfsDevice,
    SysfsListing,
    count,
    find_devices,
    readings,
)
from etconfig.facts.detecting.detectors.system_detector import SystemDetector
from etconfig.facts.detecting.nvml import NvmlGpu
from etconfig.facts.detecting.system import System

_DRM = "/sys/class/drm"
_JETSON_DRIVER = "/sys/bus/platform/drivers/gk20a"
_GPU_LISTINGS = (SysfsListing(_DRM, "renderD", "/device"), SysfsListing(_JETSON_DRIVER, "17000000."))
_DISPLAY_CLASS = 0x03
_COMPUTING_VENDORS = (INTEL, AMD, NVIDIA)

_MEMORY_FILES = ("mem_info_vram_total", "tile0/physical_vram_size_bytes")
"""The files of amdgpu and xe in the device's directory. Intel's i915 has none."""

_ICD_DIRECTORIES = ("/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d")
_API_VERSION = re.compile(r'"api_version"[ \t]*:[ \t]*"([0-9]{1,9}(?:\.[0-9]{1,9}){0,3})"')
"""The manifests of Vulkan's drivers, and the version that each says it supports at most. Loading the drivers
takes far longer. Source: LoaderDriverInterface.md of the Vulkan loader.
"""

_NVML = "NVML"

_ACCEL = "/sys/class/accel"

_NPU_LISTINGS = (SysfsListing(_ACCEL, "accel", "/device"),)


def _detect_gpus(system: System) -> Iterator[Reading]:
    yield _vulkan(system)
    devices = find_devices(system, _GPU_LISTINGS, _can_compute)
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


def _vulkan(system: System) -> Reading:
    version, source = None, _ICD_DIRECTORIES[-1]
    for directory in _ICD_DIRECTORIES:
        for name in system.list_directory(directory) or ():
            found = _API_VERSION.search(system.read_text(f"{directory}/{name}") or "")
            if found and (version is None or _numbers(found[1]) > _numbers(version)):
                version, source = found[1], f"{directory}/{name}"
    return Reading.of("vulkan.version", version, source, otherwise="no driver of Vulkan is installed there")


def _numbers(version: str) -> tuple[int, ...]:
    return (*map(int, version.split(".")), 0, 0, 0)[:4]


def _usable(devices: Iterable[SysfsDevice], by_address: Mapping[str, NvmlGpu]) -> list[SysfsDevice]:
    """Return the devices without those GPUs of NVIDIA that the library does not list.

    A container sees these on the bus but cannot use them. In WSL the library also lists GPUs that are not on
    the bus.
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
    # not Jetson's display engine, whose GPU has another driver, nor the displays of virtual machines
    return not (device.compatible or "").startswith("nvidia,tegra") and device.driver != "virtio_gpu"


def _nvml_gpus(system: System, devices: Iterable[SysfsDevice]) -> Sequence[NvmlGpu] | None:
    """Return the library's list, or None without a sign of such a GPU: loading may take 0.1 s."""
    if any(map(_is_nvidia, devices)) or "dxg" in (system.list_directory("/dev") or ()):
        return system.nvml_gpus()
    return None


def _gpu(system: System, prefix: str, device: SysfsDevice, nvidia: NvmlGpu | None) -> Iterator[Reading]:
    if nvidia is None:
        yield from readings(prefix, device, name=device_name(device, GPUS), vendor=device_vendor(device))
        yield _driver_version(system, prefix, device)
        yield _memory(system, prefix, device)
        return
    yield from readings(prefix, device, name=nvidia.name, vendor="NVIDIA", named_by=_NVML)
    yield _driver_version(system, prefix, device)
    reason = "the library does not report it"
    yield Reading.of(f"{prefix}.memory", nvidia.memory_bytes, _NVML, otherwise=reason)


_MODULE_NAME_BYTES = 64
"""More than the kernel allows for the name of a module."""


def _driver_version(system: System, prefix: str, device: SysfsDevice) -> Reading:
    fact = f"{prefix}.driver_version"
    if device.driver is None:
        return Reading.unknown(fact, device.path, "no driver is bound to it")
    if len(device.driver.encode(errors="replace")) > _MODULE_NAME_BYTES:
        return Reading.unknown(fact, device.path, "its driver's name is too long for a module")
    path = f"/sys/module/{device.driver.replace('-', '_')}/version"
    reason = "its driver has no version but the kernel's, see os.kernel"
    return Reading.of(fact, system.read_line(path), path, otherwise=reason)


def _memory(system: System, prefix: str, device: SysfsDevice) -> Reading:
    for file in _MEMORY_FILES:
        size = system.read_int(f"{device.path}/{file}")
        if size:
            return Reading(f"{prefix}.memory", size, f"{device.path}/{file}")
    return Reading.unknown(f"{prefix}.memory", device.path, "its driver names no memory of its own")


GPU = SystemDetector(
    "gpu",
    (
        *("vulkan.version", "gpu.count", "gpu.<n>.name", "gpu.<n>.vendor", "gpu.<n>.memory"),
        *("gpu.<n>.driver", "gpu.<n>.driver_version", "gpu.<n>.pci_id"),
    ),
    _detect_gpus,
    ("Android", "Darwin", "Windows"),
)


def _detect_npus(system: System) -> Iterator[Reading]:
    devices = find_devices(system, _NPU_LISTINGS, _is_npu)
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
    _detect_npus,
    ("Android", "Darwin", "Windows"),
)
