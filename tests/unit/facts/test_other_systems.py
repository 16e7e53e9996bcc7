from __future__ import annotations

import json
import struct
from importlib import import_module
from pathlib import Path

import pytest
from captured_trees import captured_system

from etconfig.facts.detecting.detection import detect
from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.detectors import BUILTIN_DETECTORS
from etconfig.facts.detecting.detectors.system_detector import MODULES, SystemDetector
from etconfig.facts.detecting.detectors.windows import DISPLAY_KEY, VERSION_KEY
from etconfig.facts.detecting.host import Host
from etconfig.facts.detecting.system import System
from etconfig.facts.detecting.windows_functions import AFFINITY, MEMORY, POWER, PROCESSORS
from etconfig.facts.sheet import FactSheet


def sheet_of(tree: str) -> FactSheet:
    return detect(captured_system(tree))


def found(detector_name: str, system: System) -> dict[str, Reading]:
    (detector,) = [detector for detector in BUILTIN_DETECTORS if detector.name == detector_name]
    return {reading.name: reading for reading in detector.detect(system)}


def hexadecimal(*answers: bytes) -> str:
    return b"".join(answers).hex()


class TestDispatch:
    """Each topic is handled by the function of the current system."""

    def test_every_listed_function_exists(self):
        for detector in BUILTIN_DETECTORS:
            for system in getattr(detector, "elsewhere", ()):
                module = import_module(f"etconfig.facts.detecting.detectors.{MODULES[system]}")
                assert callable(module.FINDERS[detector.name])

    @pytest.mark.parametrize("system", sorted(MODULES))
    @pytest.mark.parametrize("detector", BUILTIN_DETECTORS, ids=lambda detector: detector.name)
    def test_a_silent_system_makes_facts_unknown_with_a_reason(self, make_system, detector, system):
        readings = {reading.name: reading for reading in detector.detect(make_system({}, system=system))}
        assert set(readings) == {name for name in detector.provides if "<n>" not in name}
        values = {name for name, reading in readings.items() if reading.value is not None}
        assert values <= {"os.name", "device.vendor"}

    def test_files_are_read_if_the_system_gives_nothing(self, make_system):
        supply = "/sys/class/power_supply/BAT0"
        files = {
            f"{supply}/type": "Battery\n",
            f"{supply}/status": "Discharging\n",
            f"{supply}/capacity": "9",
        }
        readings = found("power", make_system(files, system="Android"))
        assert readings["power.source"].value == "battery"
        assert readings["power.battery_level"].source == f"{supply}/capacity"

    def test_on_an_unknown_system_files_are_read(self, make_system):
        readings = found("memory", make_system({"/proc/meminfo": "MemTotal: 8 kB\n"}, system="Plan9"))
        assert readings["memory.total"].value == 8192

    def test_a_fact_that_is_not_searched_says_so(self):
        detector = SystemDetector("topic", ("os.name", "gpu.<n>.name"), lambda system: ())
        (reading,) = detector.detect(System(Path("/nowhere"), Host(system="Haiku")))
        assert (reading.name, reading.reason) == ("os.name", "etconfig does not look for it on Haiku")
        (reading,) = detector.detect(System(Path("/nowhere"), Host(system=None)))
        assert reading.reason == "etconfig does not look for it on an unnamed system"


