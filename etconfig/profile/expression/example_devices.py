"""Example devices for conditions as they combine: one for each combination that some device may meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, combinations, islice
from typing import TypeAlias

from etconfig.profile.expression.assumptions import Assumptions
from etconfig.profile.expression.example_facts import SearchLimitError, example_facts
from etconfig.profile.expression.expression import Expression

MAX_COMBINATIONS = 1024
"""The most combinations of conditions that are tried; beyond it, every pair is."""

_MAX_EVALUATED = 300_000
"""The most conditions to evaluate for pairs, all in all: about a second."""

ExampleFacts: TypeAlias = "Mapping[str, object]"
"""The values of the known facts of an example device, by name."""


def example_devices(
    conditions: Sequence[Expression], nothing: Assumptions, most: int = MAX_COMBINATIONS
) -> tuple[list[ExampleFacts], str | None]:
    """Find an example device for each combination of conditions that some device may meet.

    Args:
        conditions: The conditions.
        nothing: What is known of the facts of any device.
        most: The most combinations to try; beyond it, pairs are tried.

    Returns:
        The facts of the devices, those that meet the fewest conditions first; and what was left out, in
        words, or None.
    """
    waiting: list[tuple[tuple[bool, ...], Assumptions]] = [((), nothing)]
    found: list[tuple[int, ExampleFacts]] = []
    unproven = 0
    while waiting:
        if len(found) + unproven + len(waiting) > most:
            return _pairs(conditions, nothing)
        truths, device = waiting.pop()
        if len(truths) < len(conditions):
            tree = conditions[len(truths)].tree
            both = ((is_met, device.assume_all([(tree, is_met)])) for is_met in (True, False))
            waiting += (((*truths, is_met), after) for is_met, after in both if after is not None)
            continue
        try:
            example = _example(list(zip(conditions, truths, strict=True)), device)
        except SearchLimitError:
            unproven += 1
            continue
        if example is not None:
            found.append((sum(truths), example))
    found.sort(key=lambda each: each[0])
    skipped = f"{unproven} of their combinations were not tried: no example was found" if unproven else None
    return [example for _, example in found], skipped


def _example(required: Sequence[tuple[Expression, bool]], device: Assumptions) -> ExampleFacts | None:
    assumed = device.assume_all((condition.tree, is_met) for condition, is_met in required)
    return None if assumed is None else example_facts(required, assumed)


def _pairs(conditions: Sequence[Expression], nothing: Assumptions) -> tuple[list[ExampleFacts], str]:
    """One example for each condition and each pair; of the others, some may be met there, too."""
    most = min(MAX_COMBINATIONS, _MAX_EVALUATED // len(conditions))
    some = chain(combinations(conditions, 1), combinations(conditions, 2))
    tried = list(islice(some, most))
    found: list[ExampleFacts] = [{}]
    for met in tried:
        with suppress(SearchLimitError):
            example = _example([(condition, True) for condition in met], nothing)
            found += [] if example is None else [example]
    pairs = len(conditions) * (len(conditions) - 1) // 2
    counted = max(len(tried) - len(conditions), 0)
    shown = "pairs" if counted == pairs else f"{counted} of {pairs} pairs"
    return found, f"{shown} of them were tried, no more"
