from __future__ import annotations

from collections.abc import Mapping

import pytest

from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.detectors.power import THERMAL
from etconfig.facts.detecting.system import System

CLASS = "/sys/class/thermal"


def readings(system: System) -> Mapping[str, Reading]:
    return {reading.name: reading for reading in THERMAL.detect(system)}


def zone(number: int, temperature: int, **trips: int) -> dict[str, str]:
    files = {f"{CLASS}/thermal_zone{number}/temp": f"{temperature}\n"}
    for index, (kind, millicelsius) in enumerate(trips.items()):
        files[f"{CLASS}/thermal_zone{number}/trip_point_{index}_type"] = f"{kind}\n"
        files[f"{CLASS}/thermal_zone{number}/trip_point_{index}_temp"] = f"{millicelsius}\n"
    return files


class TestState:
    """Heat limits the device as far as the kernel slows it down."""

    @pytest.mark.parametrize(
        ("millicelsius", "state"),
        [
            (40000, "nominal"),
            (89999, "nominal"),
            (90000, "fair"),
            (95000, "serious"),
            (104999, "serious"),
            (105000, "critical"),
        ],
    )
    def test_it_follows_from_the_trip_points(self, make_system, millicelsius, state):
        system = make_system(zone(0, millicelsius, passive=95000, critical=105000))
        assert readings(system)["thermal.state"].value == state

    def test_the_lowest_trip_point_of_a_kind_counts(self, make_system):
        files = zone(0, 81000, passive=95000) | {
            f"{CLASS}/thermal_zone0/trip_point_7_type": "passive\n",
            f"{CLASS}/thermal_zone0/trip_point_7_temp": "80000\n",
        }
        assert readings(make_system(files))["thermal.state"].value == "serious"

    def test_the_worst_sensor_counts(self, make_system):
        files = zone(0, 50000, passive=95000) | zone(1, 46000, passive=45000) | zone(2, 99000)
        found = readings(make_system(files))
        assert (found["thermal.state"].value, found["thermal.state"].source) == (
            "serious",
            f"{CLASS}/thermal_zone1",
        )
        assert found["thermal.max_celsius"].value == 99.0

    def test_a_trip_point_that_is_not_in_use_does_not_count(self, make_system):
        found = readings(make_system(zone(0, 61000, passive=0, active=50000)))
        assert found["thermal.state"].reason == (
            "no sensor says at which temperature the device is slowed down"
        )

    def test_a_critical_sensor_without_a_passive_trip_point_counts(self, make_system):
        assert readings(make_system(zone(0, 111000, critical=110000)))["thermal.state"].value == "critical"


class TestTemperature:
    """The temperature is that of the hottest working sensor."""

    def test_a_sensor_that_is_off_does_not_count(self, make_system):
        files = (
            zone(0, -274000) | zone(1, 41500) | zone(2, 999000) | {f"{CLASS}/cooling_device0/type": "Fan\n"}
        )
        reading = readings(make_system(files))["thermal.max_celsius"]
        assert (reading.value, reading.source) == (41.5, f"{CLASS}/thermal_zone1/temp")

    def test_without_sensors_nothing_is_known(self, make_system):
        found = readings(make_system(zone(0, -274000)))
        assert {reading.reason for reading in found.values()} == {f"{CLASS} lists no sensor"}
