from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.detecting.detection import DETECTOR_LIMIT_S, detect, redetect
from etconfig.facts.detecting.detector import FunctionDetector, Reading
from etconfig.facts.detecting.detectors import BUILTIN_DETECTORS
from etconfig.facts.detecting.host import Host
from etconfig.facts.detecting.system import System
from etconfig.facts.registry import FactInfo, FactType, Volatility
from etconfig.facts.sheet import FactSheet

NOWHERE = Path("/nowhere")


class Sensor:
    """A detector of live and lasting facts that counts how often it is asked."""

    name = "sensor"
    provides = ("power.battery_level", "os.name")

    def __init__(self) -> None:
        self.asked = 0

    def detect(self, system: System) -> Iterable[Reading]:
        self.asked += 1
        yield Reading("power.battery_level", self.asked / 10, "sensor")
        yield Reading("os.name", f"os {self.asked}", "sensor")


def constant(fact: str, value: object) -> FunctionDetector:
    return FunctionDetector(fact, (fact,), lambda system: [Reading(fact, value, "here")])  # type: ignore[arg-type]


def first(*detectors: object) -> FactSheet:
    return detect(NOWHERE, detectors=detectors, host=Host(), limit_s=60)  # type: ignore[arg-type]


def again(sheet: FactSheet, *detectors: object, volatility: Volatility = Volatility.LIVE) -> FactSheet:
    return redetect(
        sheet,
        device=NOWHERE,
        detectors=detectors,  # type: ignore[arg-type]
        host=Host(),
        volatility=volatility,
        limit_s=60,
    )


class TestVolatility:
    """Facts of one volatility are detected anew, and all others kept."""

    def test_live_facts_change_and_others_stay(self):
        sensor = Sensor()
        sheet = again(first(sensor), sensor)
        assert sheet.values == {"power.battery_level": 0.2, "os.name": "os 1"}

    def test_another_volatility_can_be_chosen(self):
        sensor = Sensor()
        sheet = again(first(sensor), sensor, volatility=Volatility.STATIC)
        assert sheet.values == {"power.battery_level": 0.1, "os.name": "os 2"}

    def test_a_detector_without_such_facts_does_not_run(self):
        sensor, lasting = Sensor(), constant("cpu.arch", "arm64")
        sheet = first(sensor, lasting)
        assert again(sheet, lasting) == sheet
        assert sensor.asked == 1

    def test_the_places_on_the_sheet_stay(self):
        sensor = Sensor()
        sheet = first(sensor)
        assert list(again(sheet, sensor)) == list(sheet)

    def test_a_fact_that_becomes_unknown_says_why(self):
        gone = FunctionDetector(
            "battery",
            ("power.battery_level",),
            lambda system: [Reading.unknown("power.battery_level", "here", "taken out")],
        )
        sheet = again(first(constant("power.battery_level", 0.5)), gone)
        assert (sheet["power.battery_level"].value, sheet["power.battery_level"].reason) == (
            None,
            "taken out",
        )


class TestKept:
    """Facts set by hand or read from a sheet are not detected again."""

    def test_a_fact_set_by_hand_stays(self):
        by_hand: Sourced[object] = Sourced(0.9, Origin(OriginKind.OVERRIDE, "--fact"))
        sheet = first(Sensor()).with_overrides({"power.battery_level": by_hand})
        assert again(sheet, Sensor())["power.battery_level"].value == 0.9

    def test_a_replayed_sheet_stays_as_it_is(self):
        replayed = FactSheet.from_json(first(Sensor()).to_json(), "sheet.json")
        sheet = again(replayed, Sensor())
        assert [sheet[name].origin for name in sheet] == [replayed[name].origin for name in replayed]


class TestFamilies:
    """Members of a family come and go."""

    REGISTRY = BUILTIN_FACTS.extended(
        [FactInfo(name="acme.<n>.load", type=FactType.INT, doc="Load.", volatility=Volatility.LIVE)]
    )

    def loads(self, *loads: int) -> FunctionDetector:
        found = [Reading(f"acme.{index}.load", load, "driver") for index, load in enumerate(loads)]
        return FunctionDetector("acme", ("acme.<n>.load",), lambda system: found)

    def test_a_member_that_is_gone_is_left_out_and_a_new_one_added(self):
        sheet = detect(NOWHERE, registry=self.REGISTRY, detectors=[self.loads(1, 2)], host=Host())
        assert again(sheet, self.loads(3)).values == {"acme.0.load": 3}
        assert again(sheet, self.loads(3, 2, 1)).values == {
            "acme.0.load": 3,
            "acme.1.load": 2,
            "acme.2.load": 1,
        }


@pytest.mark.host
class TestThisDevice:
    """Live facts of this device can be brought up to date."""

    def test_lasting_facts_stay_the_same_objects_and_live_facts_are_known(self):
        sheet = detect()
        renewed = redetect(sheet)
        assert renewed["cpu.model"] is sheet["cpu.model"]
        assert renewed["memory.available"].is_known
        assert renewed["memory.available"] is not sheet["memory.available"]

    def test_only_some_detectors_run(self):
        live = {info.name for info in BUILTIN_FACTS.infos if info.volatility is Volatility.LIVE}
        asked = {detector.name for detector in BUILTIN_DETECTORS if live.intersection(detector.provides)}
        assert asked == {"cores", "available-cores", "memory", "power", "thermal"}

    def test_a_detector_may_take_two_seconds(self):
        assert DETECTOR_LIMIT_S == 2.0
