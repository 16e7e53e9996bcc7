"""Evidence of options: each observable is seen to change, in the declared direction, and nothing else is."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kit_checks import Fronted, subject

from etconfig.backend import ExecuteContext, Value
from etconfig.conformance.checks import observation, option_evidence
from etconfig.conformance.checks.option_evidence import _difference_missing
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.kit.outcomes import CheckFailedError, Outcome, Result
from etconfig.conformance.process.forked_call import apart
from etconfig.conformance.runner.kit_report import findings_of_report, make_report
from etconfig.conformance.runner.runner import run_conformance
from etconfig.plugin.v1 import ApiRange, ConformanceContribution, Observable, Observed, Unobservable

OPTION = "num_threads"


class Hungry(Interposer):
    """Takes memory for each thread."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        scratch = np.zeros(context.options.num_threads * 100_000, np.uint8)
        super().execute(context, handle, args)
        del scratch


class Slow(Interposer):
    """Takes time for each thread."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        time.sleep(context.options.num_threads * 0.002)
        super().execute(context, handle, args)


class Noting(Interposer):
    """Records an event for each thread."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        for _ in range(context.options.num_threads):
            with context.tracer.span("worker"):
                pass
        super().execute(context, handle, args)


class Reading(Interposer):
    """Reads a file for each number of threads."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        with contextlib.suppress(OSError):
            Path(f"/etc/acme-{context.options.num_threads}").read_bytes()
        super().execute(context, handle, args)


class Rounding(Interposer):
    """Adds the number of threads to each output."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        output = args[-1]
        assert isinstance(output, np.ndarray)
        output[...] += context.options.num_threads


