"""`Contest`: configurations measured in pairs against what is configured; a failure is an answer, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from time import perf_counter_ns
from typing import Any, TypeAlias

import numpy as np

from etconfig.base.paired_ratio import PairedRatio
from etconfig.base.records import record
from etconfig.errors import RemoteDeviceError, TuningError
from etconfig.measuring.compare import Effort, measure_subjects
from etconfig.measuring.comparison_report import output_error
from etconfig.measuring.pairs import MIN_PAIRS, PairSample
from etconfig.measuring.subjects import MeasuredSubject, reason_of
from etconfig.tuning.objective_bounds import Bound
from etconfig.tuning.space import Combination

FRESH_LOADS = 6
"""How often both sides are loaded for a comparison that decides."""
_STUDENT = {3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571}
"""Student's t of a two-sided interval of 95 %, by the number of samples."""

MakeSubject: TypeAlias = "Callable[[Combination], MeasuredSubject]"
"""Loads a configuration; the empty one is that in force."""


@record(frozen=True, kw_only=True)
class Trial:
    """The answer to one comparison.

    Attributes:
        configuration: What was compared with what is configured.
        rung: The round of the search; None outside of the search.
        ratio: The ratio to what is configured, below 1 is better; None after a failure.
        error: The largest difference of an output, as a share of the largest expected value; None if
            outputs were not compared.
        latency_ns: The median time of a run in nanoseconds; None if it was not measured.
        peak_bytes: The memory that loading and the first run added at most; None if unknown.
        failure: The reason why it does not count, or None.
    """

    configuration: Combination
    rung: int | None = None
    ratio: PairedRatio | None = None
    error: float | None = None
    latency_ns: float | None = None
    peak_bytes: int | None = None
    failure: str | None = None

    @property
    def value(self) -> float:
        """The ratio to sort by; infinity after a failure."""
        return float("inf") if self.ratio is None or self.failure is not None else self.ratio.ratio


MEMORY = "memory"
"""The objective that needs a process for each configuration."""


@record(frozen=True)
class Objective:
    """The quantity that is made small: the time of a run, alone or among others, or memory.

    Attributes:
        name: `latency`, `throughput`, or `MEMORY`: that which loading and the first run add at most.
        streams: The number of copies that run at once.
    """

    name: str = "latency"
    streams: int = 1

    def load(self, make: MakeSubject, configuration: Combination) -> MeasuredSubject:
        """Load a configuration as often as it runs at once."""
        alone = partial(make, configuration)
        return alone() if self.streams == 1 else Crowd([alone] * self.streams)

    def sample(self, first: MeasuredSubject, second: MeasuredSubject, pairs: int) -> PairSample:
        """Measure two loaded configurations in pairs; memory is in bytes, in place of times.

        Raises:
            KeyboardInterrupt: Ctrl-C; what was measured does not count.
            TuningError: this system does not report memory.
        """
        if self.name != MEMORY:
            found = measure_subjects(first, second, Effort(pairs=max(pairs, MIN_PAIRS)))
            if found.is_interrupted:
                raise KeyboardInterrupt
            return found
        one, other = first.peak_bytes, second.peak_bytes
        if not one or not other:
            raise TuningError(
                problem="this system does not report the peak memory of a process",
                help="tune on Linux, or for --objective latency",
            )
        return PairSample(first_runs_ns=((one,),), second_runs_ns=((other,),))


