"""The report: the level that was reached, and the documents that state it."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest

import etconfig
from etconfig.conformance.checks.check import Check
from etconfig.conformance.kit.outcomes import Outcome, Result
from etconfig.conformance.runner import kit_report as report_module
from etconfig.conformance.runner.kit_report import Report
from etconfig.conformance.runner.report_files import MARKS, badge_svg, report_junit, report_view

LEVELS = {"loads": 0, "runs": 1, "isolates": 2, "shrinks": 3, "grows": 3}


@pytest.fixture(autouse=True)
def checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five checks on four levels."""
    made = tuple(
        Check(id=name, level=level, prevents="nothing", run=lambda subject: None)
        for name, level in LEVELS.items()
    )
    monkeypatch.setattr(report_module, "all_checks", lambda: made)


def report(level_asked: int = 3, **outcomes: Any) -> Report:
    """Return a report whose checks passed, except the named ones."""
    results = [
        Result(check_id=name, outcome=Outcome.PASSED, seconds=0.25)
        if name not in outcomes
        else outcomes[name]
        if isinstance(outcomes[name], Result)
        else Result(check_id=name, outcome=outcomes[name], message=f"why {name}", seconds=0.25)
        for name, level in LEVELS.items()
        if level <= level_asked
    ]
    return Report(
        backend="AcmeBackend",
        distribution="acme-npu",
        version="2.1",
        executor="numpy",
        level_asked=level_asked,
        pinned_kit="1.0",
        results=tuple(results),
    )


class TestLevels:
    """A level is reached when its checks and those below ended well."""

    @pytest.mark.parametrize(
        ("outcomes", "level"),
        [
            ({}, 3),
            ({"shrinks": Outcome.UNDECLARED, "isolates": Outcome.NOT_APPLICABLE}, 3),
            ({"shrinks": Outcome.FAILED}, 2),
            ({"isolates": Outcome.CRASHED}, 1),
            ({"isolates": Outcome.TIMED_OUT}, 1),
            ({"isolates": Outcome.XPASSED}, 1),
            ({"isolates": Outcome.XFAILED}, 3),
            ({"runs": Outcome.XFAILED}, 0),
            ({"runs": Outcome.NOT_DELEGATED}, 0),
            ({"loads": Outcome.FAILED}, None),
        ],
    )
    def test_a_bad_outcome_ends_the_climb(self, outcomes: dict[str, Outcome], level: int | None) -> None:
        made = report(**outcomes)
        assert made.level == level
        assert made.passed is (level == 3)

    def test_a_level_that_was_not_asked_for_is_not_reached(self) -> None:
        assert report(level_asked=1).level == 1

    def test_advisory_results_do_not_count(self) -> None:
        advisory = Result(check_id="runs", outcome=Outcome.FAILED, is_advisory=True)
        assert report(runs=advisory).level == 3

    def test_the_summary_states_what_qualifies_the_level(self) -> None:
        assert report().summary == "L3 · kit 1.0"
        assert report(loads=Outcome.FAILED).summary == "no level · kit 1.0"
        made = report(isolates=Outcome.XFAILED, shrinks=Outcome.UNDECLARED, grows=Outcome.UNDECLARED)
        assert made.summary == "L3 · kit 1.0 · 1 xfail · 2 undeclared"


class TestDocuments:
    """JSON with a version, JUnit, a badge."""

    def test_json_names_versions_and_every_result(self) -> None:
        data = json.loads(json.dumps(report(shrinks=Outcome.FAILED).to_jsonable()))
        assert (data["format"], data["backend"], data["level"], data["level_asked"]) == (
            1,
            "AcmeBackend",
            2,
            3,
        )
        assert (data["distribution"], data["version"], data["executor"]) == ("acme-npu", "2.1", "numpy")
        assert data["etconfig"] == {"version": etconfig.__version__, "plugin_api": 1}
        assert data["kit"] == {"version": "1.1", "pinned": "1.0"}
        assert set(data["host"]) == {"python", "platform", "machine"}
        assert data["results"][3] == {
            "check": "shrinks",
            "outcome": "failed",
            "message": "why shrinks",
            "seconds": 0.25,
            "reason": None,
            "advisory": False,
            "rests_on": None,
            "level": 3,
            "doc": "",
            "bases": [],
        }

    def test_a_result_survives_a_round_trip_through_json(self) -> None:
        result = Result(check_id="runs", outcome=Outcome.XFAILED, message="m", reason="r", seconds=1.5)
        assert Result.from_jsonable(result.to_jsonable()) == result

    def test_junit_distinguishes_failures_errors_and_skips(self) -> None:
        made = report(
            isolates=Outcome.CRASHED,
            shrinks=Outcome.FAILED,
            grows=Result(check_id="grows", outcome=Outcome.XFAILED, message="bad \x00 byte", reason="old"),
        )
        suite = ElementTree.fromstring(report_junit(made))[0]
        counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
        assert counts == {"tests": "5", "failures": "1", "errors": "1", "skipped": "1"}
        ends = {
            case.get("name"): [(child.tag, child.get("message")) for child in case]
            for case in suite.iter("testcase")
        }
        shown = [row[0] for row in report_view(made).tables[0].rows]
        assert [MARKS.get(str(each)) for each in shown] == ["error", "error", None, None, "off"]
        assert ends == {
            "loads": [],
            "runs": [],
            "isolates": [("error", "crashed: why isolates")],
            "shrinks": [("failure", "failed: why shrinks")],
            "grows": [("skipped", "xfailed: old: bad \N{REPLACEMENT CHARACTER} byte")],
        }

    def test_the_badge_shows_the_summary_in_the_color_of_the_level(self) -> None:
        image = ElementTree.fromstring(badge_svg(report(shrinks=Outcome.UNDECLARED)))
        name = "{http://www.w3.org/2000/svg}"
        assert [text.text for text in image.iter(f"{name}text")] == [
            "etconfig",
            "L3 · kit 1.0 · 1 undeclared",
        ]
        assert "#2e7d32" in {rect.get("fill") for rect in image.iter(f"{name}rect")}
        assert "#c62828" in badge_svg(report(loads=Outcome.FAILED))
