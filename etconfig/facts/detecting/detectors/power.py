"""Power supply and temperature. Sources: Linux, Documentation/ABI/testing/sysfs-class-power, -thermal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.detectors.system_detector import SystemDetector
from etconfig.facts.detecting.system import System

_SUPPLY = "/sys/class/power_supply"

_SENSORS = "/sys/class/thermal"

_MAX_CELSIUS = "thermal.max_celsius"

_STATE = "thermal.state"

_PLAUSIBLE_CELSIUS = range(-50, 200)
"""The range of real temperatures; a sensor that is switched off reports -274 degrees, which is 0 kelvin."""

_NEAR_CELSIUS = 5.0
"""The state is `fair` from this far below the temperature at which the kernel slows the device down."""

_STATES = ("nominal", "fair", "serious", "critical")


class _Battery(NamedTuple):
    path: str
    status: str | None
    percent: int | None


def _detect_supply(system: System) -> Iterator[Reading]:
    names = system.list_directory(_SUPPLY)
    if names is None:
        reason = f"there is no {_SUPPLY}"
        yield Reading.unknown("power.source", _SUPPLY, reason)
        yield Reading.unknown("power.battery_level", _SUPPLY, reason)
        return
    supplies = [f"{_SUPPLY}/{name}" for name in names]
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
        return Reading("power.source", "mains", _SUPPLY, "the kernel knows of no battery")
    for battery in batteries:
        if battery.status == "Discharging":
            return Reading("power.source", "battery", f"{battery.path}/status")
    if adapters:
        return Reading("power.source", "battery", f"{adapters[0]}/online", "no adapter is online")
    if any(battery.status in (None, "Unknown") for battery in batteries):
        return Reading.unknown("power.source", _SUPPLY, "the battery does not say whether it discharges")
    return Reading("power.source", "mains", f"{batteries[0].path}/status", "no battery discharges")


def _level(batteries: list[_Battery]) -> Reading:
    # worn batteries may report a few percent more than full
    levels = [min(battery.percent, 100) for battery in batteries if battery.percent is not None]
    if not batteries:
        return Reading.unknown("power.battery_level", _SUPPLY, "the kernel knows of no battery")
    if not levels:
        return Reading.unknown("power.battery_level", _SUPPLY, "the battery does not report its capacity")
    source = " and ".join(f"{battery.path}/capacity" for battery in batteries)
    return Reading("power.battery_level", sum(levels) / (100 * len(levels)), source)


POWER = SystemDetector(
    "power",
    ("power.source", "power.battery_level"),
    _detect_supply,
    ("Android", "Darwin", "Windows"),
)


class _Zone(NamedTuple):
    path: str
    celsius: float
    state: str | None


def _detect_heat(system: System) -> Iterator[Reading]:
    names = system.list_directory(_SENSORS)
    zones = [_zone(system, f"{_SENSORS}/{name}") for name in names or () if name.startswith("thermal_zone")]
    known = [zone for zone in zones if zone is not None]
    if not known:
        reason = f"{_SENSORS} lists no sensor"
        yield Reading.unknown(_MAX_CELSIUS, _SENSORS, reason)
        yield Reading.unknown(_STATE, _SENSORS, reason)
        return
    hottest = max(known, key=lambda zone: zone.celsius)
    yield Reading(_MAX_CELSIUS, hottest.celsius, f"{hottest.path}/temp")
    judged = [zone for zone in known if zone.state is not None]
    if not judged:
        yield Reading.unknown(
            _STATE, _SENSORS, "no sensor says at which temperature the device is slowed down"
        )
        return
    worst = max(judged, key=lambda zone: _STATES.index(zone.state or "nominal"))
    yield Reading(_STATE, worst.state, worst.path, "its temperature against its trip points")


def _zone(system: System, path: str) -> _Zone | None:
    """Return the sensor at `path`, or None if it does not measure."""
    millicelsius = system.read_int(f"{path}/temp")
    if millicelsius is None or millicelsius // 1000 not in _PLAUSIBLE_CELSIUS:
        return None
    celsius = millicelsius / 1000
    return _Zone(path, celsius, _state(celsius, _trip_points(system, path)))


def _trip_points(system: System, path: str) -> dict[str, float]:
    """Return the lowest temperature of each kind of trip point: passive cooling, hot, critical."""
    lowest: dict[str, float] = {}
    for name in system.list_directory(path) or ():
        if not (name.startswith("trip_point_") and name.endswith("_type")):
            continue
        kind = system.read_line(f"{path}/{name}")
        millicelsius = system.read_int(f"{path}/{name[: -len('type')]}temp")
        if (
            kind is not None and millicelsius is not None and millicelsius > 0
        ):  # trip points of 0 and below are unused
            lowest[kind] = min(lowest.get(kind, millicelsius / 1000), millicelsius / 1000)
    return lowest


def _state(celsius: float, trips: dict[str, float]) -> str | None:
    """Return the state of a temperature against trip points; None if none of them slows the device down."""
    if any(celsius >= trips[kind] for kind in ("hot", "critical") if kind in trips):
        return "critical"
    if "passive" not in trips:
        return None
    if celsius >= trips["passive"]:
        return "serious"
    return "fair" if celsius >= trips["passive"] - _NEAR_CELSIUS else "nominal"


THERMAL = SystemDetector(
    "thermal",
    (_STATE, _MAX_CELSIUS),
    _detect_heat,
    ("Android", "Darwin"),
)
