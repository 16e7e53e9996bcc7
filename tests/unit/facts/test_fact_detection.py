from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from etconfig.base.provenance import Origin, OriginKind
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.detecting.detection import detect
from etconfig.facts.detecting.detector import FunctionDetector, Reading
from etconfig.facts.detecting.host import Host
from etconfig.facts.detecting.system import System
from etconfig.facts.registry import FactInfo, FactType, Volatility
from etconfig.facts.sheet import FactSheet


def detector(
    name: str, provides: Iterable[str], function: Callable[[System], Iterable[Reading]]
) -> FunctionDetector:
    return FunctionDetector(name, tuple(provides), function)


def constant(name: str, fact: str, value: object) -> FunctionDetector:
    return detector(name, [fact], lambda system: [Reading(fact, value, name)])  # type: ignore[arg-type]


def run(*detectors: FunctionDetector, root: Path = Path("/nowhere"), limit_s: float = 60.0) -> FactSheet:
    return detect(root, detectors=detectors, host=Host(), limit_s=limit_s)


class TestReadings:
    """A detector says what it found and how it knows."""

    def test_a_reading_becomes_a_fact_with_its_origin(self):
        reading = Reading("memory.total", 1024, "/proc/meminfo", "why")
        fact = run(detector("memory", ["memory.total"], lambda system: [reading]))["memory.total"]
        assert (fact.value, fact.unit, fact.reason) == (1024, "bytes", None)
        assert fact.origin == Origin(OriginKind.DETECTED, "/proc/meminfo", detail="why")

    def test_a_reading_may_say_why_the_fact_is_unknown(self):
        reading = Reading.unknown("gpu.count", "/sys/class/drm", "no driver")
        fact = run(detector("gpu", ["gpu.count"], lambda system: [reading]))["gpu.count"]
        assert (fact.value, fact.reason, fact.origin.source) == (None, "no driver", "/sys/class/drm")

    def test_a_reading_of_nothing_is_unknown_for_the_other_reason(self):
        assert Reading.of("gpu.count", None, "here", otherwise="why") == Reading.unknown(
            "gpu.count", "here", "why"
        )
        assert Reading.of("gpu.count", 0, "here", otherwise="why", detail="d") == Reading(
            "gpu.count", 0, "here", "d"
        )

    @pytest.mark.parametrize(("value", "reason"), [(None, None), (1, "why")])
    def test_a_reading_has_either_a_value_or_a_reason(self, value, reason):
        message = "a reading of 'gpu.count' needs either a value or a reason"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            Reading("gpu.count", value, "here", reason=reason)

    def test_members_of_a_family_are_found(self):
        def find(system: System) -> Iterable[Reading]:
            return [Reading(f"gpu.{index}.name", f"GPU {index}", "driver") for index in range(2)]

        sheet = run(detector("gpu", ["gpu.<n>.name"], find))
        assert sheet.values == {"gpu.0.name": "GPU 0", "gpu.1.name": "GPU 1"}

    def test_a_family_without_members_adds_no_facts(self):
        assert list(run(detector("gpu", ["gpu.<n>.name"], lambda system: []))) == list(FactSheet.empty())

    def test_a_fact_without_a_detector_says_so(self):
        assert run()["gpu.count"].reason == "no detector looks for it"
        reason = "it identifies the device, so it is never detected; set it"
        assert run()["device.id"].reason == reason

    def test_a_promised_fact_without_a_reading_says_so(self):
        fact = run(detector("gpu", ["gpu.count"], lambda system: []))["gpu.count"]
        assert fact.reason == "detector 'gpu' gave no reading"
        assert fact.origin == Origin(OriginKind.DETECTED, "detector gpu")


class TestSeveralDetectors:
    """If two detectors know a fact, the first one wins; a known fact replaces an unknown one."""

    def test_the_first_that_knows_wins(self):
        sheet = run(constant("a", "gpu.count", 1), constant("b", "gpu.count", 2))
        assert (sheet["gpu.count"].value, sheet["gpu.count"].origin.source) == (1, "a")

    def test_a_later_one_fills_in_what_an_earlier_one_does_not_know(self):
        silent = detector("a", ["gpu.count"], lambda system: [Reading.unknown("gpu.count", "a", "no")])
        assert run(silent, constant("b", "gpu.count", 2))["gpu.count"].value == 2
        assert run(constant("b", "gpu.count", 2), silent)["gpu.count"].value == 2

    def test_the_first_reason_is_kept(self):
        first = detector("a", ["gpu.count"], lambda system: [Reading.unknown("gpu.count", "a", "no driver")])
        second = detector("b", ["gpu.count"], lambda system: [])
        assert run(first, second)["gpu.count"].reason == "no driver"

    def test_a_plugin_adds_facts_and_a_detector(self):
        info = FactInfo(name="acme.load", type=FactType.FLOAT, doc="Load.", volatility=Volatility.LIVE)
        registry = BUILTIN_FACTS.extended([info])
        sheet = detect(
            Path("/nowhere"),
            registry=registry,
            detectors=[constant("acme", "acme.load", 0.5)],
            host=Host(),
        )
        assert sheet.values == {"acme.load": 0.5}