class TestMacos:
    """Facts on macOS come from the output of commands."""

    def test_an_apple_silicon_mac(self):
        values = sheet_of("macbook-air-m2").values
        assert (values["os.name"], values["os.version"], values["os.kernel"]) == ("macos", "15.5", "24.5.0")
        assert (values["cpu.vendor"], values["cpu.model"], values["soc.model"]) == (
            "Apple",
            "Apple M2",
            "Apple M2",
        )
        assert (values["cpu.performance_cores"], values["cpu.efficiency_cores"]) == (4, 4)
        assert values["cpu.cache.l2"] == 16 << 20
        assert values["device.model"] == "Mac14,2"
        assert (values["gpu.0.name"], values["npu.0.name"]) == ("Apple M2", "Apple Neural Engine")
        assert (values["power.source"], values["power.battery_level"]) == ("battery", 0.83)
        assert values["thermal.state"] == "fair"

    def test_available_memory_is_free_and_inactive_pages(self):
        sheet = sheet_of("macbook-air-m2")
        assert sheet.values["memory.available"] == (12345 + 340000) * 16384
        assert sheet.values["memory.swap_total"] == 2 << 30

    def test_features_have_the_names_that_linux_gives_them(self):
        features = sheet_of("macbook-air-m2").values["cpu.features"]
        assert features == ("asimd", "asimddp", "asimdhp", "atomics", "bf16", "i8mm")

    SYSCTL = "/commands/sysctl hw machdep.cpu kern.osproductversion kern.hv_vmm_present vm.swapusage.txt"

    def test_an_intel_mac_has_cores_of_one_kind_and_no_neural_engine(self, make_system):
        text = (
            "hw.physicalcpu: 6\nhw.logicalcpu: 12\nhw.l3cachesize: 12582912\n"
            "machdep.cpu.brand_string: Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz\n"
            "machdep.cpu.vendor: GenuineIntel\n"
            "machdep.cpu.features: FPU SSE3 SSE4.1 SSE4.2 AVX1.0\nmachdep.cpu.leaf7_features: AVX2 BMI1\n"
        )
        system = make_system({self.SYSCTL: text}, system="Darwin", machine="x86_64")
        cpu, cores = found("cpu", system), found("cores", system)
        assert (cpu["cpu.vendor"].value, cpu["cpu.cache.l3"].value) == ("Intel", 12582912)
        assert cpu["cpu.features"].value == ("avx", "avx2", "bmi1", "fpu", "pni", "sse4_1", "sse4_2")
        assert (cores["cpu.performance_cores"].value, cores["cpu.efficiency_cores"].value) == (6, 0)
        assert found("npu", system)["npu.count"].reason == "sysctl reports no Apple silicon"
        assert found("device", system)["soc.model"].reason == "it has no Apple silicon"

    def test_a_virtual_machine_has_no_neural_engine(self, make_system):
        text = "machdep.cpu.brand_string: Apple M1 (Virtual)\nkern.hv_vmm_present: 1\n"
        readings = found("npu", make_system({self.SYSCTL: text}, system="Darwin"))
        assert {name: reading.value for name, reading in readings.items()} == {"npu.count": 0}

    @pytest.mark.parametrize(
        ("level", "state"), [("0", "nominal"), ("2", "serious"), ("3", "critical"), ("9", None)]
    )
    def test_thermal_pressure_becomes_a_state(self, make_system, level, state):
        path = "/commands/notifyutil -g com.apple.system.thermalpressurelevel.txt"
        text = f"com.apple.system.thermalpressurelevel {level}\n"
        readings = found("thermal", make_system({path: text}, system="Darwin"))
        assert readings["thermal.state"].value == state

    def test_a_desktop_has_no_battery(self, make_system):
        files = {"/commands/pmset -g batt.txt": "Now drawing from 'AC Power'\n"}
        readings = found("power", make_system(files, system="Darwin"))
        assert readings["power.source"].value == "mains"
        assert readings["power.battery_level"].reason == "pmset lists no battery"


