"""The search on a synthetic machine: what it finds, what it rejects, and what it keeps."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic_machine import IDENTITY, SyntheticMachine, SyntheticSubject, subject_maker

from etconfig.base.written_files import FilesOfRun
from etconfig.errors import TuningError
from etconfig.measuring.pairs import PairSample
from etconfig.schema.tuned_values import TuneRange
from etconfig.tuning.contest import MEMORY, Contest, Objective, Trial, ratio_of
from etconfig.tuning.objective_bounds import parse_bound
from etconfig.tuning.search import FINALISTS, MAX_EXHAUSTIVE, Plan, plan_search, search
from etconfig.tuning.space import Combination, Dimension, Space
from etconfig.tuning.study import Study
from etconfig.tuning.tuning import Found, TuneLimits, find_better

SPACE = Space(
    dimensions=tuple(
        Dimension(path=f"Tiny.{name}", incumbent=0, values=tuple(range(1, count)))
        for name, count in (("a", 2), ("b", 4), ("c", 2))
    )
)
QUICK = TuneLimits(budget_s=12.0)


def tuned(
    machine: SyntheticMachine,
    contest: Contest,
    *,
    limits: TuneLimits = QUICK,
    study: Study | None = None,
    space: Space = SPACE,
) -> Found:
    """Return what a search finds on a synthetic machine, in its time."""
    study = study or Study(None, IDENTITY, FilesOfRun(), space)
    return find_better(contest, space, study, limits, lambda *shown: None, machine.clock)


def contest_of(machine: SyntheticMachine, speed: Any, **rules: Any) -> Contest:
    outputs = rules.pop("outputs", lambda _, value: value)
    given = {"objective": Objective(), "tolerance": 0.01, **rules}
    return Contest(make=subject_maker(machine, speed, outputs), **given)


def planted(options: Mapping[str, object]) -> float:
    """Return a time: b = 3 and c = 1 help, a harms."""
    factor = 0.7 if options.get("Tiny.b") == 3 else 1.0
    return factor * (0.88 if options.get("Tiny.c") else 1.0) * (1.1 if options.get("Tiny.a") else 1.0)


class TestWhatIsFound:
    """Gains that are there are found, with their sizes; others are not."""

    def test_twenty_searches_of_equal_configurations_find_nothing(self) -> None:
        false_gains = []
        for seed in range(20):
            machine = SyntheticMachine(seed, luck=0.01)
            found = tuned(
                machine, contest_of(machine, lambda options: 5.0), limits=TuneLimits(budget_s=12.0, seed=seed)
            )
            if found.better or found.whole is not None:
                false_gains.append((seed, found))
        assert false_gains == []

    def test_a_model_that_differs_from_itself_is_an_error(self) -> None:
        machine = SyntheticMachine(0)
        random = np.random.default_rng(0)
        contest = contest_of(machine, planted, outputs=lambda _, value: random.standard_normal(4))
        with pytest.raises(TuningError, match="cannot be compared with itself: outputs differ by"):
            tuned(machine, contest)

    def test_the_order_of_loads_is_no_gain(self) -> None:
        for seed in range(5):
            machine = SyntheticMachine(seed, luck=0.002, order=0.06)
            found = tuned(machine, contest_of(machine, lambda options: 5.0), limits=TuneLimits(budget_s=12.0))
            assert (found.better, found.whole) == ({}, None), seed

    def test_planted_gains_are_found_and_what_does_not_matter_is_left_out(self) -> None:
        wrong = []
        for seed in range(3):
            machine = SyntheticMachine(seed, luck=0.002)
            found = tuned(machine, contest_of(machine, planted), limits=TuneLimits(budget_s=20.0, seed=seed))
            ratios = {path: gain.ratio for path, gain in found.options.items()}
            is_right = found.better == {"Tiny.b": 3, "Tiny.c": 1} and all(
                abs(ratios[path] - wanted) < 0.03 for path, wanted in (("Tiny.b", 0.7), ("Tiny.c", 0.88))
            )
            whole = None if found.whole is None else found.whole.ratio
            if not is_right or whole is None or not whole.low < 0.7 * 0.88 < whole.high:
                wrong.append((seed, found))
        assert wrong == []

    def test_a_confirmed_gain_survives_ctrl_c_while_options_are_left_out(self) -> None:
        machine = SyntheticMachine(0, luck=0.002)
        study = Study(None, IDENTITY, FilesOfRun(), SPACE)

        def progress(phase: str, *shown: object) -> None:
            if phase == "leaving out":
                raise KeyboardInterrupt

        limits = TuneLimits(budget_s=20.0)
        found = find_better(contest_of(machine, planted), SPACE, study, limits, progress, machine.clock)
        assert (found.is_interrupted, found.is_reduced) == (True, False)
        assert found.whole is not None
        assert found.better == found.whole.configuration

    def test_the_time_bounds_confirmations_too(self) -> None:
        machine = SyntheticMachine(0, noise=0.001, luck=0.05)  # luck makes finalists that are rejected
        began = machine.now_s
        found = tuned(machine, contest_of(machine, lambda options: 1.0), limits=TuneLimits(budget_s=0.5))
        assert len(found.unconfirmed) <= 1
        assert machine.now_s - began < 2.0

    def test_the_winner_of_a_lucky_load_is_rejected_by_confirmation(self) -> None:
        machine = SyntheticMachine(1, noise=0.01)
        loads: list[str] = []

        def speed(options: Mapping[str, object]) -> float:
            """Return a time that is good only the first time that a configuration is loaded in each round."""
            loads.append(str(options))
            return 0.8 if options.get("Tiny.b") == 2 and len(loads) <= 40 else 1.0

        found = tuned(machine, contest_of(machine, speed), limits=TuneLimits(budget_s=60.0))
        assert (found.better, found.whole) == ({}, None)
        best = found.unconfirmed[0]
        assert best.configuration["Tiny.b"] == 2
        assert best.ratio is not None
        assert best.ratio.high > 0.98

    def test_what_is_faster_by_being_wrong_is_refused(self) -> None:
        machine = SyntheticMachine(2)

        def outputs(options: Mapping[str, object], value: Any) -> Any:
            return value * (1.1 if options.get("Tiny.b") == 3 else 1.0)

        study = Study(None, IDENTITY, FilesOfRun(), SPACE)
        found = tuned(machine, contest_of(machine, planted, outputs=outputs), study=study)
        assert found.better == {"Tiny.c": 1}
        refused = [each for each in study.outcomes() if each.failure is not None]
        assert {each.configuration["Tiny.b"] for each in refused} == {3}
        assert {each.failure for each in refused} == {"outputs differ by 0.1; allowed is 0.01"}

    def test_given_outputs_may_refuse_even_what_agrees_with_the_incumbent(self) -> None:
        machine = SyntheticMachine(3)
        contest = contest_of(machine, planted, inputs=[np.ones(4)], reference=[np.zeros(4)])
        assert tuned(machine, contest).better == {}

    def test_given_outputs_may_refuse_what_is_configured_and_take_what_is_better(self) -> None:
        """Such as a type that is fast and inexact by default."""

        def outputs(options: Mapping[str, object], value: Any) -> Any:
            return value if options.get("Tiny.b") == 3 else value * 1.1

        machine = SyntheticMachine(3)
        given = {"inputs": [np.ones(4)], "reference": [np.ones(4)]}
        found = tuned(machine, contest_of(machine, planted, outputs=outputs, **given))
        assert found.noise is not None
        assert found.better["Tiny.b"] == 3

    def test_an_interval_contains_the_truth_as_often_as_it_says(self) -> None:
        """An independent model: medians of loads around a truth, with the t interval written out."""
        random, covered = np.random.default_rng(0), 0
        for _ in range(150):
            logs = random.normal(math.log(0.9), 0.03, 5)
            samples = [
                PairSample(
                    first_runs_ns=((10**9,),) * 6, second_runs_ns=((round(1e9 * math.exp(each)),),) * 6
                )
                for each in logs
            ]
            ratio = ratio_of(*samples)
            half = 2.776 * logs.std(ddof=1) / math.sqrt(5)
            assert ratio.low <= math.exp(logs.mean() - half) * (1 + 1e-6)
            assert ratio.high >= math.exp(logs.mean() + half) * (1 - 1e-6)
            covered += ratio.low < 0.9 < ratio.high
        assert 0.9 < covered / 150 <= 1


class TestFailures:
    """A configuration that fails is an answer with its reason."""

    def test_failures_are_outcomes_and_the_search_goes_on(self) -> None:
        machine = SyntheticMachine(4)

        def speed(options: Mapping[str, object]) -> float:
            if options.get("Tiny.a"):
                raise RuntimeError("no such\n  core")
            return planted(options)

        study = Study(None, IDENTITY, FilesOfRun(), SPACE)
        found = tuned(machine, contest_of(machine, speed), study=study)
        assert found.better == {"Tiny.b": 3, "Tiny.c": 1}
        failures = {each.failure for each in study.outcomes() if each.configuration.get("Tiny.a")}
        assert failures == {"RuntimeError: no such core"}

    @pytest.mark.parametrize(
        "objective", [Objective(), Objective("throughput", 2)], ids=lambda objective: str(objective.name)
    )
    def test_what_fails_only_while_it_is_timed_is_an_outcome(self, objective: Objective) -> None:
        machine = SyntheticMachine(4)
        broken, mades = {"Tiny.a": 1}, []

        def make(options: Combination) -> SyntheticSubject:
            made = SyntheticSubject(machine, 0.001, lambda value: value)
            if broken.items() <= options.items():
                made.time_block = _raise  # type: ignore[method-assign]
            mades.append(made)
            return made

        contest = Contest(make=make, objective=objective, tolerance=0.01)
        assert contest.compare(broken, 6, repeats=2).failure == "RuntimeError: out of memory"
        assert contest.compare({"Tiny.b": 1}, 6, repeats=2).failure is None
        assert all(each.is_closed for each in mades)

    def test_a_failure_of_what_is_configured_is_not_that_of_a_candidate(self) -> None:
        machine, failing = (
            SyntheticMachine(4),
            SyntheticSubject(SyntheticMachine(4), 0.001, lambda value: value),
        )
        contest = contest_of(machine, planted)
        runs: list[int] = []

        def outputs(value: Any) -> Any:
            runs.append(1)
            return value if len(runs) == 1 else _raise(1)

        failing._outputs, failing.time_block = outputs, _raise  # type: ignore[method-assign]
        with pytest.raises(RuntimeError, match="out of memory"):
            contest.compare({"Tiny.b": 3}, 6, first=failing)

    def test_bounds_refuse_what_breaks_them(self) -> None:
        machine = SyntheticMachine(5)
        contest = contest_of(machine, planted, bounds=[parse_bound("latency < 0.7 ms")])
        assert tuned(machine, contest).better == {"Tiny.b": 3, "Tiny.c": 1}
        contest = contest_of(machine, planted, bounds=[parse_bound("memory < 64 MiB")])
        outcome = contest.compare({"Tiny.b": 3}, 6)
        assert outcome.failure == "its memory is unknown, but memory < 64 MiB is asked for"

    def test_malformed_bounds_say_how_to_write_one(self) -> None:
        for text in ("speed < 3", "memory > 3 MiB", "memory", ""):
            with pytest.raises(ValueError, match=r"is not a bound; write memory < 64 MiB, latency < 5 ms"):
                parse_bound(text)
        with pytest.raises(ValueError, match=r"'memory < 3' is not a bound: write a number and one of"):
            parse_bound("memory < 3")

    def test_everything_is_closed_whatever_happens(self) -> None:
        machine, made = SyntheticMachine(6), []

        def make(options: Combination) -> SyntheticSubject:
            if options.get("Tiny.a"):
                raise RuntimeError("no")
            made.append(SyntheticSubject(machine, 0.001, lambda value: value))
            return made[-1]

        tuned(machine, Contest(make=make, objective=Objective(), tolerance=0.01))
        assert made
        assert all(each.is_closed for each in made)


class TestBudget:
    """The pairs of a round are fixed ahead; the time limits the number of configurations."""

    def test_a_short_time_is_kept_and_said(self) -> None:
        machine = SyntheticMachine(7)
        space = Space(dimensions=(Dimension(path="Tiny.b", incumbent=0, values=tuple(range(1, 300))),))
        found = tuned(
            machine, contest_of(machine, lambda _: 10.0), limits=TuneLimits(budget_s=20), space=space
        )
        assert not found.is_complete
        assert machine.now_s < 45

    def test_rounds_keep_the_better_half_and_double_the_pairs(self) -> None:
        seen: dict[int, list[int]] = {}

        def evaluate(configuration: Combination, rung: int, pairs: int) -> Trial:
            seen.setdefault(rung, []).append(pairs)
            value = int(str(configuration["Tiny.b"]))
            ratio = ratio_of(*[_equal_sample(1 + (value - 40) / 100)])
            return Trial(configuration=configuration, rung=rung, ratio=ratio)

        space = Space(dimensions=(Dimension(path="Tiny.b", incumbent=0, values=tuple(range(1, 32))),))
        found = search(space, Plan(pairs=8, count=31), evaluate, lambda: True)
        assert [each.configuration["Tiny.b"] for each in found] == [1, 2, 3]
        assert [(len(pairs), {*pairs}) for _, pairs in sorted(seen.items())] == [
            (31, {8}),
            (16, {16}),
            (8, {32}),
            (4, {64}),
            (FINALISTS, {128}),
        ]

    def test_a_plan_takes_about_the_time(self) -> None:
        plan = plan_search(79, pair_s=0.01, load_s=0.05, seconds=36)
        assert (plan.rungs, plan.pairs) == (6, 6)
        assert plan_search(10, pair_s=0.01, load_s=0.0, seconds=36).pairs == 40

    def test_more_combinations_than_can_be_measured_need_optuna(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(__import__("sys").modules, "optuna", None)
        space = Space(
            dimensions=tuple(Dimension(path=f"T.{n}", incumbent=0, values=(1, 2, 3)) for n in "abcde")
        )
        assert space.size > MAX_EXHAUSTIVE
        machine = SyntheticMachine(8)
        with pytest.raises(TuningError, match=r"more than 500 combinations need Optuna.*\[tune\]"):
            tuned(machine, contest_of(machine, planted), space=space)


class TestStudy:
    """Every outcome is on the disk at once, and a second run goes on."""

    def test_a_second_run_measures_only_what_is_missing(self, tmp_path: Path) -> None:
        path, machine = tmp_path / "a.study.jsonl", SyntheticMachine(9)
        first = Study(path, IDENTITY, FilesOfRun(), SPACE)
        tuned(machine, contest_of(machine, planted), study=first)
        first.close()
        lines = path.read_text().splitlines()
        path.write_text("\n".join(lines[:6]) + '\n{"options": {"Tiny.b"')  # killed in the middle of a line
        second = Study(path, IDENTITY, FilesOfRun(), SPACE)
        assert second.resumed == 5
        known = [json.loads(line) for line in lines[1:6]]
        assert all(second.found(each["options"], each["rung"]) is not None for each in known)
        second.close()

    def test_ctrl_c_keeps_all_and_says_so(self, tmp_path: Path) -> None:
        path, machine = tmp_path / "a.study.jsonl", SyntheticMachine(10)
        calls = 0

        def speed(options: Mapping[str, object]) -> float:
            nonlocal calls
            calls += 1
            if calls == 18:
                raise KeyboardInterrupt
            return planted(options)

        study = Study(path, IDENTITY, FilesOfRun(), SPACE)
        found = tuned(machine, contest_of(machine, speed), study=study)
        assert found.is_interrupted
        assert found.better == {}
        assert len(path.read_text().splitlines()) == 1 + len(study.outcomes()) > 3
        study.close()


class TestObjectives:
    """Throughput runs copies at once; memory is compared in bytes."""

    def test_throughput_loads_copies_that_run_at_once(self) -> None:
        machine = SyntheticMachine(11)
        contest = contest_of(machine, planted, objective=Objective("throughput", 3))
        subject = contest.objective.load(contest.make, {})
        assert machine.loads == 3
        outputs = subject.run(subject.generate(0))
        assert len(outputs) == 1
        assert len(subject.time_block(5)) == 1
        subject.close()

    def test_memory_is_compared_in_bytes(self) -> None:
        machine = SyntheticMachine(12)

        def make(options: Combination) -> SyntheticSubject:
            subject = SyntheticSubject(machine, 0.001, lambda value: value)
            subject.peak_bytes = 1000 if options else 2000
            return subject

        contest = Contest(make=make, objective=Objective(MEMORY), tolerance=0.01)
        found = tuned(machine, contest)
        assert found.whole is not None
        assert found.whole.ratio is not None
        assert found.whole.ratio.ratio == pytest.approx(0.5)
        assert len(found.better) == 1

    def test_a_system_without_peak_memory_is_refused(self) -> None:
        machine = SyntheticMachine(13)
        with pytest.raises(TuningError, match="does not report the peak memory"):
            contest_of(machine, planted, objective=Objective(MEMORY)).compare({"Tiny.b": 3}, 1)


def _equal_sample(ratio: float) -> PairSample:
    return PairSample(first_runs_ns=((10**6,),) * 6, second_runs_ns=((round(ratio * 1e6),),) * 6)


def _raise(count: int) -> Any:
    raise RuntimeError("out of memory")


class TestProposals:
    """Of too many combinations, Optuna proposes some: tests with the real one, where it is installed."""

    SPACE = Space(
        dimensions=(
            Dimension(path="Tiny.mode", incumbent="a", values=("b", None, True, "c")),
            Dimension(
                path="Tiny.size",
                incumbent=64,
                values=(1, 8, 512, 4096),
                range=TuneRange(low=1, high=4096, log=True),
            ),
            Dimension(
                path="Tiny.share", incumbent=0.5, values=(0.1, 0.9), range=TuneRange(low=0.0, high=1.0)
            ),
            Dimension(path="Tiny.level", incumbent=0, values=tuple(range(1, 12))),
        )
    )
    LIMITS = TuneLimits(budget_s=30.0)

    @staticmethod
    def speed(options: Mapping[str, object]) -> float:
        """A valley: `c` is best, and a small size."""
        factor = {"a": 1.0, "b": 1.2, "c": 0.7}.get(str(options.get("Tiny.mode", "a")), 1.1)
        return factor * (1 + 0.05 * abs(math.log2(float(str(options.get("Tiny.size", 64)))) - 3))

    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        pytest.importorskip("optuna", reason="the extra [tune] is not installed")
        assert self.SPACE.size > MAX_EXHAUSTIVE

    def test_they_find_the_valley(self) -> None:
        machine = SyntheticMachine(1)
        found = tuned(machine, contest_of(machine, self.speed), limits=self.LIMITS, space=self.SPACE)
        assert found.better["Tiny.mode"] == "c"
        assert isinstance(found.better["Tiny.size"], int)
        assert float(str(found.better["Tiny.size"])) < 64
        assert "Tiny.level" not in found.better
        assert found.whole is not None
        assert found.whole.ratio is not None
        assert found.whole.ratio.ratio < 0.7

    def test_a_study_goes_on_with_what_was_proposed(self, tmp_path: Path) -> None:
        counts = []
        for _ in range(2):
            machine = SyntheticMachine(2)
            study = Study(tmp_path / "study.jsonl", IDENTITY, FilesOfRun(), self.SPACE)
            counts.append(study.resumed)
            tuned(machine, contest_of(machine, self.speed), limits=self.LIMITS, study=study, space=self.SPACE)
            counts.append(len(study.outcomes()))
            study.close()
        assert (counts[0], counts[2] >= counts[1]) == (0, True)
        assert counts[3] <= counts[1] * 1.5, "most proposals were known"

    def test_failures_do_not_end_it(self) -> None:
        machine = SyntheticMachine(3)

        def outputs(options: Mapping[str, object], value: Any) -> Any:
            if options.get("Tiny.mode") is None and "Tiny.mode" in options:
                raise RuntimeError("no such mode")
            return value

        contest = contest_of(machine, self.speed, outputs=outputs)
        found = tuned(machine, contest, limits=self.LIMITS, space=self.SPACE)
        assert found.better["Tiny.mode"] == "c"
