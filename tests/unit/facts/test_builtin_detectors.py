from __future__ import annotations

from collections.abc import Mapping

import pytest

from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.detectors import BUILTIN_DETECTORS
from etconfig.facts.detecting.detectors.cpuinfo import cpu_features, cpu_model, cpu_vendor
from etconfig.facts.detecting.system import System

CPUS = "/sys/devices/system/cpu"
SUPPLIES = "/sys/class/power_supply"


def readings(name: str, system: System) -> Mapping[str, Reading]:
    (detector,) = [detector for detector in BUILTIN_DETECTORS if detector.name == name]
    return {reading.name: reading for reading in detector.detect(system)}


class TestAll:
    """Built-in detectors fulfill the same contract as those of plugins."""

    @pytest.mark.parametrize("detector", BUILTIN_DETECTORS, ids=lambda detector: detector.name)
    def test_an_empty_system_makes_every_fact_unknown_with_a_reason(self, detector, make_system):
        found = list(detector.detect(make_system({})))
        assert [reading.name for reading in found if reading.value is not None] == []
        single = [name for name in detector.provides if "<n>" not in name]
        assert sorted(reading.name for reading in found) == sorted(single)

    def test_each_provides_registered_facts_and_no_two_the_same(self):
        provided = [name for detector in BUILTIN_DETECTORS for name in detector.provides]
        assert len(provided) == len(set(provided))
        assert set(provided) <= set(BUILTIN_FACTS.names)

    def test_every_builtin_fact_is_looked_for_unless_it_identifies_the_device(self):
        provided = {name for detector in BUILTIN_DETECTORS for name in detector.provides}
        assert {info.name for info in BUILTIN_FACTS.infos if not info.is_identifying} == provided


class TestOperatingSystem:
    """Facts about the operating system come from uname and os-release."""

    def test_names_are_those_that_profiles_use(self, make_system):
        for system, name in (("Darwin", "macos"), ("Linux", "linux"), ("Windows", "windows")):
            found = readings("operating-system", make_system({}, system=system))
            assert found["os.name"].value == name

    def test_the_second_place_of_os_release_is_read_too(self, make_system):
        text = "# comment\nNAME='Arch Linux'\nID=arch\n\n"
        found = readings("operating-system", make_system({"/usr/lib/os-release": text}))
        assert (found["os.distribution"].value, found["os.distribution"].source) == (
            "arch",
            "/usr/lib/os-release",
        )
        assert found["os.version"].reason == "/usr/lib/os-release has no VERSION_ID"


