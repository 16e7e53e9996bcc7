from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.detectors.accelerators import GPU, NPU
from etconfig.facts.detecting.detectors.system_detector import SystemDetector
from etconfig.facts.detecting.system import System

PCI = "/sys/bus/pci/devices"
DRM = "/sys/class/drm"


def values(detector: SystemDetector, system: System) -> Mapping[str, object]:
    return {reading.name: reading.value for reading in detector.detect(system) if reading.reason is None}


def by_name(detector: SystemDetector, system: System) -> Mapping[str, Reading]:
    return {reading.name: reading for reading in detector.detect(system)}


def pci(address: str, pci_id: str, pci_class: str, driver: str | None = None) -> str:
    bound = "" if driver is None else f"DRIVER={driver}\n"
    return f"{bound}PCI_CLASS={pci_class}\nPCI_ID={pci_id.upper()}\nPCI_SLOT_NAME={address}\n"


def on_bus(address: str, pci_id: str, pci_class: str, driver: str | None = None) -> dict[str, str]:
    return {f"{PCI}/{address}/uevent": pci(address, pci_id, pci_class, driver)}


class TestCounting:
    """Only graphics processors that can compute count."""

    def test_a_render_node_and_its_pci_device_are_one(self, make_system):
        files = {f"{DRM}/renderD128/device/uevent": pci("0000:00:02.0", "8086:7d55", "30000", "xe")}
        found = values(GPU, make_system(files | on_bus("0000:00:02.0", "8086:7d55", "30000", "xe")))
        assert found == {
            "gpu.count": 1,
            "gpu.0.name": "Intel Arc Graphics (Meteor Lake)",
            "gpu.0.vendor": "Intel",
            "gpu.0.driver": "xe",
            "gpu.0.pci_id": "8086:7d55",
        }

    @pytest.mark.parametrize(
        ("pci_id", "pci_class", "count"),
        [
            ("10de:2335", "30200", 1),  # no render node: NVIDIA's driver on a server
            ("1002:740f", "38000", 1),
            ("1a03:2000", "30000", 0),  # the display of a management controller
            ("1234:1111", "30000", 0),  # the display of a virtual machine
            ("8086:15f3", "20000", 0),  # a network card
        ],
    )
    def test_display_controllers_of_gpu_vendors_count(self, make_system, pci_id, pci_class, count):
        assert values(GPU, make_system(on_bus("0000:01:00.0", pci_id, pci_class)))["gpu.count"] == count

    def test_the_render_node_of_a_virtual_machine_does_not_count(self, make_system):
        system = make_system({f"{DRM}/renderD128/device/uevent": "DRIVER=virtio_gpu\n"})
        assert values(GPU, system)["gpu.count"] == 0

    def test_a_device_without_a_driver_says_so(self, make_system):
        found = by_name(GPU, make_system(on_bus("0000:01:00.0", "8086:ffff", "30000")))
        assert found["gpu.0.driver"].reason == "no driver is bound to it"
        assert found["gpu.0.name"].reason == "etconfig knows no name for 8086:ffff"
        assert found["gpu.0.vendor"].value == "Intel"

    def test_several_are_in_the_order_of_render_nodes_then_of_the_bus(self, make_system):
        files = {f"{DRM}/renderD128/device/uevent": pci("0000:03:00.0", "1002:744c", "30000", "amdgpu")}
        files |= on_bus("0000:01:00.0", "8086:a780", "30000") | on_bus("0000:03:00.0", "1002:744c", "30000")
        found = values(GPU, make_system(files))
        assert (found["gpu.count"], found["gpu.0.vendor"], found["gpu.1.vendor"]) == (2, "AMD", "Intel")

    def test_without_sysfs_nothing_is_known(self, make_system):
        reason = f"neither {DRM} nor a PCI bus can be listed"
        assert by_name(GPU, make_system({}))["gpu.count"].reason == reason

    def test_a_board_without_a_bus_is_looked_at_by_its_device_tree(self, make_system):
        uevent = "DRIVER=v3d\nOF_COMPATIBLE_0=brcm,2711-v3d\n"
        found = by_name(GPU, make_system({f"{DRM}/renderD128/device/uevent": uevent}))
        assert (found["gpu.0.name"].value, found["gpu.0.vendor"].value) == ("VideoCore VI", "Broadcom")
        assert found["gpu.0.pci_id"].reason == "it is not on a PCI bus"

    def test_jetsons_gpu_is_found_by_its_driver_and_its_display_does_not_count(self, make_system):
        found = values(
            GPU,
            make_system(
                {
                    f"{DRM}/renderD128/device/uevent": "DRIVER=drm\nOF_COMPATIBLE_0=nvidia,tegra234-host1x\n",
                    "/sys/bus/platform/drivers/gk20a/17000000.gpu/uevent": (
                        "DRIVER=gk20a\nOF_COMPATIBLE_0=nvidia,ga10b\n"
                    ),
                    "/sys/bus/platform/drivers/gk20a/bind": "",
                }
            ),
        )
        assert (found["gpu.count"], found["gpu.0.name"]) == (1, "Orin GPU (GA10B)")