class TestBrokenDetectors:
    """A detector never raises: what goes wrong is the reason why its facts are unknown."""

    @pytest.mark.parametrize(
        ("error", "text"),
        [(RuntimeError("no bus"), "RuntimeError: no bus"), (SystemExit(3), "SystemExit: 3")],
    )
    def test_an_exception_is_the_reason_and_earlier_readings_count(self, error, text):
        def fail(system: System) -> Iterable[Reading]:
            yield Reading("gpu.count", 1, "driver")
            raise error

        sheet = run(detector("gpu", ["gpu.count", "npu.count"], fail), constant("other", "os.name", "linux"))
        assert sheet["gpu.count"].value == 1
        assert sheet["npu.count"].reason == f"detector 'gpu' failed: {text}"
        assert sheet["os.name"].value == "linux"

    @pytest.mark.parametrize(
        ("reading", "text"),
        [
            (
                Reading("npu.count", "two", "driver"),
                "ValueError: npu.count: expected an int of at most 64 bits, found 'two'",
            ),
            (
                Reading("gpu.count", 1, "driver"),
                "ValueError: it gave 'gpu.count', which it does not provide",
            ),
            (Reading("x.y", 1, "driver"), "ValueError: it gave 'x.y', which it does not provide"),
            (("npu.count", 2), "TypeError: expected a Reading, found tuple"),
        ],
    )
    def test_a_reading_that_breaks_the_contract_is_the_reason(self, reading, text):
        fact = run(detector("npu", ["npu.count"], lambda system: [reading]))["npu.count"]
        assert fact.reason == f"detector 'npu' failed: {text}"

    def test_readings_after_a_value_that_is_not_accepted_count(self):
        readings = [Reading("gpu.count", -1, "driver"), Reading("npu.count", 2, "driver")]
        sheet = run(detector("npu", ["gpu.count", "npu.count"], lambda system: readings))
        reason = "detector 'npu' failed: ValueError: gpu.count: expected at least 0, found -1"
        assert sheet["gpu.count"].reason == reason
        assert sheet["npu.count"].value == 2

    def test_a_detector_of_unregistered_facts_is_refused(self):
        message = "detector 'acme' provides facts that are not registered: acme.load"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            run(detector("acme", ["acme.load", "os.name"], lambda system: []))


class TestTimeLimit:
    """A detector that takes longer than its time is given up, and the others go on."""

    def test_its_facts_are_unknown_and_the_rest_is_found(self):
        may_end, has_ended = threading.Event(), threading.Event()

        def hang(system: System) -> Iterable[Reading]:
            yield Reading("gpu.count", 1, "driver")
            may_end.wait(30)
            has_ended.set()
            yield Reading("npu.count", 1, "driver")

        late: list[str] = []

        def note_thread(system: System) -> Iterable[Reading]:
            late.append(threading.current_thread().name)
            return [Reading("os.name", "linux", "uname")]

        try:
            sheet = run(
                detector("stuck", ["gpu.count", "npu.count"], hang),
                detector("after", ["os.name"], note_thread),
                limit_s=0.5,
            )
        finally:
            may_end.set()
        assert sheet["gpu.count"].value == 1
        assert sheet["npu.count"].reason == "detector 'stuck' did not finish within 0.5 s"
        assert sheet["os.name"].value == "linux"
        # the thread that was given up ends without running the rest a second time
        assert has_ended.wait(30)
        for thread in threading.enumerate():
            if thread.name == "etconfig-facts":
                thread.join(30)
        assert len(late) == 1

    def test_endless_readings_end_when_the_time_is_up(self):
        def babble(system: System) -> Iterable[Reading]:
            for count in itertools.count():
                yield Reading("gpu.count", count % 100, "driver")

        sheet = run(detector("endless", ["gpu.count", "npu.count"], babble), limit_s=0.01)
        assert sheet["gpu.count"].value == 0
        assert sheet["npu.count"].reason == "detector 'endless' did not finish within 0.01 s"
        workers = [thread for thread in threading.enumerate() if thread.name == "etconfig-facts"]
        for thread in workers:
            thread.join(30)
        assert [thread for thread in workers if thread.is_alive()] == []

    def test_one_thread_serves_all_that_keep_to_it(self):
        threads: list[int] = []

        def note_thread(system: System) -> Iterable[Reading]:
            threads.append(threading.get_ident())
            assert threading.current_thread().daemon
            return []

        run(detector("a", [], note_thread), detector("b", [], note_thread))
        assert len(threads) == 2
        assert len(set(threads)) == 1
        assert threads[0] != threading.get_ident()


@pytest.mark.host
class TestThisDevice:
    """Without a tree, the facts are those of this device."""

    def test_facts_of_every_linux_device_are_known(self):
        sheet = detect()
        wanted = ("os.name", "cpu.arch", "cpu.logical_cores", "cpu.available_cores", "memory.total")
        assert [name for name in wanted if not sheet[name].is_known] == []
        assert sheet["runtime.python"].value == Host.current().python

    def test_no_builtin_detector_fails(self):
        assert [fact.reason for fact in map(detect().get, detect()) if "failed" in (fact.reason or "")] == []  # type: ignore[union-attr]
