"""The temperature of the device. Source: Linux, Documentation/ABI/testing/sysfs-class-thermal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.detectors.system_detector import SystemDetector
from etconfig.facts.detecting.system import System

_CLASS = "/sys/class/thermal"
_MAX_CELSIUS = "thermal.max_celsius"
_STATE = "thermal.state"

_PLAUSIBLE_CELSIUS = range(-50, 200)
"""The range of real temperatures; a sensor that is switched off reports -274 degrees, which is 0 kelvin."""

_NEAR_CELSIUS = 5.0
"""The state is `fair` from this far below the temperature at which the kernel slows the device down."""

_STATES = ("nominal", "fair", "serious", "critical")


class _Zone(NamedTuple):
    path: str
    celsius: float
    state: str | None


def _detect(system: System) -> Iterator[Reading]:
    names = system.list_directory(_CLASS)
    zones = [_zone(system, f"{_CLASS}/{name}") for name in names or () if name.startswith("thermal_zone")]
    known = [zone for zone in zones if zone is not None]
    if not known:
        reason = f"{_CLASS} lists no sensor"
        yield Reading.unknown(_MAX_CELSIUS, _CLASS, reason)
        yield Reading.unknown(_STATE, _CLASS, reason)
        return
    hottest = max(known, key=lambda zone: zone.celsius)
    yield Reading(_MAX_CELSIUS, hottest.celsius, f"{hottest.path}/temp")
    judged = [zone for zone in known if zone.state is not None]
    if not judged:
        yield Reading.unknown(_STATE, _CLASS, "no sensor says at which temperature the device is slowed down")
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
    _detect,
    ("Android", "Darwin"),
)
