"""`LiveArguments` on a real program: changes between executes are applied, all others are reported."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etconfig
from etconfig.app.live import LiveChange, Refresh
from etconfig.errors import BackendUnavailableError, DelegateError, EtconfigError, OptionError
from etconfig.facts import FactSheet
from etconfig.provenance import Origin, OriginKind, Sourced

PROFILE = """\
[profile]
name = "board"

[instances.left]
method = "forward"

[options.ReferenceCpuBackend]
num_threads = { expr = "cpu.available_cores - 1" }

[[when]]
if = 'power.source == "battery"'
[when.options.ReferenceNpuBackend]
power_mode = "low"
core = 1
"""


def device(**known: object) -> FactSheet:
    origin = Origin(OriginKind.SHEET, "test")
    values: dict[str, object] = {"cpu.available_cores": 2, "power.source": "mains"}
    values |= {name.replace("__", "."): value for name, value in known.items()}
    return FactSheet.empty().with_overrides({n: Sourced(v, origin) for n, v in values.items()})


BATTERY = device(power__source="battery")


@pytest.fixture
def program(place: Path) -> Iterator[etconfig.LoadedProgram]:
    with etconfig.load_program("model.pte") as loaded:
        yield loaded


@pytest.fixture
def live(program: etconfig.LoadedProgram, place: Path) -> etconfig.LiveArguments:
    (place / "board.toml").write_text(PROFILE)
    configuration = etconfig.configure(program, profile="board.toml", facts=device())
    return etconfig.LiveArguments(configuration)


@pytest.fixture
def left(program: etconfig.LoadedProgram, live: etconfig.LiveArguments) -> Iterator[etconfig.Method]:
    with program.load_method("forward", live.arguments("forward", "left")) as method:
        live.attach(method)
        yield method


def new_values(changes: tuple[LiveChange, ...]) -> Mapping[str, object]:
    return {str(change.path): getattr(change.new, "value", change.new) for change in changes}


NEW_MODE = {"forward@left:ReferenceNpuBackend.power_mode": "low"}
NEW_CORE = {"forward@left:ReferenceNpuBackend.core": 1}


class TestRefresh:
    """Execute-time changes are applied between executes, load-time changes are reported."""

    def test_nothing_differs_at_first(self, live: etconfig.LiveArguments, left: etconfig.Method) -> None:
        report = live.refresh(device())
        assert (report, bool(report)) == (Refresh(), False)

    def test_an_execute_time_change_is_in_force_for_the_next_execute(
        self, live: etconfig.LiveArguments, left: etconfig.Method, recorded: Mapping[str, Any]
    ) -> None:
        before = left.execute([recorded["images"][:1]])
        report = live.refresh(BATTERY)
        assert new_values(report.applied) == NEW_MODE
        assert left.options("ReferenceNpuBackend").power_mode.value == "low"
        np.testing.assert_allclose(left.execute([recorded["images"][:1]])[0], before[0], rtol=1e-5)

    def test_a_load_time_change_is_reported_until_the_reload(
        self, live: etconfig.LiveArguments, left: etconfig.Method, program: etconfig.LoadedProgram
    ) -> None:
        live.refresh(BATTERY)
        report = live.refresh(BATTERY)
        assert (new_values(report.needs_reload), report.applied) == (NEW_CORE, ())
        assert left.options("ReferenceNpuBackend").core == 0
        left.close()
        with program.load_method("forward", live.arguments("forward", "left")) as again:
            live.attach(again)
            assert again.options("ReferenceNpuBackend").core == 1
            assert live.refresh(BATTERY) == Refresh()

    def test_a_method_in_use_is_skipped_and_tried_again(
        self, live: etconfig.LiveArguments, left: etconfig.Method
    ) -> None:
        with left._entered():  # as inside an execute of another thread
            report = live.refresh(BATTERY)
            assert left.options("ReferenceNpuBackend").power_mode.value == "balanced"
        assert (new_values(report.postponed), report.applied) == (NEW_MODE, ())
        assert new_values(live.refresh().applied) == NEW_MODE

    def test_a_closed_method_is_dropped(self, live: etconfig.LiveArguments, left: etconfig.Method) -> None:
        left.close()
        assert live.refresh(BATTERY) == Refresh()
        assert live.refresh(device()) == Refresh()

    def test_a_refused_change_is_reported_with_its_cause(
        self, live: etconfig.LiveArguments, left: etconfig.Method, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        error = DelegateError(method="forward", backend="ReferenceNpuBackend", phase="update", cause="busy")

        def refuse(changes: Mapping[str, object]) -> None:
            raise error

        monkeypatch.setattr(left, "update", refuse)
        report = live.refresh(BATTERY)
        assert (new_values(report.refused), [c.error for c in report.refused]) == (NEW_MODE, [error])

    def test_facts_that_do_not_resolve_change_nothing(
        self, live: etconfig.LiveArguments, left: etconfig.Method
    ) -> None:
        with pytest.raises(OptionError, match="expected an integer >= 1, given 0"):
            live.refresh(device(power__source="battery", cpu__available_cores=1))
        assert live.resolution.facts == device()
        assert left.options("ReferenceNpuBackend").power_mode.value == "balanced"


class TestAttach:
    """Only a configured Method can follow the facts."""

    def test_an_instance_that_is_not_configured_is_refused(
        self, live: etconfig.LiveArguments, program: etconfig.LoadedProgram
    ) -> None:
        configuration = etconfig.configure(program, facts=device(), instances={"forward": ["right"]})
        arguments = configuration.resolve().arguments("forward", "right")
        with program.load_method("forward", arguments) as right, pytest.raises(OptionError, match="'right'"):
            live.attach(right)

    def test_a_backend_that_the_method_does_not_use_is_refused(
        self, program: etconfig.LoadedProgram, left: etconfig.Method, place: Path
    ) -> None:
        configuration = etconfig.configure(profile="board.toml", facts=device())
        without_program = etconfig.LiveArguments(configuration, facts=device())
        with (
            program.load_method("embed") as embed,
            pytest.raises((BackendUnavailableError, OptionError)),
        ):
            without_program.attach(embed)


class TestFollow:
    """A thread follows the facts only on request, and ends on request."""

    def test_no_thread_runs_without_a_request(self, live: etconfig.LiveArguments) -> None:
        assert "etconfig-follower" not in [thread.name for thread in threading.enumerate()]

    def test_it_refreshes_reports_and_goes_on_after_an_error(
        self, live: etconfig.LiveArguments, left: etconfig.Method
    ) -> None:
        sheets = iter([device(cpu__available_cores=1), BATTERY])
        reports: list[Refresh] = []
        errors: list[EtconfigError] = []
        reported = threading.Event()

        def on_refresh(report: Refresh) -> None:
            reports.append(report)
            reported.set()

        detect: Callable[[FactSheet], FactSheet] = lambda facts: next(sheets, facts)  # noqa: E731
        with live.follow(detect, on_refresh, errors.append, interval_s=0.001):
            assert reported.wait(30)
        assert new_values(reports[0].applied) == NEW_MODE
        assert [type(error) for error in errors] == [OptionError]
        assert "etconfig-follower" not in [thread.name for thread in threading.enumerate()]
