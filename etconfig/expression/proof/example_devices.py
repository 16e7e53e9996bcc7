"""Example devices for conditions as they combine: one for each combination that some device may meet."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, combinations, islice, product
from typing import NamedTuple, TypeAlias

from etconfig.expression.expression import Expression
from etconfig.expression.proof.assumptions import Assumptions
from etconfig.expression.proof.example_facts import SearchLimitError, example_facts
from etconfig.expression.proof.proof_steps import ProofLimitError

MAX_COMBINATIONS = 1024
"""The most combinations of conditions that are tried; beyond it, every pair is."""

_MAX_EVALUATED = 300_000
"""The most conditions to evaluate for pairs, all in all: about a second."""

_FOR_PAIRS = 0.6
"""The share of the steps that is kept for pairs while all combinations are tried."""

ExampleFacts: TypeAlias = "Mapping[str, object]"
"""The values of the known facts of an example device, by name."""


class _Case(NamedTuple):
    """A combination of some conditions that may be possible.

    Attributes:
        truths: For each condition, whether it holds.
        example: The facts of a device; None if the search for one gave up.
    """

    truths: tuple[bool, ...]
    example: ExampleFacts | None


def example_devices(
    conditions: Sequence[Expression], nothing: Assumptions, most: int = MAX_COMBINATIONS
) -> tuple[list[ExampleFacts], str | None]:
    """Find an example device for each combination of conditions that some device may meet.

    Conditions without a fact in common are searched apart, since any of their examples agree.

    Args:
        conditions: The conditions.
        nothing: The knowledge about the facts of any device.
        most: The most combinations to try; beyond it, or if they take too many steps, pairs are tried.

    Returns:
        The facts of the devices, the devices that meet the fewest conditions first; and what was left out, in
        words, or None.
    """
    groups = _groups(conditions, nothing)
    cases: list[list[_Case]] | None = None
    given: ExampleFacts = {}
    with suppress(ProofLimitError), nothing.steps.reserving(_FOR_PAIRS):
        given = example_facts((), nothing) or {}
        cases = _cases_of_groups(groups, most)
    if cases is None:
        return _pairs(len(conditions), groups, given)
    found: list[tuple[int, tuple[bool, ...], ExampleFacts]] = []
    order = [index for group in groups for index in group.indices]
    combined = 0
    for combination in product(*cases):
        combined += 1
        examples = [case.example for case in combination if case.example is not None]
        if len(examples) == len(combination):
            truths = dict(zip(order, chain.from_iterable(case.truths for case in combination), strict=True))
            ordered = tuple(truths[index] for index in range(len(conditions)))
            found.append((sum(ordered), ordered, _merged([given, *examples])))
    found.sort(key=lambda each: each[:2])
    unproven = combined - len(found)
    skipped = f"{unproven} of their combinations were not tried: no example was found" if unproven else None
    return [example for *_, example in found], skipped


def _cases_of_groups(groups: Sequence[_Group], most: int) -> list[list[_Case]] | None:
    """Return the cases of each group; None if they combine in too many ways."""
    found: list[list[_Case]] = []
    for group in groups:
        cases = group.cases(most // max(math.prod(map(len, found)), 1))
        if cases is None:
            return None
        found.append(cases)
    return found


def _merged(examples: Iterable[ExampleFacts]) -> ExampleFacts:
    """Return the facts of all examples; the later ones win."""
    found = {name: value for example in examples for name, value in example.items()}
    return {name: found[name] for name in sorted(found)}


class _Group:
    """Conditions that have facts in common, directly or through others.

    Attributes:
        indices: The numbers of the conditions.
    """

    def __init__(
        self, indices: Sequence[int], conditions: Sequence[Expression], nothing: Assumptions
    ) -> None:
        self.indices = indices
        self._conditions = conditions
        self._nothing = nothing
        self._known: dict[tuple[int, ...], ExampleFacts | None] = {}

    def cases(self, most: int) -> list[_Case] | None:
        """Return a case for each combination of the conditions; None if there are more than `most`."""
        waiting: list[tuple[tuple[bool, ...], Assumptions]] = [((), self._nothing)]
        found: list[_Case] = []
        while waiting:
            if len(found) + len(waiting) > most:
                return None
            truths, device = waiting.pop()
            if len(truths) < len(self._conditions):
                tree = self._conditions[len(truths)].tree
                both = ((is_met, device.assume_all([(tree, is_met)])) for is_met in (True, False))
                waiting += (((*truths, is_met), after) for is_met, after in both if after is not None)
                continue
            try:
                example = _example(list(zip(self._conditions, truths, strict=True)), device)
            except SearchLimitError:
                found.append(_Case(truths, None))
            else:
                found += [] if example is None else [_Case(truths, example)]
        return found

    def example(self, met: tuple[int, ...]) -> ExampleFacts | None:
        """Return a device that meets conditions of the group; None if none was found."""
        if met not in self._known:
            self._known[met] = None
            required = [(self._conditions[self.indices.index(number)], True) for number in met]
            with suppress(SearchLimitError):
                self._known[met] = _example(required, self._nothing)
        return self._known[met]


def _groups(conditions: Sequence[Expression], nothing: Assumptions) -> list[_Group]:
    """Return the conditions by the facts that they have in common."""
    first_of: dict[str, int] = {}
    parents = list(range(len(conditions)))

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = parents[parents[index]]
            index = parents[index]
        return index

    for index, condition in enumerate(conditions):
        for name in condition.facts:
            low, high = sorted((root(first_of.setdefault(name, index)), root(index)))
            parents[high] = low
    members: dict[int, list[int]] = {}
    for index in range(len(conditions)):
        members.setdefault(root(index), []).append(index)
    return [
        _Group(
            indices,
            [conditions[index] for index in indices],
            _only(nothing, {name for index in indices for name in conditions[index].facts}),
        )
        for indices in members.values()
    ]


def _only(nothing: Assumptions, names: Container[str]) -> Assumptions:
    """Return the assumptions about some facts only."""
    ranges = {name: values for name, values in nothing.ranges.items() if name in names}
    known = {name: is_known for name, is_known in nothing.known.items() if name in names}
    return replace(nothing, ranges=ranges, known=known)


def _example(required: Sequence[tuple[Expression, bool]], device: Assumptions) -> ExampleFacts | None:
    assumed = device.assume_all((condition.tree, is_met) for condition, is_met in required)
    return None if assumed is None else example_facts(required, assumed)


def _pairs(count: int, groups: Sequence[_Group], given: ExampleFacts) -> tuple[list[ExampleFacts], str]:
    """Return an example for each condition and each pair; of the others, some may be met there, too."""
    most = min(MAX_COMBINATIONS, _MAX_EVALUATED // count)
    group_of = {index: group for group in groups for index in group.indices}
    some = chain(combinations(range(count), 1), combinations(range(count), 2))
    found: list[ExampleFacts] = [{}]
    tried = 0
    with suppress(ProofLimitError):
        for met in islice(some, most):
            together: dict[int, tuple[_Group, tuple[int, ...]]] = {}
            for index in met:
                group = group_of[index]
                together[id(group)] = group, (*together.get(id(group), (group, ()))[1], index)
            examples = [group.example(numbers) for group, numbers in together.values()]
            tried += 1
            known = [each for each in examples if each is not None]
            found += [_merged([given, *known])] if len(known) == len(examples) else []
    if tried < count:
        return found, f"{tried} of them were tried, each alone, no more"
    pairs = count * (count - 1) // 2
    counted = tried - count
    shown = "pairs" if counted == pairs else f"{counted} of {pairs} pairs"
    return found, f"{shown} of them were tried, no more"
