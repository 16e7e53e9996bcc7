"""Android: its properties, and the services that the shell may query (`adb` may too, an app may not).

Written from the sources and documentation of the Android Open Source Project: `getprop` of
system/core/toolbox, BatteryService.dump, ThermalManagerService.dump. Tested with captured outputs only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from etconfig.facts.detecting.detector import Find, Reading
from etconfig.facts.detecting.device_text import decimal_count, text_lines
from etconfig.facts.detecting.system import System

GETPROP = ("/system/bin/getprop",)
BATTERY = ("/system/bin/dumpsys", "battery")
THERMAL = ("/system/bin/dumpsys", "thermalservice")
ADRENO_MODEL = "/sys/class/kgsl/kgsl-3d0/gpu_model"
MALI_INFO = "/sys/class/misc/mali0/device/gpuinfo"
COMMANDS = (GETPROP, BATTERY, THERMAL)
"""All commands that the functions below run."""

_EMULATORS = ("goldfish", "ranchu", "cutf_cvm", "vbox86")
"""The hardware of emulators: of Android Studio, Cuttlefish and Genymotion."""

_PROPERTY = re.compile(r"^\[([^\]\n]+)\]: \[(.*)\]$", re.MULTILINE)

_THERMAL_STATES = ("nominal", "fair", "fair", "serious", "critical", "critical", "critical")
"""The states by Android's number: none, light, moderate, severe, critical, emergency, shutdown.
Source: PowerManager.getCurrentThermalStatus.
"""

_BATTERY_STATE = re.compile(r"^  (level|scale|[A-Za-z ]+ powered): (true|false|[0-9]{1,9})$", re.MULTILINE)
_STATUS = re.compile(r"^Thermal Status: ([0-6])$", re.MULTILINE)
_TEMPERATURE = re.compile(r"^\s*Temperature\{mValue=(-?[0-9]{1,6}(?:\.[0-9]{1,9})?),", re.MULTILINE)


def _operating_system(system: System) -> Iterator[Reading]:
    """Find name, kernel, release and API level."""
    properties = _properties(system)
    yield Reading("os.name", "android", "uname")
    yield Reading.of("os.kernel", system.host.release, "uname", otherwise="uname does not report it")
    yield _property(properties, "os.version", "ro.build.version.release")
    level = properties.get("ro.build.version.sdk", "")
    number = decimal_count(level)
    reason = "getprop has no ro.build.version.sdk"
    yield Reading.of("os.api_level", number, "getprop ro.build.version.sdk", otherwise=reason)


def _device(system: System) -> Iterator[Reading]:
    """Find vendor, model, board and system on a chip."""
    properties = _properties(system)
    yield _property(properties, "device.vendor", "ro.product.manufacturer")
    yield _property(properties, "device.model", "ro.product.model")
    yield _property(properties, "device.board", "ro.product.board")
    yield _emulator(properties)
    # Android 12 and later name the chip; before that, the platform comes closest
    yield _property(properties, "soc.vendor", "ro.soc.manufacturer")
    yield _property(properties, "soc.model", "ro.soc.model", "ro.board.platform")


def _emulator(properties: Mapping[str, str]) -> Reading:
    fact = "device.is_emulator"
    for name in ("ro.kernel.qemu", "ro.boot.qemu"):
        if properties.get(name) == "1":
            return Reading(fact, True, f"getprop {name}")
    found = _property(properties, fact, "ro.hardware")
    return found if found.value is None else Reading(fact, found.value in _EMULATORS, found.source)


def _power(system: System) -> Iterator[Reading]:
    """Find source and level; nothing if the service must not be queried."""
    text = _output(system, *BATTERY)
    lines = _BATTERY_STATE.findall(text)
    state = {name: decimal_count(value) for name, value in lines}
    level, scale = state.get("level"), state.get("scale")
    if level is None or scale is None:
        return
    is_powered = any(name.endswith(" powered") and value == "true" for name, value in lines)
    yield Reading("power.source", "mains" if is_powered else "battery", "dumpsys battery")
    yield Reading("power.battery_level", min(level / max(1, scale), 1.0), "dumpsys battery")


def _thermal(system: System) -> Iterator[Reading]:
    """Find state and temperature; nothing if the service must not be queried."""
    text = _output(system, *THERMAL)
    status = _STATUS.search(text)
    if status is None:
        return
    source = "dumpsys thermalservice"
    yield Reading("thermal.state", _THERMAL_STATES[int(status[1])], source, f"status {status[1]}")
    hottest = max(map(float, _TEMPERATURE.findall(text)), default=None)
    reason = "the service lists no temperature"
    yield Reading.of("thermal.max_celsius", hottest, source, otherwise=reason)


def _gpu(system: System) -> Iterator[Reading]:
    """Find the GPU by the class of its vendor's driver."""
    adreno = system.read_line(ADRENO_MODEL)
    mali = system.read_line(MALI_INFO)
    if adreno is not None:
        # "Adreno740v2": leave out the revision of the silicon
        name, vendor, source = adreno.partition("v")[0].replace("Adreno", "Adreno "), "Qualcomm", ADRENO_MODEL
    elif mali is not None:
        # "Mali-G715 7 cores r1p2 0xA0020C0B"
        name, vendor, source = mali.partition(" ")[0], "Arm", MALI_INFO
    else:
        yield Reading.unknown(
            "gpu.count", "/sys/class", f"neither {ADRENO_MODEL} nor {MALI_INFO} can be read"
        )
        return
    yield Reading("gpu.count", 1, source)
    yield Reading("gpu.0.name", name, source)
    yield Reading("gpu.0.vendor", vendor, source)
    yield Reading.unknown("gpu.0.driver_version", source, "only an app can ask the driver, and set it")


def _npu(system: System) -> Iterator[Reading]:
    """Report that NPUs cannot be listed."""
    yield Reading.unknown(
        "npu.count", "getprop", "Android lists no neural processors; soc.model names the chip"
    )


def _output(system: System, *command: str) -> str:
    return "\n".join(text_lines(system.run(*command)))


def _properties(system: System) -> Mapping[str, str]:
    return dict(_PROPERTY.findall(_output(system, *GETPROP)))


def _property(properties: Mapping[str, str], fact: str, *names: str) -> Reading:
    for name in names:
        if properties.get(name):
            return Reading(fact, properties[name], f"getprop {name}")
    return Reading.unknown(fact, "getprop", f"getprop has no {' and no '.join(names)}")


FINDERS: Mapping[str, Find] = {
    "operating-system": _operating_system,
    "power": _power,
    "thermal": _thermal,
    "device": _device,
    "gpu": _gpu,
    "npu": _npu,
}
"""The functions of this system, by the name of the detector that calls them."""
