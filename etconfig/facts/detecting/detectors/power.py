"""The power supply. Source: Linux, Documentation/ABI/testing/sysfs-class-power."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.detectors.system_detector import SystemDetector
from etconfig.facts.detecting.system import System

_CLASS = "/sys/class/power_supply"


class _Battery(NamedTuple):
    path: str
    status: str | None
    percent: int | None


def _detect(system: System) -> Iterator[Reading]:
    names = system.list_directory(_CLASS)
    if names is None:
        reason = f"there is no {_CLASS}"
        yield Reading.unknown("power.source", _CLASS, reason)
        yield Reading.unknown("power.battery_level", _CLASS, reason)
        return
    supplies = [f"{_CLASS}/{name}" for name in names]
    batteries = [battery for path in supplies if (battery := _battery(system, path)) is not None]
    adapters = [path for path in supplies if _is_adapter(system, path)]
    yield _source(system, adapters, batteries)
    yield _level(batteries)


def _battery(system: System, path: str) -> _Battery | None:
    """Return the battery at `path`, or None; batteries of peripherals such as a mouse do not count."""
    if system.read_line(f"{path}/type") != "Battery" or system.read_line(f"{path}/scope") == "Device":
        return None
    if system.read_int(f"{path}/present") == 0:
        return None
    percent = system.read_int(f"{path}/capacity")
    return _Battery(
        path, system.read_line(f"{path}/status"), percent if percent is not None and percent >= 0 else None
    )


def _is_adapter(system: System, path: str) -> bool:
    kind = system.read_line(f"{path}/type") or ""
    return kind == "Mains" or kind.startswith("USB")


def _source(system: System, adapters: list[str], batteries: list[_Battery]) -> Reading:
    for path in adapters:
        if system.read_int(f"{path}/online"):
            return Reading("power.source", "mains", f"{path}/online")
    if not batteries:
        return Reading("power.source", "mains", _CLASS, "the kernel knows of no battery")
    for battery in batteries:
        if battery.status == "Discharging":
            return Reading("power.source", "battery", f"{battery.path}/status")
    if adapters:
        return Reading("power.source", "battery", f"{adapters[0]}/online", "no adapter is online")
    if any(battery.status in (None, "Unknown") for battery in batteries):
        return Reading.unknown("power.source", _CLASS, "the battery does not say whether it discharges")
    return Reading("power.source", "mains", f"{batteries[0].path}/status", "no battery discharges")


def _level(batteries: list[_Battery]) -> Reading:
    # worn batteries may report a few percent more than full
    levels = [min(battery.percent, 100) for battery in batteries if battery.percent is not None]
    if not batteries:
        return Reading.unknown("power.battery_level", _CLASS, "the kernel knows of no battery")
    if not levels:
        return Reading.unknown("power.battery_level", _CLASS, "the battery does not report its capacity")
    source = " and ".join(f"{battery.path}/capacity" for battery in batteries)
    return Reading("power.battery_level", sum(levels) / (100 * len(levels)), source)


POWER = SystemDetector(
    "power",
    ("power.source", "power.battery_level"),
    _detect,
    ("Android", "Darwin", "Windows"),
)
