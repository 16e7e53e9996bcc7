from __future__ import annotations

import os
from pathlib import Path

import pytest
from captured_trees import TREES, captured_system

from etconfig.facts.detecting.detection import detect
from etconfig.facts.sheet import FactSheet

DATA = Path(__file__).parents[2] / "data"
NAMES = sorted(path.parent.name for path in TREES.glob("*/machine.json"))


def detected(tree: str) -> FactSheet:
    return detect(captured_system(tree))


class TestSavedSheets:
    """The saved sheet of a device is what is detected from its tree.

    Set ETCONFIG_SAVE_SHEETS=1 to save the sheets anew.
    """

    @pytest.mark.parametrize("tree", NAMES)
    def test_the_sheet_is_that_of_the_tree(self, tree):
        path = DATA / "sheets" / f"{tree}.json"
        text = detected(tree).to_json()
        if os.environ.get("ETCONFIG_SAVE_SHEETS") == "1":
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text

    @pytest.mark.parametrize("tree", NAMES)
    def test_the_sheet_reads_back_equal(self, tree):
        path = DATA / "sheets" / f"{tree}.json"
        assert FactSheet.from_json(path.read_text(encoding="utf-8"), str(path)) == detected(tree)


class TestHybridWorkstation:
    """An x86_64 workstation with performance and efficient cores."""

    def test_kinds_of_cores_are_distinguished(self):
        values = detected("x86_64-hybrid-workstation").values
        assert values["cpu.arch"] == "x86_64"
        assert values["cpu.vendor"] == "Intel"
        assert values["cpu.logical_cores"] == 16
        assert values["cpu.physical_cores"] == 10
        assert values["cpu.performance_cores"] == 6
        assert values["cpu.available_cores"] == 16
        assert values["cpu.cache.l2"] == 1280 * 1024
        assert values["cpu.cache.l3"] == 20 * 1024 * 1024

    def test_the_battery_of_a_mouse_does_not_feed_the_device(self):
        sheet = detected("x86_64-hybrid-workstation")
        assert sheet["power.source"].value == "mains"
        assert sheet["power.source"].origin.detail == "the kernel knows of no battery"
        assert sheet["power.battery_level"].reason == "the kernel knows of no battery"

    def test_a_name_that_was_never_filled_in_is_unknown(self):
        sheet = detected("x86_64-hybrid-workstation")
        assert sheet["device.vendor"].value == "ASUS"
        assert sheet["device.model"].reason == (
            "the firmware says only 'System Product Name', and no device tree has it"
        )

    def test_installed_versions_are_found_without_an_import(self):
        values = detected("x86_64-hybrid-workstation").values
        assert values["runtime.python"] == "3.12.3"
        assert values["runtime.executorch"] == "1.5.1"
        assert values["runtime.torch"] == "2.13.0+cpu"


class TestRaspberryPi:
    """An arm64 board with a device tree."""

    def test_it_is_known_by_its_device_tree(self):
        values = detected("raspberry-pi-5").values
        assert values["device.model"] == "Raspberry Pi 5 Model B Rev 1.0"
        assert values["device.vendor"] == "raspberrypi"
        assert values["soc.model"] == "bcm2712"

    def test_the_processor_is_known_by_its_numbers(self):
        sheet = detected("raspberry-pi-5")
        assert sheet.values["cpu.arch"] == "arm64"
        assert (sheet.values["cpu.vendor"], sheet.values["cpu.model"]) == ("Arm", "Cortex-A76")
        assert "asimddp" in sheet.values["cpu.features"]  # type: ignore[operator]
        assert sheet.values["cpu.performance_cores"] == 4
        assert sheet["cpu.performance_cores"].origin.detail == "at least 80% of the fastest core's"

    def test_the_first_version_on_the_search_path_counts(self):
        assert detected("raspberry-pi-5").values["runtime.numpy"] == "2.2.6"

    def test_what_is_not_installed_is_unknown(self):
        assert detected("raspberry-pi-5")["runtime.torch"].reason == "not installed"


class TestCgroupV2:
    """The smallest limit of the process's group and its ancestors counts."""

    POD = "/sys/fs/cgroup/kubepods.slice/kubepods-pod7e1f.slice"

    def test_the_quota_of_the_ancestor_is_rounded_down(self):
        sheet = detected("container-cgroup-v2")
        assert sheet["cpu.quota_cores"].value == 1.5
        assert sheet["cpu.available_cores"].value == 1
        assert sheet["cpu.available_cores"].origin.source == f"{self.POD}/cpu.max"
        assert sheet["cpu.available_cores"].origin.detail == "a quota of 1.5 cores, rounded down"

    def test_memory_is_that_of_the_ancestor(self):
        sheet = detected("container-cgroup-v2")
        assert sheet["memory.cgroup_limit"].value == 1536 << 20
        assert sheet["memory.cgroup_limit"].origin.source == f"{self.POD}/memory.max"
        # 1536 MiB, less 900 MiB in use of which 100 MiB are unused file cache
        assert sheet["memory.available"].value == (1536 - 900 + 100) << 20
        assert sheet["memory.total"].value == 32505856 * 1024


class TestCgroupV1:
    """Version 1 has a hierarchy for each controller, and a number that means "no limit"."""

    def test_the_quota_counts(self):
        sheet = detected("container-cgroup-v1")
        assert sheet["cpu.quota_cores"].value == 2.5
        assert sheet["cpu.available_cores"].value == 2
        assert sheet["cpu.available_cores"].origin.source == "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us"

    def test_the_number_that_means_no_limit_is_none(self):
        sheet = detected("container-cgroup-v1")
        assert sheet["memory.cgroup_limit"].reason == "no control group limits the memory"
        assert sheet["memory.available"].value == 12582912 * 1024

    def test_cores_are_counted_without_sysfs(self):
        sheet = detected("container-cgroup-v1")
        assert (sheet.values["cpu.logical_cores"], sheet.values["cpu.physical_cores"]) == (8, 4)
        assert sheet["cpu.performance_cores"].reason == (
            "sysfs has neither the capacity nor the highest frequency of the cores"
        )


class TestLaptop:
    """A laptop whose adapter is unplugged runs on its battery."""

    def test_power_comes_from_the_battery(self):
        sheet = detected("laptop-on-battery")
        assert sheet["power.source"].value == "battery"
        assert sheet["power.battery_level"].value == 0.17
        assert sheet["power.battery_level"].unit == "fraction"
        assert sheet["power.battery_level"].origin.source == "/sys/class/power_supply/BAT0/capacity"