class Random(Interposer):
    """Gives other outputs each time."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        output = args[-1]
        assert isinstance(output, np.ndarray)
        output[...] += random.random()


EFFECTS: dict[type[Interposer], Observed] = {
    Hungry: Observed("memory", values=(1, 4), expect="more"),
    Slow: Observed("time", values=(4, 1), expect="less"),
    Noting: Observed("trace", values=(1, 4)),
    Reading: Observed("files", values=(1, 4)),
    Rounding: Observed("output", values=(1, 4)),
}


class TestObservables:
    """An effect is seen by its observable, and its absence by none."""

    @pytest.mark.parametrize("front", EFFECTS, ids=lambda each: each.__name__)
    def test_an_effect_is_seen(self, front: type[Interposer]):
        assert _difference_missing(Fronted(front), OPTION, EFFECTS[front]) is None

    @pytest.mark.parametrize(
        "front",
        [
            pytest.param(each, marks=pytest.mark.weekly) if each in (Hungry, Slow) else each
            for each in EFFECTS
        ],
        ids=lambda each: each.__name__,
    )
    def test_without_the_effect_nothing_is_seen(self, front: type[Interposer]):
        missing = _difference_missing(Fronted(Interposer), OPTION, EFFECTS[front])
        assert missing is not None
        assert "as declared between" in missing

    def test_chance_is_not_evidence(self):
        missing = _difference_missing(Fronted(Random), OPTION, Observed("output", values=(1, 4)))
        assert "it changes from one load to the next even with the same value" in (missing or "")

    @pytest.mark.weekly  # memory is measured in many processes: half a minute
    def test_the_wrong_direction_is_not_evidence(self):
        wrong = Observed("memory", values=(4, 1), expect="more")
        assert "expected more" in (_difference_missing(Fronted(Hungry), OPTION, wrong) or "")

    def test_a_case_without_a_program_is_named(self, tmp_path: Path):
        observed = Observed("output", values=(1, 4), case="add")
        nothing = subject(programs=str(tmp_path))
        with pytest.raises(CheckFailedError, match=r"no golden program add\.pte delegates to"):
            _difference_missing(nothing, OPTION, observed)

    def test_a_misspelled_case_is_named(self):
        observed = Observed("output", case="large_lineer")
        with pytest.raises(CheckFailedError, match=r"no case 'large_lineer'; did you mean 'large_linear'\?$"):
            _difference_missing(subject(), OPTION, observed)


class TestStatistics:
    """The rule for times, on times that are drawn by lot."""

    def draws(self, seed: int, factor: float) -> int:
        """Return how many of 300 comparisons find the second work faster."""
        lot = random.Random(seed)
        return sum(
            observation.is_faster(
                lambda: lot.lognormvariate(0, 0.5), lambda: factor * lot.lognormvariate(0, 0.5)
            )
            for _ in range(300)
        )

    def test_equal_times_are_nearly_never_taken_for_a_difference(self):
        assert self.draws(1, 1.0) <= 5

    def test_half_the_time_is_nearly_always_seen(self):
        assert self.draws(2, 0.4) >= 290

    def test_numbers_must_not_overlap(self):
        assert observation.gap([1, 2, 3], [4, 5, 6]) == 1
        assert observation.gap([4, 5, 6], [1, 2, 3]) == -1
        assert observation.gap([1, 5], [2, 3]) == 0


class TestDeclarations:
    """A declaration is checked when it is written."""

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (
                lambda: Observed("outputs"),
                "observable is 'outputs'; expected one of output, time, memory, threads",
            ),
            (lambda: Observed("time"), "time needs values=\\(A, B\\), and expect="),
            (
                lambda: Observed("memory", values=(1, 2), expect="up"),
                "expect is 'up'; expected more, less or",
            ),
            (lambda: Observed("output", expect="more"), "output has no direction; leave out expect"),
            (lambda: Unobservable("hidden"), "the reason is 'hidden'; expected a sentence"),
        ],
    )
    def test_a_wrong_value_is_refused(self, make: Any, message: str):
        with pytest.raises(ValueError, match=message):
            make()

    def test_values_are_two(self):
        with pytest.raises(TypeError, match="values are 1; expected two in a tuple, such as"):
            Observed("output", values=1)  # type: ignore[arg-type]  # the mistake

    def test_an_observable_can_be_given_by_its_member(self):
        assert Observed(Observable.OUTPUT) == Observed("output")


class TestReport:
    """Unobservable options are counted and shown with their reasons."""

    def test_a_reason_is_accepted_and_counted(self, monkeypatch: pytest.MonkeyPatch):
        reason = "the device does not report its clock"
        evidence = dict.fromkeys(("num_threads", "scratch_bytes", "accumulate"), Unobservable(reason))
        given = ConformanceContribution(
            api=ApiRange(min=1, built=1), programs=subject().programs["add"].parent, evidence=evidence
        )
        monkeypatch.setattr("etconfig_reference.conformance.ConformanceContribution", lambda **_: given)
        under_test = subject()
        option_evidence.option_evidence.run(under_test)
        result = Result(check_id="option-evidence", outcome=Outcome.PASSED)
        report = make_report(under_test, [result], findings_of_report(under_test))
        assert report.unobservable == dict.fromkeys(evidence, reason)
        assert report.summary.endswith("· 3 unobservable")
        assert report.to_jsonable()["unobservable"]["accumulate"] == reason

    def test_each_option_without_an_effect_has_a_line(self, monkeypatch: pytest.MonkeyPatch):
        evidence = {
            "num_thread": Unobservable("it is misspelled"),
            "accumulate": Observed("trace", values=("fp32", "fp64")),
        }
        given = ConformanceContribution(
            api=ApiRange(min=1, built=1), programs=subject().programs["add"].parent, evidence=evidence
        )
        monkeypatch.setattr("etconfig_reference.conformance.ConformanceContribution", lambda **_: given)
        with pytest.raises(CheckFailedError) as caught:
            option_evidence.option_evidence.run(subject())
        unknown, *others = str(caught.value).splitlines()
        assert unknown.endswith("names 'num_thread', which is not an option; did you mean 'num_threads'?")
        assert [line.split(": ")[1].rpartition(".")[2] for line in others] == [
            "num_threads",
            "scratch_bytes",
            "accumulate",
        ]

    def test_under_an_older_kit_it_only_advises(self):
        report = run_conformance(
            Settings(backend="ReferenceNpuBackend", kit="1.0", checks=("option-evidence",))
        )
        assert report.results[-1].is_advisory


@pytest.mark.posix
class TestApart:
    """A child answers, and nothing of its work stays."""

    def test_it_returns_the_result(self):
        seen: list[int] = []
        assert apart(lambda: seen.append(1) or 5) == 5  # type: ignore[func-returns-value]
        assert seen == []

    def test_it_raises_what_the_child_raised(self):
        with pytest.raises(CheckFailedError, match="ZeroDivisionError"):
            apart(lambda: 1 // 0)