class TestMemory:
    """The driver of a GPU reports its own memory."""

    @pytest.mark.parametrize("file", ["mem_info_vram_total", "tile0/physical_vram_size_bytes"])
    def test_the_driver_reports_it(self, make_system, file):
        device = f"{DRM}/renderD128/device"
        files = {
            f"{device}/uevent": pci("0000:03:00.0", "1002:744c", "30000"),
            f"{device}/{file}": "25753026560\n",
        }
        reading = by_name(GPU, make_system(files))["gpu.0.memory"]
        assert (reading.value, reading.source) == (25753026560, f"{device}/{file}")


class TestVersions:
    """Versions come from files: loading a driver would take long."""

    def test_a_driver_beside_the_kernel_has_a_version(self, make_system):
        files = on_bus("0000:01:00.0", "1002:744c", "30000", "amd-gpu") | {
            "/sys/module/amd_gpu/version": "6.8.5\n"
        }
        found = by_name(GPU, make_system(files))["gpu.0.driver_version"]
        assert (found.value, found.source) == ("6.8.5", "/sys/module/amd_gpu/version")

    @pytest.mark.parametrize(
        ("driver", "reason"),
        [
            ("xe", "its driver has no version but the kernel's, see os.kernel"),
            (None, "no driver is bound to it"),
        ],
    )
    def test_other_drivers_have_none(self, make_system, driver, reason):
        files = on_bus("0000:00:02.0", "8086:7d55", "30000", driver)
        assert by_name(GPU, make_system(files))["gpu.0.driver_version"].reason == reason

    def test_the_greatest_version_of_vulkan_counts(self, make_system):
        files = {
            "/etc/vulkan/icd.d/a.json": '{"ICD": {"api_version": "1.3.9"}}',
            "/usr/share/vulkan/icd.d/b.json": '{"ICD":\n{"api_version" : "1.10"}}',
            "/usr/share/vulkan/icd.d/c.json": '{"ICD": {"api_version": "1.4.x"}}',
            "/usr/share/vulkan/icd.d/d.json": "{",
        }
        found = by_name(GPU, make_system(files))["vulkan.version"]
        assert (found.value, found.source) == ("1.10", "/usr/share/vulkan/icd.d/b.json")

    def test_no_driver_of_vulkan(self, make_system):
        assert (
            by_name(GPU, make_system({}))["vulkan.version"].reason == "no driver of Vulkan is installed there"
        )


