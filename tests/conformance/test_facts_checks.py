"""The checks of facts: behavior that their mutants do not show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pytest
from kit_checks import subject
from mutants.facts import CORES, contribution

from etconfig.conformance.checks import missing_resources
from etconfig.conformance.checks.check import Check
from etconfig.conformance.checks.metadata import facts_bounded, facts_serialisable
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError
from etconfig.conformance.subject import vendor_plugins as contributions
from etconfig.plugin.v1 import FactInfo, FactType, FunctionDetector, Reading, System, Volatility

Detect = Callable[[System], Iterable[Reading]]


@pytest.fixture
def detecting(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the vendor of the reference backend contribute a fact and a detector."""

    def contribute(detect: Detect, info: FactInfo = CORES) -> None:
        given = replace(contribution(FunctionDetector("acme", (info.name,), detect)), facts=(info,))
        monkeypatch.setattr(contributions, "facts_of_vendor", lambda subject: (given,))

    return contribute


def message_of(check: Check) -> str:
    with pytest.raises(CheckFailedError) as caught:
        check.run(subject())
    return str(caught.value)


class TestFacts:
    """Detectors return readings that the core accepts, and that are found again."""

    def test_without_detectors_the_checks_do_not_apply(self):
        for check in (facts_bounded, facts_serialisable):
            with pytest.raises(NotApplicableError, match=r"etconfig-reference .* contributes no detector"):
                check.run(subject())

    def test_a_detector_that_fails_is_named_with_its_place(self, detecting: Callable[..., None]):
        def detect(system: System) -> Iterable[Reading]:
            raise ZeroDivisionError("no cores")

        detecting(detect)
        line = detect.__code__.co_firstlineno
        assert message_of(facts_serialisable) == (
            f"test_facts_checks.py:{line}: detector 'acme' failed on this device: ZeroDivisionError: no "
            "cores; return Reading.unknown with a reason for a fact that cannot be found out"
        )

    def test_a_reading_that_the_core_refuses_is_a_failure(self, detecting: Callable[..., None]):
        detecting(lambda system: [Reading(CORES.name, "four", "the driver")])
        message = (
            "ValueError: mutant.cores: expected an int of at most 64 bits, found 'four'; return Reading."
        )
        assert message in message_of(facts_serialisable)

    def test_facts_that_cannot_be_saved_are_refused(self, detecting: Callable[..., None]):
        log = FactInfo(name="acme.log", type=FactType.STRING, doc="All.", volatility=Volatility.STATIC)
        detecting(lambda system: [Reading(log.name, "x" * (1 << 18), "the driver")], log)
        assert "its facts cannot be saved: the sheet:1:1: the fact sheet is larger than 262144" in message_of(
            facts_serialisable
        )

    def test_a_fact_that_is_missing_the_second_time_is_reported(self, detecting: Callable[..., None]):
        readings = iter([Reading(CORES.name, 4, "the driver")])
        detecting(lambda system: [next(readings, Reading.unknown(CORES.name, "the driver", "it is busy"))])
        assert "the fact mutant.cores is static, but was 4 and then None; declare" in message_of(
            facts_serialisable
        )

    def test_a_live_fact_may_change(self, detecting: Callable[..., None]):
        cores = iter(range(1, 9))
        live = replace(CORES, volatility=Volatility.LIVE)
        detecting(lambda system: [Reading(CORES.name, next(cores), "the driver")], live)
        facts_serialisable.run(subject())

    def test_a_detector_must_not_fail_on_an_empty_file_system(
        self, detecting: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ):
        def detect(system: System) -> Iterator[Reading]:
            text = system.read_text("/proc/cpuinfo")
            yield Reading(CORES.name, len(text), "/proc/cpuinfo")  # type: ignore[arg-type]  # the mistake

        detecting(detect)
        monkeypatch.setattr(missing_resources, "hide_devices", lambda: None)
        assert "detector 'acme' failed on an empty file system: TypeError: object of" in message_of(
            missing_resources.no_device
        )
