"""The search: successive halving over all combinations, or, of very many, over Optuna's proposals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from etconfig.base.packages import how_to_install
from etconfig.base.records import record
from etconfig.errors import TuningError
from etconfig.measuring.pairs import MIN_PAIRS
from etconfig.tuning.contest import Trial
from etconfig.tuning.space import Combination, Space

MAX_EXHAUSTIVE = 500
"""The most combinations of which all are measured."""
FINALISTS = 3
"""The most configurations that are confirmed, one after the other until one is."""
MAX_PAIRS = 40
"""The most pairs of the first round."""
_KEPT_OF_PROPOSED = 16
_WORST = 1e3
"""The ratio that Optuna hears of a failure."""

Evaluate: TypeAlias = "Callable[[Combination, int, int], Trial]"
"""Compares a configuration in a round, with a number of pairs."""
TimeLeft: TypeAlias = "Callable[[], bool]"
"""Returns False once the time of the search is over."""


@record(frozen=True, kw_only=True)
class Plan:
    """The number of pairs of each round, fixed before the first one.

    Attributes:
        pairs: The pairs of the first round; each further one has twice as many.
        count: The number of configurations of the first round.
    """

    pairs: int
    count: int

    @property
    def rungs(self) -> int:
        """The number of rounds: each keeps the better half, until the finalists are left."""
        rungs, left = 1, self.count
        while left > FINALISTS:
            left, rungs = (left + 1) // 2, rungs + 1
        return rungs

    def pairs_of(self, rung: int) -> int:
        """Return the pairs of a round."""
        return self.pairs << rung


def plan_search(count: int, *, pair_s: float, load_s: float, seconds: float) -> Plan:
    """Plan a search that takes about so many seconds.

    Args:
        count: The number of configurations.
        pair_s: The time of one pair in seconds.
        load_s: The time to load one configuration in seconds.
        seconds: The time of the search.
    """
    rungs = Plan(pairs=MIN_PAIRS, count=count).rungs
    left = seconds - 2 * count * load_s  # half as many each time
    pairs = int(left / max(rungs * count * pair_s, 1e-9))
    return Plan(pairs=max(MIN_PAIRS, min(MAX_PAIRS, pairs)), count=count)


def search(space: Space, plan: Plan, evaluate: Evaluate, has_time: TimeLeft, seed: int = 0) -> list[Trial]:
    """Return the finalists, the best first; none if no configuration may be better.

    Args:
        space: The combinations.
        plan: The pairs of each round.
        evaluate: Compares a configuration.
        has_time: Returns False once the time is over; then the best so far are the finalists.
        seed: The order in which combinations are tried, so that a short time allows a fair sample.

    Raises:
        TuningError: there are too many combinations, and Optuna is not installed.
    """
    if space.size > MAX_EXHAUSTIVE:
        kept = _proposed(space, plan, evaluate, has_time, seed)
    else:
        every = list(space.configurations())
        order = np.random.default_rng(seed).permutation(len(every))
        kept = _round([every[index] for index in order], 0, plan, evaluate, has_time)
        kept = kept[: (len(every) + 1) // 2]
    for rung in range(1, plan.rungs):
        if not kept or not has_time():
            break
        before = kept
        measured = _round([each.configuration for each in kept], rung, plan, evaluate, has_time)
        if not has_time() and len(measured) < len(before):
            break  # the round before is complete
        kept = measured[: max(FINALISTS, (len(before) + 1) // 2)]
    return [each for each in kept if each.value < 1][:FINALISTS]


def _round(
    configurations: Sequence[Combination], rung: int, plan: Plan, evaluate: Evaluate, has_time: TimeLeft
) -> list[Trial]:
    """Compare configurations; return the trials that may be better, the best first."""
    found = []
    for each in configurations:
        if not has_time():
            break
        found.append(evaluate(each, rung, plan.pairs_of(rung)))
    return _hopeful(found)


def _hopeful(outcomes: Iterable[Trial]) -> list[Trial]:
    """Return trials that may be better, best first: what is worse with certainty is not measured again."""
    found = [each for each in outcomes if each.failure is None and each.ratio and each.ratio.low < 1]
    return sorted(found, key=lambda outcome: outcome.value)


def _proposed(space: Space, plan: Plan, evaluate: Evaluate, has_time: TimeLeft, seed: int) -> list[Trial]:
    """Compare what Optuna proposes; return the best of it."""
    study = _optuna_study(seed)
    found: dict[str, Trial] = {}
    for _ in range(plan.count * 4):  # it repeats itself
        if not has_time() or len(found) >= plan.count:
            break
        trial = study.ask()
        configuration = space.configuration([_suggested(trial, each) for each in space.dimensions])
        key = str(sorted(configuration.items()))
        if configuration and key not in found:
            found[key] = evaluate(configuration, 0, plan.pairs_of(0))
        outcome = found.get(key)
        study.tell(trial, 1.0 if outcome is None else min(outcome.value, _WORST))
    return _hopeful(found.values())[:_KEPT_OF_PROPOSED]


def _optuna_study(seed: int) -> Any:
    try:
        import optuna
    except ImportError as error:
        raise TuningError(
            problem=f"more than {MAX_EXHAUSTIVE} combinations need Optuna, which is not installed",
            help=f"{how_to_install('etconfig[tune]')}, or name fewer options with --only",
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=20))


def _suggested(trial: Any, dimension: Any) -> object:
    """Return the value that Optuna proposes for an option."""
    given = dimension.range
    if given is None:
        choices = (dimension.incumbent, *dimension.values)
        return choices[trial.suggest_categorical(dimension.path, range(len(choices)))]
    suggest = trial.suggest_int if given.is_integer else trial.suggest_float
    return suggest(dimension.path, given.low, given.high, log=given.log)