class TestAndroid:
    """Facts on Android come from properties, services, and the files of Linux."""

    def test_a_phone(self):
        values = sheet_of("pixel-8").values
        assert (values["os.name"], values["os.version"], values["os.api_level"]) == ("android", "15", 35)
        assert (values["device.vendor"], values["device.model"]) == ("Google", "Pixel 8")
        assert (values["soc.vendor"], values["soc.model"]) == ("Google", "Tensor G3")
        assert (values["cpu.performance_cores"], values["cpu.efficiency_cores"]) == (5, 4)
        assert (values["power.source"], values["power.battery_level"]) == ("mains", 0.71)
        assert (values["gpu.0.name"], values["gpu.0.vendor"]) == ("Mali-G715", "Arm")

    def test_the_thermal_state_comes_from_the_service(self):
        sheet = sheet_of("pixel-8")
        assert (sheet["thermal.state"].value, sheet["thermal.state"].origin.detail) == ("fair", "status 2")
        assert sheet["thermal.max_celsius"].value == 62.7

    def test_the_reason_says_that_its_npu_cannot_be_seen(self):
        reason = "Android lists no neural processors; soc.model names the chip"
        assert sheet_of("pixel-8")["npu.count"].reason == reason

    def test_an_older_release_names_the_platform(self, make_system):
        files = {"/commands/getprop.txt": "[ro.board.platform]: [kona]\n[ro.soc.model]: []\n"}
        reading = found("device", make_system(files, system="Android"))["soc.model"]
        assert (reading.value, reading.source) == ("kona", "getprop ro.board.platform")

    @pytest.mark.parametrize(
        ("lines", "value", "source"),
        [
            ("[ro.kernel.qemu]: [1]\n", True, "getprop ro.kernel.qemu"),
            ("[ro.kernel.qemu]: [0]\n[ro.hardware]: [ranchu]\n", True, "getprop ro.hardware"),
            ("[ro.hardware]: [qcom]\n", False, "getprop ro.hardware"),
            ("[ro.product.model]: [Pixel]\n", None, "getprop"),
        ],
    )
    def test_an_emulator_says_so(self, make_system, lines, value, source):
        reading = found("device", make_system({"/commands/getprop.txt": lines}, system="Android"))[
            "device.is_emulator"
        ]
        assert (reading.value, reading.source) == (value, source)

    def test_a_qualcomm_gpu(self, make_system):
        files = {"/sys/class/kgsl/kgsl-3d0/gpu_model": "Adreno740v2\n"}
        readings = found("gpu", make_system(files, system="Android"))
        assert (readings["gpu.0.name"].value, readings["gpu.0.vendor"].value) == ("Adreno 740", "Qualcomm")

    def test_a_service_that_an_app_may_not_query(self, make_system):
        denied = "Permission Denial: can't dump battery from pid=1, uid=10\n"
        files = {"/commands/dumpsys battery.txt": denied, "/commands/dumpsys thermalservice.txt": denied}
        system = make_system(files, system="Android")
        assert found("power", system)["power.source"].reason == "there is no /sys/class/power_supply"
        assert found("thermal", system)["thermal.state"].reason == "/sys/class/thermal lists no sensor"

    def test_a_service_without_temperatures(self, make_system):
        files = {"/commands/dumpsys thermalservice.txt": "Thermal Status: 6\n"}
        readings = found("thermal", make_system(files, system="Android"))
        assert readings["thermal.state"].value == "critical"
        assert readings["thermal.max_celsius"].reason == "the service lists no temperature"


