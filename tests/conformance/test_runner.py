"""Outcomes of checks, with and without expected failures."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from kit_checks import failing, inapplicable, made, passing, quitting, stumbling, subject, undelegated

from etconfig.conformance.checks.check import Check
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.kit.outcomes import LEVELS, Outcome, Result, is_newer
from etconfig.conformance.process.forking_worker import ForkingWorker
from etconfig.conformance.runner import runner
from etconfig.conformance.runner.runner import run_check, run_conformance
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import UnknownPluginError


class TestOutcomes:
    """Everything that a check can do has its own outcome, with a message."""

    @pytest.mark.parametrize(
        ("function", "outcome", "message"),
        [
            (passing, Outcome.PASSED, None),
            (failing, Outcome.FAILED, "seen 2, expected 1"),
            (stumbling, Outcome.FAILED, "ZeroDivisionError: by zero"),
            (quitting, Outcome.CRASHED, "it raised SystemExit: 0; raise another error instead"),
            (inapplicable, Outcome.NOT_APPLICABLE, "there is no such option"),
            (undelegated, Outcome.NOT_DELEGATED, "there is no add.pte"),
        ],
    )
    def test_each_end_of_a_check_has_an_outcome(
        self, function: Callable[..., None], outcome: Outcome, message: str | None
    ) -> None:
        result = run_check(made(function), subject(), {})
        assert (result.outcome, result.message, result.reason) == (outcome, message, None)

    def test_a_check_of_an_undeclared_capability_does_not_run(self) -> None:
        check = made(failing, requires=("is_bound_to_host",))
        result = run_check(check, subject(), {})
        assert result.outcome is Outcome.UNDECLARED
        assert result.message == "ReferenceCpuBackend does not declare is_bound_to_host"

    def test_a_broken_plugin_fails_the_check_that_meets_it(self) -> None:
        result = run_check(made(lambda each: each.spec), subject("NobodysBackend"), {})
        assert result.outcome is Outcome.FAILED
        assert result.message is not None
        assert result.message.startswith("UnknownPluginError: no installed plugin declares 'NobodysBackend'")

    def test_an_error_of_the_backend_is_reported_with_its_place(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("etconfig_reference.cpu.load_graph", None)
        result = run_check(made(lambda each: each.load(each.simplest).close()), subject(), {})
        assert result.message is not None
        assert re.match(r"cpu\.py:\d+: DelegateError: backend .* TypeError: 'NoneType'", result.message)

    def test_ctrl_c_ends_the_run(self) -> None:
        def interrupted(_: object) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_check(made(interrupted), subject(), {})


class TestExpectedFailures:
    """Expected failures are strict: the check must fail."""

    def test_a_failure_with_a_reason_is_expected(self) -> None:
        result = run_check(made(failing), subject(), {"made": "the device is old"})
        assert (result.outcome, result.reason) == (Outcome.XFAILED, "the device is old")
        assert result.message == "seen 2, expected 1"

    @pytest.mark.parametrize(
        ("function", "said"), [(passing, "it passed"), (inapplicable, "it is not-applicable")]
    )
    def test_a_check_that_does_not_fail_must_not_be_listed(
        self, function: Callable[..., None], said: str
    ) -> None:
        result = run_check(made(function), subject(), {"made": "the device is old"})
        assert result.outcome is Outcome.XPASSED
        expected = f"{said}, but is expected to fail (the device is old); remove its line"
        assert result.message is not None
        assert result.message.startswith(expected)

    def test_a_reason_for_another_check_changes_nothing(self) -> None:
        assert run_check(made(failing), subject(), {"other": "why"}).outcome is Outcome.FAILED


class TestKitVersions:
    """A vendor pins a version of the kit; checks added later are advisory."""

    @pytest.mark.parametrize(
        ("since", "kit", "newer"), [("1.0", "1.0", False), ("1.10", "1.9", True), ("1.2", "1.10", False)]
    )
    def test_versions_compare_as_numbers(self, since: str, kit: str, newer: bool) -> None:
        assert is_newer(since, kit) is newer

    def test_a_later_check_is_advisory(self) -> None:
        assert run_check(made(failing, since="1.7"), subject(), {}).is_advisory
        assert not run_check(made(failing), subject(), {}).is_advisory

    @pytest.mark.parametrize("kit", ["2.0", "1", "1.x", "1.99", "0.9"])
    def test_a_version_that_does_not_exist_is_refused(self, kit: str) -> None:
        with pytest.raises(ValueError, match=f"there is no kit '{kit}'; this etconfig has 1.0 to 1"):
            Settings(backend="ReferenceCpuBackend", kit=kit)

    def test_a_level_that_does_not_exist_is_refused(self) -> None:
        with pytest.raises(ValueError, match="there is no level 4; the levels are 0, 1, 2, 3"):
            Settings(backend="ReferenceCpuBackend", level=4)


class TestRuns:
    """Checks run level by level, and each result is reported at once."""

    def test_only_checks_up_to_the_level_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        checks = [made(passing, f"of-{level}", level=level) for level in LEVELS]
        monkeypatch.setattr(runner, "all_checks", lambda: checks)
        reported: list[str] = []
        report = run_conformance(
            Settings(backend="ReferenceCpuBackend", level=1),
            progress=lambda check, result: reported.append(f"{check.id} {result.outcome.value}"),
        )
        assert reported == ["of-0 passed", "of-1 passed"]
        assert [each.check_id for each in report.results] == ["of-0", "of-1"]
        assert report.coverage["add"]

    @pytest.mark.parametrize("lost", [Outcome.CRASHED, Outcome.TIMED_OUT])
    def test_after_a_lost_process_every_check_is_isolated(
        self, monkeypatch: pytest.MonkeyPatch, lost: Outcome
    ) -> None:
        isolated: list[tuple[str, float]] = []

        def run_isolated(check: Check, subject: Subject, worker: ForkingWorker | None) -> Result:
            isolated.append((check.id, check.timeout_seconds))
            return Result(check_id=check.id, outcome=lost, message="it is gone", seconds=0.0)

        checks = (made(passing, "first"), made(passing, "second", isolated=True), made(passing, "third"))
        monkeypatch.setattr(runner, "run_isolated", run_isolated)
        monkeypatch.setattr(runner, "all_checks", lambda: checks)
        report = run_conformance(Settings(backend="ReferenceCpuBackend"))
        assert [each.outcome for each in report.results] == [Outcome.PASSED, lost, lost]
        assert isolated == [("second", 60.0), ("third", runner.SUSPECT_SECONDS)]
        assert report.coverage == {}  # computing it would load the backend in this process

    def test_an_undeclared_backend_cannot_be_checked(self) -> None:
        with pytest.raises(UnknownPluginError, match="no installed plugin declares 'NobodysBackend'"):
            run_conformance(Settings(backend="NobodysBackend"))

    def test_settings_survive_a_round_trip_through_json(self) -> None:
        settings = Settings(backend="A", level=1, programs="golden", search_path=("one", "two"))
        assert Settings.from_jsonable(settings.to_jsonable()) == settings
