"""Checks rest on others: one defect has one root cause, and what rests on it is not judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from etconfig_reference.plugin import SPECS
from kit_checks import failing, inapplicable, made, passing
from mutants import roots
from mutants.mutant import BACKEND, Mutant

from etconfig.conformance.checks.check_catalog import all_checks, with_bases
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.kit.outcomes import Outcome
from etconfig.conformance.runner import kit_report as report_module
from etconfig.conformance.runner import runner
from etconfig.conformance.runner.dependence import UnknownCheckError
from etconfig.conformance.runner.kit_report import Report
from etconfig.conformance.runner.report_files import report_junit
from etconfig.conformance.runner.runner import run_conformance

CHECKS = {check.id: check for check in all_checks()}


DEFECTS = {
    "WRONG_SUMS": "answers",
    "BAD_TYPE": "recommend-valid",
    "BAD_RECOMMEND": "recommend-valid",
    "BROKEN": "loads",
    "NO_FACTORY": "signature-bind",
}
"""The check that is the root cause, by the name of the mutant."""

SLOW = {"WRONG_SUMS", "BAD_TYPE", "BAD_RECOMMEND"}
"""Those with which a whole run of the kit takes ten seconds."""


def run_mutant(name: str, directory: Path, monkeypatch: pytest.MonkeyPatch, **changed: Any) -> Report:
    monkeypatch.syspath_prepend(str(directory))
    mutant: Mutant = getattr(roots, name)
    mutant.install(directory, f"{roots.__name__}:{name}")
    return run_conformance(Settings(backend=BACKEND, search_path=(str(directory),), **changed))


class TestGraph:
    """The declared bases form a graph without circles, whose order the kit follows."""

    def test_every_base_exists_on_the_same_level_or_below(self):
        for check in CHECKS.values():
            assert all(CHECKS[base].level <= check.level for base in check.rests_on), check.id

    def test_every_check_comes_after_those_that_it_rests_on(self):
        order = list(CHECKS)
        assert all(order.index(base) < order.index(each) for each in order for base in CHECKS[each].rests_on)

    def test_every_check_of_answers_rests_on_the_check_answers(self):
        """By another way: a search along all paths, instead of the order of the catalog."""

        def reaches(check_id: str, wanted: str) -> bool:
            return check_id == wanted or any(reaches(base, wanted) for base in CHECKS[check_id].rests_on)

        apart = {"runs", "effect-visible", "scope-enforced", "errors-mapped", "option-evidence"}
        above = [check.id for check in CHECKS.values() if check.level > 0 and check.id not in apart]
        assert [each for each in above if not reaches(each, "answers")] == []
        assert all(reaches(each, "runs") for each in apart if each in CHECKS)
        assert all(reaches(each, "loads") for each in CHECKS if each not in ("static-metadata", "unique-id"))

    def test_only_the_oldest_kit_is_a_base(self):
        """So a check that is added later never keeps one that counts from being judged."""
        assert {CHECKS[base].since for check in CHECKS.values() for base in check.rests_on} == {"1.0"}


class TestOneRoot:
    """One defect is one failure, and everything else that it would fail is not judged."""

    @pytest.mark.parametrize(
        "name", [pytest.param(each, marks=pytest.mark.weekly) if each in SLOW else each for each in DEFECTS]
    )
    def test_a_defect_has_one_root_cause(self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        report = run_mutant(name, tmp_path, monkeypatch)
        assert list(report.root_causes) == [DEFECTS[name]]
        (others,) = report.root_causes.values()
        assert {each.outcome for each in others} == {Outcome.NOT_JUDGED}
        assert len(others) >= 30
        assert not report.passed

    def test_changed_inputs_are_the_cause_of_wrong_answers_elsewhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        others = ("signature", "nan-inf", "use-after-destroy", "output-is-input", "read-only-buffer")
        report = run_mutant("CHANGES_INPUTS", tmp_path, monkeypatch, checks=("aliasing", *others))
        assert list(report.root_causes) == ["aliasing"]
        assert {each.check_id for each in report.root_causes["aliasing"]} == {*others}

    def test_the_answer_of_an_earlier_run_is_named_as_such(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(roots.STATE, "answers", {})
        report = run_mutant("CACHES_ANSWERS", tmp_path, monkeypatch, checks=("answers",))
        message = {each.check_id: each.message for each in report.results}["answers"]
        assert "this is the answer of run 1 of " in (message or "")
        assert "such as in a cache of the process; keep it in the handle" in (message or "")

    def test_an_option_that_leaks_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        report = run_mutant("OPTIONS_OF_THE_LAST", tmp_path, monkeypatch, checks=("option-leak",))
        found = {each.check_id: each.message or "" for each in report.results}["option-leak"]
        options = SPECS[BACKEND].options.option_infos()
        (name,) = {each for each in options if f"an instance with {each}=" in found}
        assert f".{name}: after an instance with {name}=" in found

    @pytest.mark.weekly
    def test_a_wrong_operation_leaves_what_it_does_not_affect(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        outcomes = {each.check_id: each for each in run_mutant("WRONG_SUMS", tmp_path, monkeypatch).results}
        for name in ("runs", "effect-visible", "errors-mapped", "import-pure", "no-network"):
            assert outcomes[name].outcome is Outcome.PASSED
        assert outcomes["rss-slope"].message == "rests on answers"
        assert outcomes["execute-update"].rests_on == "answers"


class TestReport:
    """Not judged is not passed, and the root cause comes first."""

    @pytest.fixture
    def report(self, monkeypatch: pytest.MonkeyPatch) -> Report:
        checks = (
            made(passing, "good", level=0),
            made(failing, "root", level=1),
            made(passing, "leaf", level=1, rests_on=("good", "root")),
            made(passing, "tip", level=2, rests_on=("leaf",)),
            made(inapplicable, "other", level=2),
        )
        for module in (runner, report_module):
            monkeypatch.setattr(module, "all_checks", lambda: checks)
        return run_conformance(Settings(backend=BACKEND))

    def test_what_rests_on_a_failure_is_not_run(self, report: Report):
        outcomes = [(each.check_id, each.outcome.value, each.rests_on) for each in report.results]
        assert outcomes == [
            ("good", "passed", None),
            ("root", "failed", None),
            ("leaf", "not-judged", "root"),
            ("tip", "not-judged", "root"),
            ("other", "not-applicable", None),
        ]

    def test_it_is_counted_apart_and_reaches_no_level(self, report: Report):
        assert (report.level, report.passed) == (0, False)
        assert report.summary == "L0 · kit 1.1 · 2 not judged"

    def test_json_names_root_causes(self, report: Report):
        data = report.to_jsonable()
        assert data["root_causes"] == [{"check": "root", "not_judged": ["leaf", "tip"]}]
        assert data["results"][3]["rests_on"] == "root"

    def test_junit_has_the_root_cause_first(self, report: Report):
        suite = ElementTree.fromstring(report_junit(report))[0]
        cases = [(case.get("name"), [each.tag for each in case]) for case in suite.iter("testcase")]
        assert cases[0] == ("root", ["failure"])
        assert ("leaf", ["skipped"]) in cases
        counted = {each.get("name"): each.get("value") for each in suite.iter("property")}
        assert counted["not_judged"] == "2"

    def test_an_expected_failure_is_not_a_cause(self, monkeypatch: pytest.MonkeyPatch):
        checks = (made(failing, "root"), made(passing, "leaf", rests_on=("root",)))
        for module in (runner, report_module):
            monkeypatch.setattr(module, "all_checks", lambda: checks)
        report = run_conformance(Settings(backend=BACKEND), {"root": "the firmware"})
        assert [each.outcome for each in report.results] == [Outcome.XFAILED, Outcome.PASSED]

    def test_an_advisory_failure_is_a_cause_of_advisory_results_only(self, monkeypatch: pytest.MonkeyPatch):
        checks = (
            made(failing, "new", since="1.9"),
            made(passing, "old", rests_on=("new",)),
            made(passing, "newer", since="1.10", rests_on=("new",)),
        )
        for module in (runner, report_module):
            monkeypatch.setattr(module, "all_checks", lambda: checks)
        report = run_conformance(Settings(backend=BACKEND))
        assert [each.outcome for each in report.results] == [
            Outcome.FAILED,
            Outcome.PASSED,
            Outcome.NOT_JUDGED,
        ]
        assert report.passed


class TestChosenChecks:
    """A check can be run alone, after those that it rests on."""

    def test_the_bases_run_first(self):
        report = run_conformance(Settings(backend=BACKEND, checks=("signature", "unknown-option")))
        names = [each.check_id for each in report.results]
        assert names == [each.id for each in with_bases(("signature", "unknown-option"), all_checks())]
        assert {"loads", "runs", "answers", "signature", "unknown-option"} <= set(names)
        assert "tolerance" not in names
        assert (report.passed, report.level) == (True, None)
        assert report.summary.startswith(f"{len(names)} of {len(CHECKS)} checks · kit ")

    def test_a_failed_base_fails_the_run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        report = run_mutant("WRONG_SUMS", tmp_path, monkeypatch, checks=("signature",))
        assert report.results[-1].outcome is Outcome.NOT_JUDGED
        assert not report.passed

    def test_an_unknown_check_is_refused(self):
        with pytest.raises(
            UnknownCheckError, match="no check 'recommend-vald'; did you mean 'recommend-valid'"
        ):
            run_conformance(Settings(backend=BACKEND, checks=("recommend-vald",)))