class TestWindows:
    """Facts on Windows come from the registry and a few functions."""

    def test_a_hybrid_laptop(self):
        values = sheet_of("windows-core-ultra-laptop").values
        assert (values["os.name"], values["os.version"]) == ("windows", "11")
        assert values["os.kernel"] == "10.0.26100.4652"
        assert values["cpu.arch"] == "x86_64"
        assert (values["cpu.logical_cores"], values["cpu.physical_cores"]) == (22, 16)
        assert (values["cpu.performance_cores"], values["cpu.efficiency_cores"]) == (6, 10)
        assert (values["cpu.cache.l1d"], values["cpu.cache.l2"]) == (48 << 10, 2 << 20)
        assert values["cpu.cache.l3"] == 24 << 20
        assert values["cpu.numa_nodes"] == 1
        assert values["device.model"] == "ASUS Zenbook 14 UX3405MA"
        assert (values["power.source"], values["power.battery_level"]) == ("battery", 0.78)
        assert values["memory.swap_total"] == 2 << 30

    def test_devices_that_are_on_a_bus_count(self):
        values = sheet_of("windows-core-ultra-laptop").values
        assert (values["gpu.count"], values["gpu.0.name"]) == (1, "Intel(R) Arc(TM) Graphics")
        assert (values["gpu.0.pci_id"], values["gpu.0.vendor"]) == ("8086:7d55", "Intel")
        assert (values["npu.count"], values["npu.0.name"]) == (1, "Intel(R) AI Boost")

    @pytest.mark.parametrize(
        ("product", "build", "version"),
        [
            ("Windows 10 Home", "19045", "10"),
            ("Windows 10 Home", "22631", "11"),  # Windows 11 calls itself 10 here
            ("Windows Server 2022 Datacenter", "20348", "2022"),
            ("Windows 10 Home", "", None),
        ],
    )
    def test_the_version_is_the_name_that_people_know(self, make_system, product, build, version):
        text = json.dumps({VERSION_KEY: {"ProductName": product, "CurrentBuild": build}})
        readings = found("operating-system", make_system({"/registry.json": text}, system="Windows"))
        assert readings["os.version"].value == version

    def test_the_affinity_counts(self, make_system):
        files = {f"/calls/{AFFINITY}.hex": hexadecimal(struct.pack("<QQ", 0b1011, 0xFF))}
        readings = found("available-cores", make_system(files, system="Windows"))
        assert readings["cpu.available_cores"].value == 3

    @pytest.mark.parametrize(
        ("line", "percent", "source", "level"),
        [(1, 100, "mains", 1.0), (0, 5, "battery", 0.05), (255, 255, None, None), (1, 255, "mains", None)],
    )
    def test_power_comes_from_two_bytes(self, make_system, line, percent, source, level):
        files = {f"/calls/{POWER}.hex": hexadecimal(bytes([line, 0, percent]), bytes(9))}
        readings = found("power", make_system(files, system="Windows"))
        assert readings["power.source"].value == source
        assert readings["power.battery_level"].value == level

    def test_memory_comes_from_a_structure(self, make_system):
        answer = struct.pack("<II7Q", 64, 50, 1000, 400, 900, 1, 2, 3, 4)
        readings = found(
            "memory", make_system({f"/calls/{MEMORY}.hex": hexadecimal(answer)}, system="Windows")
        )
        assert (readings["memory.total"].value, readings["memory.available"].value) == (1000, 400)
        assert readings["memory.swap_total"].value == 0

    def test_an_answer_that_is_cut_off_counts_as_far_as_it_goes(self, make_system):
        core = struct.pack("<IIBB20sHQH6x", 0, 48, 0, 0, bytes(20), 1, 1, 0)
        for rest in (b"", core[:20], struct.pack("<II", 0, 0), core[:7]):
            files = {f"/calls/{PROCESSORS}.hex": hexadecimal(core, rest)}
            readings = found("cores", make_system(files, system="Windows"))
            assert readings["cpu.physical_cores"].value == 1

    def test_a_device_that_is_not_on_pci_has_no_id(self, make_system):
        gpu = {"DriverDesc": "Adreno X1-85", "MatchingDeviceId": "ACPI\\QCOM0C36"}
        text = json.dumps({VERSION_KEY: {"CurrentBuild": "26100"}, f"{DISPLAY_KEY}\\0000": gpu})
        readings = found("gpu", make_system({"/registry.json": text}, system="Windows"))
        assert readings["gpu.0.name"].value == "Adreno X1-85"
        assert readings["gpu.0.pci_id"].reason == "it is not on a PCI bus"
        assert readings["gpu.0.memory"].reason == "its driver names no memory of its own"
        assert found("npu", make_system({"/registry.json": text}, system="Windows"))["npu.count"].value == 0