class TestTopology:
    """Threads of one core count as one physical core; slow cores are not performance cores."""

    @staticmethod
    def phone(file: str, values: list[int]) -> dict[str, str]:
        files = {f"{CPUS}/online": f"0-{len(values) - 1}\n"}
        for cpu, value in enumerate(values):
            files[f"{CPUS}/cpu{cpu}/{file}"] = f"{value}\n"
            files[f"{CPUS}/cpu{cpu}/topology/thread_siblings_list"] = f"{cpu}\n"
        return files

    @pytest.mark.parametrize(
        ("file", "values", "count"),
        [
            (
                "cpu_capacity",
                [250, 250, 250, 250, 870, 870, 870, 1024],
                4,
            ),  # three kinds: the little are slow
            ("cpu_capacity", [530, 530, 1024, 1024], 2),
            ("cpu_capacity", [1024] * 4, 4),
            ("cpufreq/cpuinfo_max_freq", [3600000, 3600000, 4900000, 4900000], 2),
            ("cpufreq/cpuinfo_max_freq", [4850000, 5000000, 4900000, 5050000], 4),  # alike, but for binning
        ],
    )
    def test_slow_cores_are_recognized_by_capacity_or_frequency(self, make_system, file, values, count):
        found = readings("cores", make_system(self.phone(file, values)))
        assert found["cpu.performance_cores"].value == count
        assert found["cpu.performance_cores"].source == f"{CPUS}/cpu*/{file}"
        assert found["cpu.physical_cores"].value == len(values)
        assert found["cpu.efficiency_cores"].value == len(values) - count
        assert found["cpu.physical_cores"].source == f"{CPUS}/cpu*/topology/thread_siblings_list"

    def test_a_measure_that_some_cores_lack_does_not_count(self, make_system):
        files = self.phone("cpu_capacity", [1024, 1024, 250])
        del files[f"{CPUS}/cpu2/cpu_capacity"]
        assert readings("cores", make_system(files))["cpu.performance_cores"].value is None

    def test_caches_and_model_are_those_of_a_performance_core(self, make_system):
        files = self.phone("cpu_capacity", [250, 1024])
        for cpu, size in ((0, "128K"), (1, "1M")):
            files[f"{CPUS}/cpu{cpu}/cache/index2/level"] = "2\n"
            files[f"{CPUS}/cpu{cpu}/cache/index2/type"] = "Unified\n"
            files[f"{CPUS}/cpu{cpu}/cache/index2/size"] = f"{size}\n"
        files["/proc/cpuinfo"] = (
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n\n"
            "processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd44\n"
        )
        found = readings("cpu", make_system(files))
        assert (found["cpu.cache.l2"].value, found["cpu.model"].value) == (1 << 20, "Cortex-X1")
        assert found["cpu.cache.l3"].reason == "sysfs lists no level 3 cache"

    @pytest.mark.parametrize("size", ["", "K", "12", "1G"])
    def test_a_cache_without_a_size_is_unknown(self, make_system, size):
        files = {f"{CPUS}/cpu0/cache/index0/level": "2\n", f"{CPUS}/cpu0/cache/index0/size": size}
        assert readings("cpu", make_system(files))["cpu.cache.l2"].value is None

    def test_an_instruction_cache_does_not_count(self, make_system):
        cache = f"{CPUS}/cpu0/cache/index0"
        files = {f"{cache}/level": "2\n", f"{cache}/type": "Instruction\n", f"{cache}/size": "64K\n"}
        assert readings("cpu", make_system(files))["cpu.cache.l2"].value is None

    def test_cores_that_nothing_groups_are_unknown(self, make_system):
        found = readings("cores", make_system({f"{CPUS}/online": "0-3\n"}))
        assert found["cpu.logical_cores"].value == 4
        reason = "neither sysfs nor /proc/cpuinfo shows which threads share a core"
        assert found["cpu.physical_cores"].reason == found["cpu.performance_cores"].reason == reason

    def test_offline_performance_cores_do_not_count(self, make_system):
        files = self.phone("cpu_capacity", [1024] * 4) | {"/sys/devices/cpu_core/cpus": "2-9\n"}
        assert readings("cores", make_system(files))["cpu.performance_cores"].value == 2

    def test_cores_that_were_switched_off_are_counted(self, make_system):
        files = self.phone("cpu_capacity", [1024] * 4) | {f"{CPUS}/present": "0-5\n"}
        assert readings("cores", make_system(files))["cpu.offline_cores"].value == 2

    @pytest.mark.parametrize(("text", "count"), [("\n", 0), ("2-3\n", 2)])
    def test_isolated_cores_are_counted(self, make_system, text, count):
        found = readings("cores", make_system({f"{CPUS}/isolated": text}))
        assert found["cpu.isolated_cores"].value == count

    def test_numa_nodes_are_counted(self, make_system):
        found = readings("cores", make_system({"/sys/devices/system/node/online": "0-1\n"}))
        assert found["cpu.numa_nodes"].value == 2


