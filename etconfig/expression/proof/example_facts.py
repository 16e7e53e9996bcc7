"""Example facts: values for which some conditions are met and others are not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TypeAlias

from etconfig.expression.checked import (
    Checked,
    Constant,
    FactValueOf,
    HasFact,
    ListOf,
    Logic,
    Operation,
    children,
)
from etconfig.expression.expression import Expression
from etconfig.expression.proof.assumptions import Assumptions
from etconfig.expression.proof.example_buckets import texts_in_buckets
from etconfig.expression.proof.proof_steps import ProofSteps
from etconfig.expression.proof.ranges import BoolRange, ListRange, NumberRange, TextRange, ValueRange

ConditionTruths: TypeAlias = "Sequence[tuple[Expression, bool]]"
"""Conditions, and whether each is met."""

_MAX_TRIED = 2048
_MAX_FACTS = 64
_MAX_CANDIDATES = 16
_TYPICAL_INT, _TYPICAL_FLOAT, _TYPICAL_TEXT = 4, 0.5, "other"
_DIGITS = 3
"""Examples of fractions are written with so many decimals where possible."""

_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">=", "in"))

_NOT_KNOWN = object()


class SearchLimitError(Exception):
    """No example was found, but there may be one: the search is bounded."""


def example_facts(truths: ConditionTruths, device: Assumptions) -> dict[str, object] | None:
    """Find facts on which each condition is met or not, as required.

    Args:
        truths: The conditions.
        device: The assumptions about the facts; they include the conditions.

    Returns:
        The values of known facts, by name; None if there is no such device.

    Raises:
        SearchLimitError: none was found, but there may be one.
        ProofLimitError: the search takes more steps than allowed.
    """
    names = sorted({name for condition, _ in truths for name in condition.facts} | device.ranges.keys())
    constants: dict[str, set[object]] = {name: set() for name in names}
    decided: dict[str, list[tuple[Expression, bool]]] = {name: [] for name in ["", *names]}
    device.steps.spend(sum(len(condition.source) for condition, _ in truths) >> 1)
    for condition, is_met in truths:
        decided[max(condition.facts, default="")].append((condition, is_met))
        for name in condition.facts:
            constants[name].update(_constants(condition.tree))
    texts: dict[str, list[str]] = {}
    if any("bucket" in condition.source for condition, _ in truths):
        trees = [condition.tree for condition, _ in truths]
        texts = {name: list(texts_in_buckets(name, trees, device)) for name in names}
    device.steps.spend(len(names) << 5)
    candidates = [_candidates(name, device, constants[name], texts.get(name, ())) for name in names]
    if len(names) > _MAX_FACTS:
        raise SearchLimitError
    search = _Search(names, candidates, decided, device.steps)
    if search.extend(0):
        return search.facts
    are_all_tried = search.tried <= _MAX_TRIED and all(len(each) <= _MAX_CANDIDATES for each in candidates)
    if are_all_tried and all(_is_plain(condition.tree) for condition, _ in truths):
        return None
    raise SearchLimitError


class _Search:
    """Chooses values fact by fact; a condition is tested when all of its facts are chosen."""

    def __init__(
        self,
        names: Sequence[str],
        candidates: Sequence[Sequence[object]],
        decided: Mapping[str, ConditionTruths],
        steps: ProofSteps,
    ) -> None:
        self.facts: dict[str, object] = {}
        self.tried = 0
        self._names = names
        self._candidates = candidates
        self._decided = decided
        self._steps = steps

    def extend(self, index: int) -> bool:
        """Choose values for the facts from `index` on; return True if all conditions are as required."""
        decided = self._decided[self._names[index - 1] if index else ""]
        self._steps.spend(4 + (sum(len(condition.source) for condition, _ in decided) >> 2))
        if not _agree(decided, self.facts):
            return False
        if index == len(self._names):
            return True
        name = self._names[index]
        for value in self._candidates[index][:_MAX_CANDIDATES]:
            self.tried += 1
            if self.tried > _MAX_TRIED:
                return False
            if value is not _NOT_KNOWN:
                self.facts[name] = value
            if self.extend(index + 1):
                return True
            self.facts.pop(name, None)
        return False


def _agree(truths: ConditionTruths, facts: Mapping[str, object]) -> bool:
    return all((condition.evaluate(facts) is True) is is_met for condition, is_met in truths)


def _is_plain(tree: Checked) -> bool:
    """True if a condition compares facts with constants only: then the candidates are all that counts."""
    if isinstance(tree, (Constant, FactValueOf, HasFact)):
        return True
    if isinstance(tree, Operation) and tree.function in _COMPARISONS:
        left, right = tree.operands
        sides = (left, *right.items) if isinstance(right, ListOf) else (left, right)
        return all(isinstance(side, (Constant, FactValueOf)) for side in sides) and not all(
            isinstance(side, FactValueOf) for side in sides
        )
    is_logic = isinstance(tree, Logic) or (isinstance(tree, Operation) and tree.function == "!")
    return is_logic and all(map(_is_plain, children(tree)))


def typical_value(name: str, device: Assumptions) -> object:
    """A value that a fact may have, as devices often do; None if there is no example."""
    return next(_possible_values(name, device, (), ()), None)


def _candidates(
    name: str, device: Assumptions, constants: Iterable[object], texts: Sequence[str]
) -> list[object]:
    """Values to try for a fact, and first, if that is possible, that it is not known: examples stay short."""
    if device.known.get(name) is False:
        return [_NOT_KNOWN]
    distinct = dict.fromkeys(_possible_values(name, device, constants, texts))
    found: list[object] = list(islice(distinct, _MAX_CANDIDATES + 1))
    return found if device.known.get(name) else [_NOT_KNOWN, *found]


def _possible_values(
    name: str, device: Assumptions, constants: Iterable[object], texts: Sequence[str]
) -> Iterator[object]:
    """Yield values in the range of a fact that the fact accepts: `cpu.arch` has no capital letters."""
    info = device.registry.get(name)
    assert info is not None  # otherwise the expression was refused
    for value in _values(device.range_of_fact(name), constants, texts):
        with suppress(ValueError):
            yield info.check(value)


def _values(values: ValueRange, constants: Iterable[object], texts: Sequence[str]) -> Iterator[object]:
    if isinstance(values, BoolRange):
        yield from sorted(values.values)
    elif isinstance(values, NumberRange):
        yield from _numbers(values, constants)
    elif isinstance(values, TextRange):
        yield from _texts(values, constants, texts)
    else:
        yield from _lists(values, constants)


def _numbers(values: NumberRange, constants: Iterable[object]) -> Iterator[float]:
    is_whole = isinstance(values.lowest, int)
    typical = _TYPICAL_INT if is_whole else _TYPICAL_FLOAT
    middle = round((values.lowest + values.highest) / 2, _DIGITS) if not is_whole else typical
    wanted: list[float] = [typical, middle, min(max(typical, values.lowest), values.highest)]
    wanted += [bound for bound in values[:2] if abs(bound) < 2**62]
    for constant in sorted(each for each in constants if type(each) in (int, float)):  # type: ignore[type-var]
        assert isinstance(constant, (int, float))
        wanted += [constant, constant + 1, constant - 1]
    for number in wanted:
        if values.lowest <= number <= values.highest and not math.isinf(number):
            yield int(number) if is_whole else float(number)


def _texts(values: TextRange, constants: Iterable[object], first: Sequence[str]) -> Iterator[str]:
    if values.words is not None:
        yield from sorted(values.words)
        return
    yield from (word for word in first if word not in values.excluded)
    words = sorted(each for each in constants if isinstance(each, str))
    yield from (word for word in words if word not in values.excluded)
    joined = (first + last for first in words for last in words)  # for a prefix and a suffix at once
    yield from (word for word in joined if word not in values.excluded)
    other = _TYPICAL_TEXT
    while other in values.excluded:
        other += "-" + _TYPICAL_TEXT
    yield other
    if "0" not in values.excluded:
        yield "0"  # less than other versions; those above are joined of constants


def _lists(values: ListRange, constants: Iterable[object]) -> Iterator[tuple[object, ...]]:
    needed = tuple(sorted(values.contains))
    fill = tuple(f"{_TYPICAL_TEXT}-{number}" for number in range(max(values.shortest - len(needed), 0)))
    yield (*needed, *fill)
    words = (
        each for each in constants if isinstance(each, str) and each not in values.lacks | values.contains
    )
    yield (*needed, *fill, *sorted(words))[: values.longest]


def _constants(tree: Checked) -> Iterator[object]:
    if isinstance(tree, Constant):
        yield from tree.value if isinstance(tree.value, tuple) else (tree.value,)
    for child in children(tree):
        yield from _constants(child)
