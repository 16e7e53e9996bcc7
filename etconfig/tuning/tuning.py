"""`find_better`: search, confirm, and leave out what does not matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import field
from time import monotonic
from typing import TypeAlias

from etconfig.base.paired_ratio import PairedRatio
from etconfig.base.records import record
from etconfig.tuning.contest import FRESH_LOADS, Contest, Trial
from etconfig.tuning.search import MAX_EXHAUSTIVE, plan_search, search
from etconfig.tuning.space import Combination, Space
from etconfig.tuning.study import Study

NOISE_PAIRS = 30
"""The pairs of two equal configurations, which are measured first."""
_PROPOSED_AT_MOST = 200
_CONFIRM_PAIRS = (30, 400)
"""The fewest and the most pairs of a confirmation."""
_OMIT_PAIRS = (30, 120)
"""The same for a comparison with an option left out."""
_SEARCH_SHARE, _CONFIRM_SHARE = 0.6, 0.15
_LEAST_SEARCH_SHARE = 0.3
"""The share of the time that the search has, however long the noise took."""

TuneProgress: TypeAlias = "Callable[[str, int, int, Trial | None], object]"
"""Called with a phase, what is done of it, of how much, and the best outcome so far."""


@record(frozen=True, kw_only=True)
class TuneLimits:
    """The limits of a search.

    Attributes:
        budget_s: The time that all may take, about, in seconds.
        min_gain: The least gain that counts, as a share.
        seed: The order of the search and the inputs that are made up.
    """

    budget_s: float = 60.0
    min_gain: float = 0.02
    seed: int = 0


@record(frozen=True, kw_only=True)
class Found:
    """The result of a search.

    Attributes:
        noise: The ratio of two equal configurations.
        better: The options that matter, with their values; empty if nothing is better.
        whole: Their gain together, confirmed; None if nothing is better.
        options: The gain of each, against the others without it.
        dropped: The options of the winner that do not matter.
        unconfirmed: The best of the search, which confirmation rejected.
        count: The number of combinations of the search.
        is_complete: False if the time was over before all of them were compared.
        is_interrupted: True if Ctrl-C ended it.
        is_reduced: False if the time was over, or Ctrl-C came, before each option was left out once.
        open_inputs: The inputs whose sizes were guessed, as `NAME=1,3,1,1`.
    """

    noise: PairedRatio | None = None
    better: Combination
    whole: Trial | None = None
    options: Mapping[str, PairedRatio] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    unconfirmed: tuple[Trial, ...] = ()
    count: int = 0
    is_complete: bool = True
    is_interrupted: bool = False
    is_reduced: bool = True
    open_inputs: tuple[str, ...] = ()


def find_better(
    contest: Contest,
    space: Space,
    study: Study,
    limits: TuneLimits,
    progress: TuneProgress,
    clock: Callable[[], float] = monotonic,
) -> Found:
    """Return the options that are better than what is configured, if there are any.

    Two equal configurations come first: a gain counts if the whole interval of its confirmation lies below
    1 by more than `min_gain`, and by more than these two differ.

    Args:
        contest: The rules.
        space: The combinations.
        study: Keeps the outcomes.
        limits: The limits.
        progress: Called before each comparison.
        clock: Returns the time in seconds.

    Raises:
        TuningError: the search needs a library that is not installed.
        Exception: what loading and running what is configured raises.
    """
    return _Search(contest, space, study, limits, progress, clock).run()


class _Search:
    """One search, with the arguments of `find_better`."""

    def __init__(
        self,
        contest: Contest,
        space: Space,
        study: Study,
        limits: TuneLimits,
        progress: TuneProgress,
        clock: Callable[[], float],
    ) -> None:
        self.contest, self.space, self.study, self.limits = contest, space, study, limits
        self.show, self.clock = progress, clock
        self.noise: PairedRatio | None = None
        self.count = min(space.size - 1, _PROPOSED_AT_MOST) if space.size > MAX_EXHAUSTIVE else space.size - 1
        self.pair_s = 0.0
        self.is_complete = True
        self.began = clock()
        self.open_inputs: tuple[str, ...] = ()
        self.seed = limits.seed

    def run(self) -> Found:
        try:
            finalists = self._search()
            return self._confirm(finalists)
        except KeyboardInterrupt:
            return self._found(is_interrupted=True)

    def _found(self, **fields: object) -> Found:
        shared = {
            "noise": self.noise,
            "count": self.count,
            "is_complete": self.is_complete,
            "open_inputs": self.open_inputs if self.contest.inputs is None else (),
        }
        return Found(**{"better": {}, **shared, **fields})  # type: ignore[arg-type]  # fields of `Found`

    def _next_seed(self) -> int:
        """Return a seed whose inputs were not used before."""
        self.seed += FRESH_LOADS + 1
        return self.seed

    def _search(self) -> list[Trial]:
        self.show("noise", 0, 1, None)
        began = self.clock()
        equal = self.contest.with_itself(NOISE_PAIRS, self.seed)
        self.noise = equal
        elapsed = self.clock() - began
        incumbent = self.contest.objective.load(self.contest.make, {})
        with closing(incumbent):
            load_s, self.open_inputs = incumbent.load_s, incumbent.open_inputs
            self.pair_s = max(0.0, elapsed - 2 * FRESH_LOADS * load_s) / NOISE_PAIRS
            budget_s = self.limits.budget_s
            left_s = budget_s * _SEARCH_SHARE - (self.clock() - self.began)
            seconds = max(budget_s * _LEAST_SEARCH_SHARE, left_s)
            began = self.clock()
            plan = plan_search(self.count, pair_s=self.pair_s, load_s=load_s, seconds=seconds)
            done = 0

            def has_time() -> bool:
                if self.clock() - began < seconds:
                    return True
                self.is_complete = self.is_complete and done >= self.count
                return False

            def evaluate(configuration: Combination, rung: int, pairs: int) -> Trial:
                nonlocal done
                best = next(iter(self.study.outcomes()), None)
                self.show(f"round {rung + 1} of {plan.rungs}", done, self.count, best)
                done += 1
                known = self.study.found(configuration, rung)
                if known is not None:
                    return known
                seed = self.limits.seed
                found = self.contest.compare(configuration, pairs, first=incumbent, seed=seed, rung=rung)
                return self.study.add(found)

            return search(self.space, plan, evaluate, has_time, self.limits.seed)

    def _confirm(self, finalists: list[Trial]) -> Found:
        rejected: list[Trial] = []
        for number, finalist in enumerate(finalists):
            if number and not self._has_time():
                self.is_complete = False
                break
            self.show("confirming", number, len(finalists), finalist)
            outcome = self._fresh(finalist.configuration, _CONFIRM_PAIRS, _CONFIRM_SHARE)
            if self._is_gain(outcome):
                return self._reduced(outcome, tuple(rejected))
            rejected.append(outcome)
        return self._found(unconfirmed=tuple(rejected))

    def _reduced(self, winner: Trial, rejected: tuple[Trial, ...]) -> Found:
        """Leave out, one after the other, the options of the winner without which it is as good."""
        whole, kept = winner, dict(winner.configuration)
        gains: dict[str, PairedRatio] = {}
        is_reduced, is_interrupted = True, False
        try:
            is_reduced, smaller = self._left_out(winner, gains)
            if len(smaller) < len(kept):
                self.show("confirming", 0, 1, winner)
                again = self._fresh(smaller, _CONFIRM_PAIRS, _CONFIRM_SHARE)
                whole, kept = (again, smaller) if self._is_gain(again) else (winner, kept)
        except KeyboardInterrupt:  # the gain is confirmed already
            is_reduced, is_interrupted = False, True
        assert whole.ratio is not None  # a gain has one
        if len(kept) == 1:
            gains = dict.fromkeys(kept, whole.ratio)
        return self._found(
            better=kept,
            whole=whole,
            options={path: gains[path] for path in kept if path in gains},
            dropped=tuple(path for path in winner.configuration if path not in kept),
            unconfirmed=rejected,
            is_reduced=is_reduced,
            is_interrupted=is_interrupted,
        )

    def _left_out(self, winner: Trial, gains: dict[str, PairedRatio]) -> tuple[bool, dict[str, object]]:
        """Leave out each option; return True if there was time for all, and the options that matter.

        The ratio of each option that matters goes into `gains`.
        """
        kept = dict(winner.configuration)
        share = (1 - _SEARCH_SHARE - 2 * _CONFIRM_SHARE) / len(kept)
        for number, path in enumerate(winner.configuration):
            without = {name: value for name, value in kept.items() if name != path}
            if not without:
                continue  # the last one is the whole gain
            if not self._has_time():
                return False, kept
            self.show("leaving out", number, len(winner.configuration), winner)
            outcome = self._fresh(without, _OMIT_PAIRS, share, base=winner.configuration)
            ratio = outcome.ratio
            if outcome.failure is not None or ratio is None:
                continue  # the others need it
            if ratio.low > 1 and ratio.ratio > 1 + self.limits.min_gain:
                gains[path] = ratio.inverse()
            else:
                kept = without
        return True, kept

    def _has_time(self) -> bool:
        return self.clock() - self.began < self.limits.budget_s

    def _fresh(
        self,
        configuration: Combination,
        bounds: tuple[int, int],
        share: float,
        base: Combination | None = None,
    ) -> Trial:
        """Compare on objects and inputs that the search has not seen."""
        pairs = int(self.limits.budget_s * share / max(self.pair_s, 1e-9))
        pairs = max(bounds[0], min(bounds[1], pairs))
        seed = self._next_seed()
        return self.contest.compare(configuration, pairs, base=base, seed=seed, repeats=FRESH_LOADS)

    def _is_gain(self, outcome: Trial) -> bool:
        return is_gain(outcome, self.noise, self.limits.min_gain)


def is_gain(outcome: Trial, noise: PairedRatio | None, min_gain: float) -> bool:
    """Return True if an outcome is better with certainty, and by more than two equal ones differ."""
    floor = 0.0 if noise is None else abs(1 - noise.ratio)
    limit = 1 - max(min_gain, floor)
    return outcome.failure is None and outcome.ratio is not None and outcome.ratio.high < limit
