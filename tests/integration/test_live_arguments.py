"""`LiveArguments` on a real program: changes between executes are applied, all others are reported."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etconfig
from etconfig.app.live.live_arguments import LiveChange, Refresh
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.errors import BackendUnavailableError, DelegateError, EtconfigError, OptionError
from etconfig.facts.sheet import FactSheet

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


POWERED = """\
[profile]
name = "app/{source}"
match = 'power.source == "{source}"'

[options.ReferenceNpuBackend]
power_mode = "{mode}"
core = {core}
"""


class TestProfile:
    """With `auto`, a refresh selects the profile again, and says so."""

    @pytest.fixture
    def installation(self, place: Path) -> etconfig.Installation:
        directory = place / "profiles" / "app"
        directory.mkdir(parents=True)
        for source, mode, core in (("battery", "low", 1), ("mains", "high", 2)):
            (directory / f"{source}.toml").write_text(POWERED.format(source=source, mode=mode, core=core))
        dock = 'extends = ["app/mains"]\nmatch = \'power.source == "mains" && cpu.available_cores > 4\'\n'
        facts = '[facts]\n"device.model" = "Dock"\n'
        (directory / "dock.toml").write_text(f'[profile]\nname = "app/dock"\n{dock}{facts}')
        return etconfig.Installation(None, environ={}, profile_directories=[place / "profiles"])

    def test_another_profile_is_reported_with_its_reasons(
        self, program: etconfig.LoadedProgram, installation: etconfig.Installation
    ) -> None:
        live = etconfig.LiveArguments(program, facts=BATTERY, installation=installation)
        with program.load_method("forward", live.arguments("forward")) as method:
            live.attach(method)
            report = live.refresh(device())
            assert str(report.profile) == "profile app/battery → app/mains"
            assert report.profile is not None
            assert report.profile.reasons == (
                'app/mains matches: power.source == "mains" holds: power.source is "mains"',
                'app/battery no longer matches: power.source == "battery" does not hold: '
                'power.source is "mains"',
            )
            assert new_values(report.applied) == {"forward:ReferenceNpuBackend.power_mode": "high"}
            assert new_values(report.needs_reload) == {"forward:ReferenceNpuBackend.core": 2}
            assert method.options("ReferenceNpuBackend").core == 1
            again = live.refresh(device())
            assert (again.profile, again.applied) == (None, ())
            assert new_values(again.needs_reload) == {"forward:ReferenceNpuBackend.core": 2}

    def test_a_profile_that_extends_the_former_one_says_so(
        self, program: etconfig.LoadedProgram, installation: etconfig.Installation
    ) -> None:
        live = etconfig.LiveArguments(program, facts=device(), installation=installation)
        report = live.refresh(device(cpu__available_cores=8))
        assert report.profile is not None
        assert report.profile.reasons[-1] == "app/dock extends app/mains"
        assert bool(report)

    def test_it_can_be_held(
        self, program: etconfig.LoadedProgram, installation: etconfig.Installation
    ) -> None:
        held = etconfig.LiveArguments(program, facts=BATTERY, installation=installation, hold_profile=True)
        assert held.refresh(device()) == Refresh()
        assert held.resolution.profile == "app/battery"
        configuration = etconfig.configure(program, facts=BATTERY, installation=installation)
        starts_elsewhere = etconfig.LiveArguments(configuration, facts=device())
        assert starts_elsewhere.resolution.profile == "app/mains"
        held = etconfig.LiveArguments(configuration, facts=device(), hold_profile=True)
        assert held.resolution.profile == "app/battery"

    def test_a_profile_that_was_named_stays(
        self, program: etconfig.LoadedProgram, installation: etconfig.Installation
    ) -> None:
        named = etconfig.LiveArguments(
            program, profile="app/battery", facts=BATTERY, installation=installation
        )
        assert named.refresh(device()).profile is None
        assert named.resolution.profile == "app/battery"

    def test_facts_set_by_hand_count_when_it_selects_again(
        self, program: etconfig.LoadedProgram, installation: etconfig.Installation
    ) -> None:
        live = etconfig.LiveArguments(
            program, facts=device(), fact_overrides={"power.source": "battery"}, installation=installation
        )
        assert live.refresh(device(cpu__available_cores=8)).profile is None
        assert live.resolution.profile == "app/battery"

    def test_a_profile_without_the_instance_of_a_method_changes_nothing(
        self, program: etconfig.LoadedProgram, installation: etconfig.Installation, place: Path
    ) -> None:
        path = place / "profiles" / "app" / "battery.toml"
        path.write_text(path.read_text() + '[instances.left]\nmethod = "forward"\n')
        live = etconfig.LiveArguments(program, facts=BATTERY, installation=installation)
        with program.load_method("forward", live.arguments("forward", "left")) as left:
            live.attach(left)
            with pytest.raises(OptionError, match="no instance 'left'"):
                live.refresh(device())
            assert live.resolution.profile == "app/battery"
            assert left.options("ReferenceNpuBackend").power_mode.value == "low"
            assert live.refresh() == Refresh()

    def test_the_facts_of_a_former_profile_do_not_stay(
        self, program: etconfig.LoadedProgram, installation: etconfig.Installation
    ) -> None:
        live = etconfig.LiveArguments(
            program, facts=device(cpu__available_cores=8), installation=installation
        )
        assert live.resolution.facts["device.model"].value == "Dock"
        done = threading.Event()
        seen: list[FactSheet] = []

        def detect(facts: FactSheet) -> FactSheet:
            seen.append(facts)
            return facts.with_overrides({"cpu.available_cores": Sourced(2, Origin(OriginKind.SHEET, "x"))})

        with live.follow(detect, lambda report: done.set(), lambda error: None, interval_s=0.001):
            assert done.wait(30)
        assert "device.model" not in seen[0].values
        assert live.resolution.profile == "app/mains"
        assert "device.model" not in live.resolution.facts.values


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