class TestCpuinfo:
    """/proc/cpuinfo names x86 processors, and numbers Arm's."""

    def test_vendors_and_models_by_number(self):
        known = {"CPU implementer": "0x41", "CPU part": "0xd0c"}
        assert (cpu_vendor(known), cpu_model(known)) == ("Arm", "Neoverse-N1")
        assert cpu_vendor({"CPU implementer": "0x51"}) == "Qualcomm"
        assert cpu_model({"CPU implementer": "0x41", "CPU part": "0xfff"}) is None
        assert cpu_model({"CPU implementer": "0x41"}) is None

    def test_a_number_without_a_name_is_unknown(self):
        assert cpu_vendor({"CPU implementer": "0x99"}) is None
        assert cpu_vendor({"CPU implementer": "what"}) is None

    def test_vendors_by_name(self):
        assert cpu_vendor({"vendor_id": "AuthenticAMD"}) == "AMD"
        assert cpu_vendor({"vendor_id": "HygonGenuine"}) == "HygonGenuine"

    def test_a_part_number_of_another_designer_is_not_looked_up(self):
        block = {"CPU implementer": "0x51", "CPU part": "0xd0c", "model name": "Kryo"}
        assert cpu_model(block) == "Kryo"

    def test_features_are_those_that_all_threads_have(self):
        blocks = [{"flags": "fma avx2 amx"}, {"flags": "avx2 fma"}, {"flags": "avx2 fma"}]
        assert cpu_features(blocks) == ("avx2", "fma")
        assert cpu_features([{"Features": "fp asimd"}]) == ("asimd", "fp")
        assert cpu_features([{}]) is None

    @pytest.mark.parametrize(
        ("machine", "name"), [("aarch64", "arm64"), ("AMD64", "x86_64"), ("riscv64", "riscv64")]
    )
    def test_architectures_have_one_name_each(self, make_system, machine, name):
        assert readings("cpu", make_system({}, machine=machine))["cpu.arch"].value == name


class TestAvailableCores:
    """Available are the CPUs of the affinity and the cpuset, but no more than the quota feeds."""

    @staticmethod
    def limited(quota: str, cpus: str = "0-7") -> dict[str, str]:
        return {
            "/proc/self/cgroup": "0::/a\n",
            "/proc/self/mountinfo": "1 1 0:1 / /cg rw - cgroup2 cgroup2 rw\n",
            "/cg/a/cpu.max": f"{quota}\n",
            "/cg/a/cpuset.cpus.effective": f"{cpus}\n",
        }

    @pytest.mark.parametrize(
        ("quota", "cpus", "affinity", "count", "source"),
        [
            ("max 100", "0-7", range(8), 8, "sched_getaffinity"),
            ("max 100", "0-7", range(3), 3, "sched_getaffinity"),
            ("max 100", "0-3", range(8), 4, "/cg/a/cpuset.cpus.effective"),
            ("199 100", "0-7", range(8), 1, "/cg/a/cpu.max"),
            ("20 100", "0-7", range(8), 1, "/cg/a/cpu.max"),
            ("300 100", "0-7", range(3), 3, "sched_getaffinity"),
            ("800 100", "0-3", range(8), 4, "/cg/a/cpuset.cpus.effective"),
        ],
    )
    def test_the_tightest_limit_counts_and_is_named(self, make_system, quota, cpus, affinity, count, source):
        system = make_system(self.limited(quota, cpus), affinity=frozenset(affinity))
        reading = readings("available-cores", system)["cpu.available_cores"]
        assert (reading.value, reading.source) == (count, source)

    def test_without_an_affinity_it_is_unknown_but_the_quota_is_not(self, make_system):
        found = readings("available-cores", make_system(self.limited("150 100")))
        assert found["cpu.available_cores"].reason == "the affinity of the process is not known"
        assert found["cpu.quota_cores"].value == 1.5


class TestMemory:
    """Available memory respects the limit of the control group."""

    def test_a_wider_limit_does_not_count(self, make_system):
        files = {
            "/proc/meminfo": "MemTotal: 8 kB\nMemAvailable: 4 kB\nHugePages_Total: 0\nBad: x kB\n",
            "/proc/self/cgroup": "0::/a\n",
            "/proc/self/mountinfo": "1 1 0:1 / /cg rw - cgroup2 cgroup2 rw\n",
            "/cg/a/memory.max": "100000\n",
        }
        found = readings("memory", make_system(files))
        assert (found["memory.available"].value, found["memory.available"].source) == (4096, "/proc/meminfo")
        assert found["memory.cgroup_limit"].value == 100000

    def test_a_kernel_that_does_not_report_available_memory(self, make_system):
        found = readings("memory", make_system({"/proc/meminfo": "MemTotal: 8 kB\n"}))
        assert found["memory.available"].reason == "/proc/meminfo has no MemAvailable"