class TestNvidia:
    """NVIDIA's library reports name and memory of its GPUs."""

    H100 = json.dumps(
        [{"pci_address": "0000:17:00.0", "name": "NVIDIA H100 PCIe", "memory_bytes": 85520809984}]
    )

    def test_the_library_names_the_device_on_the_bus(self, make_system):
        files = on_bus("0000:17:00.0", "10de:2331", "30200", "nvidia") | {"/nvml.json": self.H100}
        found = by_name(GPU, make_system(files))
        assert (found["gpu.0.name"].value, found["gpu.0.name"].source) == ("NVIDIA H100 PCIe", "NVML")
        assert found["gpu.0.memory"].value == 85520809984
        assert found["gpu.0.pci_id"].value == "10de:2331"

    def test_without_the_library_the_table_names_it(self, make_system):
        found = by_name(GPU, make_system(on_bus("0000:17:00.0", "10de:2335", "30200", "nvidia")))
        assert found["gpu.0.name"].value == "NVIDIA H200 SXM 141GB"
        assert found["gpu.0.memory"].reason == "its driver names no memory of its own"

    def test_in_a_container_those_that_the_library_does_not_list_do_not_count(self, make_system):
        files = on_bus("0000:17:00.0", "10de:2331", "30200") | on_bus("0000:65:00.0", "10de:2331", "30200")
        files |= on_bus("0000:00:02.0", "8086:a780", "30000")
        assert values(GPU, make_system(files))["gpu.count"] == 3
        found = values(GPU, make_system(files | {"/nvml.json": self.H100}))
        assert (found["gpu.count"], found["gpu.0.vendor"], found["gpu.1.vendor"]) == (2, "Intel", "NVIDIA")

    def test_in_wsl_only_the_library_lists_it(self, make_system):
        found = by_name(GPU, make_system({"/dev/dxg": "", "/nvml.json": self.H100}))
        assert (found["gpu.count"].value, found["gpu.0.name"].value) == (1, "NVIDIA H100 PCIe")

    def test_the_library_is_not_loaded_without_reason(self, make_system):
        files = on_bus("0000:00:02.0", "8086:a780", "30000") | {"/nvml.json": self.H100}
        assert values(GPU, make_system(files))["gpu.count"] == 1

    def test_memory_that_the_library_does_not_report_is_unknown(self, make_system):
        gpus = json.dumps([{"pci_address": "0000:17:00.0", "name": "Orin"}])
        files = on_bus("0000:17:00.0", "10de:2331", "30200") | {"/nvml.json": gpus}
        assert by_name(GPU, make_system(files))["gpu.0.memory"].reason == "the library does not report it"


class TestNeuralProcessors:
    """Devices of the class `accel` and devices with known PCI ids count."""

    def test_an_accelerator_and_its_pci_device_are_one(self, make_system):
        device = pci("0000:00:0b.0", "8086:7d1d", "120000", "intel_vpu")
        files = {"/sys/class/accel/accel0/device/uevent": device, f"{PCI}/0000:00:0b.0/uevent": device}
        assert values(NPU, make_system(files)) == {
            "npu.count": 1,
            "npu.0.name": "Intel NPU (Meteor Lake)",
            "npu.0.vendor": "Intel",
            "npu.0.driver": "intel_vpu",
            "npu.0.pci_id": "8086:7d1d",
        }

    @pytest.mark.parametrize(
        ("pci_id", "name"),
        [("1022:17f0", "AMD Ryzen AI (Strix)"), ("1e60:2864", "Hailo-8"), ("1ac1:089a", "Coral Edge TPU")],
    )
    def test_one_without_the_class_is_known_by_its_id(self, make_system, pci_id, name):
        found = values(NPU, make_system(on_bus("0000:c5:00.1", pci_id, "118000")))
        assert (found["npu.count"], found["npu.0.name"]) == (1, name)

    def test_an_accelerator_of_a_board_is_named_by_its_device_tree(self, make_system):
        uevent = "DRIVER=rocket\nOF_COMPATIBLE_0=rockchip,rk3588-rknn-core\n"
        found = values(NPU, make_system({"/sys/class/accel/accel0/device/uevent": uevent}))
        assert (found["npu.0.name"], found["npu.0.vendor"]) == ("Rockchip NPU (RK3588)", "Rockchip")

    def test_other_devices_do_not_count(self, make_system):
        assert values(NPU, make_system(on_bus("0000:00:02.0", "8086:7d55", "30000")))["npu.count"] == 0

    def test_without_sysfs_nothing_is_known(self, make_system):
        reason = "neither /sys/class/accel nor a PCI bus can be listed"
        assert by_name(NPU, make_system({}))["npu.count"].reason == reason

    def test_a_device_that_says_nothing_is_counted_without_a_name(self, make_system):
        found = by_name(NPU, make_system({"/sys/class/accel/accel0/device/.keep": ""}))
        assert found["npu.count"].value == 1
        assert found["npu.0.name"].reason == "etconfig knows no name for a device without an id"

    def test_a_class_that_is_not_a_number_is_none(self, make_system):
        assert values(GPU, make_system(on_bus("0000:00:02.0", "8086:7d55", "x")))["gpu.count"] == 0