class Crowd(MeasuredSubject):
    """Several copies of a subject that run at once.

    Args:
        makers: Load the copies.
    """

    def __init__(self, makers: Sequence[Callable[[], MeasuredSubject]]) -> None:
        with ExitStack() as loaded:
            self._all = [loaded.enter_context(make()) for make in makers]
            self._threads = ThreadPoolExecutor(len(self._all))
            self._loaded = loaded.pop_all()
        first = self._all[0]
        self.label, self.input_names, self.open_inputs = first.label, first.input_names, first.open_inputs
        self.load_s = sum(each.load_s for each in self._all)
        self.peak_bytes = None

    def generate(self, seed: int) -> list[Any]:
        """Make up inputs that fit."""
        return self._all[0].generate(seed)

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Run each copy once; return the outputs of the first."""
        outputs = [each.run(inputs) for each in self._all]
        peaks = [each.peak_bytes for each in self._all]
        self.peak_bytes = None if None in peaks else sum(filter(None, peaks))
        return outputs[0]

    def time_block(self, count: int) -> Sequence[int]:
        """Run all copies at once; return the time for each run of any of them."""
        start = perf_counter_ns()
        list(self._threads.map(lambda each: each.time_block(count), self._all))
        return ((perf_counter_ns() - start) // (count * len(self._all)),)

    def close(self) -> None:
        """Release everything."""
        self._threads.shutdown()
        self._loaded.close()


@record(frozen=True, kw_only=True)
class Contest:
    """The rules of all comparisons.

    Attributes:
        make: Loads a configuration.
        objective: What is made small.
        tolerance: The largest difference of an output, as a share of the largest expected value.
        bounds: What configurations must keep.
        inputs: Inputs that were given; None to make them up. Given ones serve the confirmation, too.
        reference: Expected outputs for these inputs; None for the outputs of what is configured.
    """

    make: MakeSubject
    objective: Objective
    tolerance: float
    bounds: Sequence[Bound] = ()
    inputs: Sequence[Any] | None = None
    reference: Sequence[Any] | None = None

    def compare(
        self,
        configuration: Combination,
        pairs: int,
        *,
        base: Combination | None = None,
        first: MeasuredSubject | None = None,
        seed: int = 0,
        repeats: int = 1,
        rung: int | None = None,
    ) -> Trial:
        """Load a configuration and compare it; what goes wrong is the outcome's failure.

        Args:
            configuration: The configuration.
            pairs: The number of pairs, fixed ahead: stopping once an interval looks good would find gains
                that do not exist.
            base: What to compare it with, by default what is configured.
            first: The same, loaded; else it is loaded anew.
            seed: The seed of inputs that are made up.
            repeats: How often both are loaded anew, with other inputs each time: luck of one load, such as
                where its memory lies, must not count as a gain.
            rung: The round of the search.

        Raises:
            KeyboardInterrupt: Ctrl-C; what was measured does not count.
            TuningError: the objective cannot be measured here.
            Exception: what loading and running the base raises.
        """
        samples: list[PairSample] = []
        found = Trial(configuration=configuration, rung=rung)
        for repeat in range(repeats):
            with ExitStack() as loaded:
                early: MeasuredSubject | None = None
                if (
                    repeat % 2 and first is None
                ):  # the later load may be the faster one: both have both places
                    try:
                        early = loaded.enter_context(self.objective.load(self.make, configuration))
                    except Exception as problem:  # of an engine, which may raise anything
                        return _failed(found, problem)
                one = first or loaded.enter_context(self.objective.load(self.make, base or {}))
                inputs = self.inputs_for(one, seed + repeat)
                now = one.run(inputs)  # also keeps the inputs for the measurement
                try:
                    other = early or loaded.enter_context(self.objective.load(self.make, configuration))
                    outputs = other.run(inputs)
                    error = output_error(outputs, now if self.reference is None else self.reference)
                except Exception as problem:  # of an engine, which may raise anything
                    return _failed(found, problem)
                found = replace(found, error=max(error, found.error or 0.0))
                if not error <= self.tolerance:
                    wrong = f"outputs differ by {error:.2g}; allowed is {self.tolerance:.2g}"
                    return replace(found, failure=wrong)
                try:
                    samples.append(self.objective.sample(one, other, max(1, pairs // repeats)))
                except TuningError:
                    raise
                except Exception as problem:  # of an engine, which may raise anything
                    one.run(inputs)  # raises, too, if what is configured has failed
                    return _failed(found, problem)
                peak = max(filter(None, (found.peak_bytes, other.peak_bytes)), default=None)
                found = replace(found, peak_bytes=peak)
        if self.objective.name != MEMORY:
            times = [each for sample in samples for each in sample.all_second_ns]
            found = replace(found, latency_ns=float(np.median(times)))
        values = {"memory": found.peak_bytes, "latency": found.latency_ns, "error": found.error}
        broken = next(filter(None, (bound.problem(values[bound.name]) for bound in self.bounds)), None)
        return replace(found, ratio=ratio_of(*samples), failure=broken)

    def with_itself(self, pairs: int, seed: int) -> PairedRatio:
        """Return the ratio of two equal configurations: the noise. A given reference does not matter for it.

        Raises:
            TuningError: their outputs differ.
            Exception: what loading and running them raises.
        """
        found = replace(self, reference=None).compare({}, pairs, seed=seed, repeats=FRESH_LOADS)
        if found.ratio is None:
            raise TuningError(
                problem=f"what is configured cannot be compared with itself: {found.failure}",
                help="without equal outputs, give a larger --tolerance",
            )
        return found.ratio

    def inputs_for(self, subject: MeasuredSubject, seed: int) -> Sequence[Any]:
        """Return the inputs for a seed: the given inputs, or made up ones."""
        return subject.generate(seed) if self.inputs is None else self.inputs


def _failed(found: Trial, problem: Exception) -> Trial:
    """Return the answer for what went wrong; a lost device is none."""
    if isinstance(problem, RemoteDeviceError):
        raise problem
    return replace(found, failure=reason_of(problem))


def ratio_of(*samples: PairSample) -> PairedRatio:
    """Return the ratio of some samples, each of two newly loaded sides.

    Loads differ by more than the pairs of one load say, such as by where memory lies: the 95 % interval of
    several samples is Student's t interval over their medians, and not less than that over all pairs. Without
    enough pairs for an interval, it is from 0 to infinity.
    """
    whole = PairSample(
        first_runs_ns=tuple(each for sample in samples for each in sample.first_runs_ns),
        second_runs_ns=tuple(each for sample in samples for each in sample.second_runs_ns),
    )
    pairs = len(whole.first_runs_ns)
    if pairs >= MIN_PAIRS:
        found = whole.ratio()
    else:
        ratio = float(np.exp(_median_log(whole)))
        found = PairedRatio(ratio=ratio, low=0.0, high=float("inf"), pairs=pairs)
    if len(samples) not in _STUDENT:
        return found
    logs = [_median_log(each) for each in samples]
    middle, half = np.mean(logs), _STUDENT[len(logs)] * np.std(logs, ddof=1) / np.sqrt(len(logs))
    ratio, low, high = np.exp([middle, middle - half, middle + half]).tolist()
    low, high = (min(low, found.low), max(high, found.high)) if pairs >= MIN_PAIRS else (low, high)
    return PairedRatio(ratio=ratio, low=low, high=high, pairs=pairs)


def _median_log(sample: PairSample) -> float:
    first, second = np.maximum(sample.first_ns, 1), np.maximum(sample.second_ns, 1)
    return float(np.median(np.log(second) - np.log(first)))