class TestPower:
    """A device runs on mains while an adapter is online or no battery is known."""

    @staticmethod
    def supplies(**supplies: dict[str, str]) -> dict[str, str]:
        files = {f"{SUPPLIES}/.gitkeep": ""}
        for name, attributes in supplies.items():
            files |= {f"{SUPPLIES}/{name}/{key}": f"{value}\n" for key, value in attributes.items()}
        return files

    @pytest.mark.parametrize(
        ("adapter", "status", "power_source"),
        [
            ("1", "Discharging", "mains"),  # an adapter too weak for the load
            ("1", "Charging", "mains"),
            ("0", "Discharging", "battery"),
            ("0", "Not charging", "battery"),
            (None, "Discharging", "battery"),
            (None, "Full", "mains"),
            (None, "Unknown", None),
        ],
    )
    def test_the_source_follows_from_adapter_and_battery(self, make_system, adapter, status, power_source):
        supplies = {"BAT0": {"type": "Battery", "status": status, "capacity": "50"}}
        if adapter is not None:
            supplies["AC"] = {"type": "Mains", "online": adapter}
        found = readings("power", make_system(self.supplies(**supplies)))
        assert found["power.source"].value == power_source
        assert found["power.battery_level"].value == 0.5

    def test_a_battery_that_does_not_say_is_named_in_the_reason(self, make_system):
        found = readings("power", make_system(self.supplies(BAT0={"type": "Battery"})))
        assert found["power.source"].reason == "the battery does not say whether it discharges"
        assert found["power.battery_level"].reason == "the battery does not report its capacity"

    def test_usb_is_an_adapter(self, make_system):
        supplies = self.supplies(
            usb={"type": "USB_PD", "online": "1"}, BAT0={"type": "Battery", "status": "Discharging"}
        )
        assert readings("power", make_system(supplies))["power.source"].value == "mains"

    def test_several_batteries_count_by_their_mean_and_an_absent_one_not(self, make_system):
        supplies = self.supplies(
            BAT0={"type": "Battery", "capacity": "20"},
            BAT1={"type": "Battery", "capacity": "103"},
            BAT2={"type": "Battery", "capacity": "0", "present": "0"},
        )
        reading = readings("power", make_system(supplies))["power.battery_level"]
        assert reading.value == 0.6
        assert reading.source == f"{SUPPLIES}/BAT0/capacity and {SUPPLIES}/BAT1/capacity"


class TestDevice:
    """The firmware names the device."""

    def test_a_device_tree_answers_where_dmi_does_not(self, make_system):
        files = {
            "/sys/class/dmi/id/sys_vendor": "To Be Filled By O.E.M.\n",
            "/proc/device-tree/model": "Jetson AGX Orin\0",
            "/proc/device-tree/compatible": "nvidia,p3737-0000+p3701-0000\0nvidia,tegra234\0",
        }
        found = readings("device", make_system(files))
        assert {name: reading.value for name, reading in found.items()} == {
            "device.vendor": "nvidia",
            "device.family": None,
            "device.model": "Jetson AGX Orin",
            "device.board": "nvidia,p3737-0000+p3701-0000",
            "device.is_emulator": None,
            "soc.vendor": "nvidia",
            "soc.model": "tegra234",
        }

    def test_a_board_alone_names_no_chip(self, make_system):
        found = readings("device", make_system({"/proc/device-tree/compatible": "linux,dummy-virt\0"}))
        assert found["soc.model"].reason == "no device tree names a chip"

    def test_firmware_without_texts_is_reported(self, make_system):
        found = readings("device", make_system({}))
        assert found["device.model"].reason == "the firmware says nothing, and no device tree has it"


class TestRuntime:
    """Installed versions are read from the names of metadata directories."""

    @pytest.mark.parametrize(
        ("entry", "version"),
        [
            ("numpy-2.1.3.dist-info", "2.1.3"),
            ("NumPy-1.26.4-py3.10.egg-info", "1.26.4"),
            ("numpy-2.0.0rc1+local.dist-info", "2.0.0rc1+local"),
            ("numpy.dist-info", None),
            ("numpy_financial-1.0.0.dist-info", None),
            ("numpy", None),
        ],
    )
    def test_a_version_is_part_of_a_name(self, make_system, entry, version):
        system = make_system({f"/site/{entry}/METADATA": ""}, search_path=("/missing", "/site"))
        reading = readings("runtime", system)["runtime.numpy"]
        assert reading.value == version
        if version is not None:
            assert reading.source == f"/site/{entry}"
