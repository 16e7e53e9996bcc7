"""`Contest`: profiles that `auto` can never select, since another one matches wherever they do."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice

from etconfig.facts.registry import FactRegistry
from etconfig.profile.contestant import Contestant
from etconfig.profile.directory import SUFFIX
from etconfig.profile.expression.assumptions import Assumptions
from etconfig.profile.expression.checked import Checked, Constant, FactValueOf, Logic, Operation
from etconfig.profile.expression.ranges import TextRange
from etconfig.profile.library import ProfileFile, Provider
from etconfig.records import record

_MAX_COMPARISONS = 4096
"""About the most comparisons of two conditions, all in all: half a second. Equal ones are found without."""

_MAX_EQUAL = 64
"""The most profiles with an equal condition that one is compared with."""


@record(frozen=True)
class Defeat:
    """A profile that can never be selected.

    Attributes:
        loser: The profile.
        winner: One that matches wherever it does.
        reason: Why `auto` does not prefer the loser, in a few words.
    """

    loser: Contestant
    winner: Contestant
    reason: str


class Contest:
    """The profiles among which `auto` selects.

    A profile A can never be selected if another one, B, matches wherever A does, A does not extend B, and
    either B extends A, or neither B nor a selectable profile that extends it comes from a less preferred kind
    of source than A. For on each device that A matches, B or a profile that extends it is then a candidate
    that A neither replaces nor outranks. Conditions are compared by the reasoning of `Assumptions`, which may
    miss that one implies another, and never claims it wrongly.

    Args:
        contestants: Every profile that may be selected, and those that they extend. Bundled ones may be left
            out if no other one among the losers in question is bundled: they extend none that is not.
        registry: The facts that conditions may name.
    """

    def __init__(self, contestants: Iterable[Contestant], registry: FactRegistry) -> None:
        self._contestants = {each.file.real_path: each for each in contestants}
        self._nothing = Assumptions.none(registry)

    def defeat(self, file: ProfileFile) -> Defeat | None:
        """Return why the profile in `file`, a contestant, can never be selected; None if it may be."""
        loser = self._contestants[file.real_path]
        met = None if loser.tree is None else self._nothing.assume(loser.tree, True)
        if met is None:
            return None  # it has no condition, or one that never holds, which is reported
        cases = self._cases(loser, met)
        for other in self._candidates(loser, met):
            tree = other.tree
            if tree is not None and (tree == loser.tree or all(case.implies(tree) for case in cases)):
                return Defeat(loser, other, self._reason(loser, other))
        return None

    def _cases(self, loser: Contestant, met: Assumptions) -> list[Assumptions]:
        """Return what is assumed in each case in which a condition holds; the operands of `||` are cases."""
        if not isinstance(loser.tree, Logic) or not loser.tree.decisive:
            return [met]
        cases = (self._nothing.assume(operand, True) for operand in loser.tree.operands)
        return [case for case in cases if case is not None]

    def _candidates(self, loser: Contestant, met: Assumptions) -> Iterator[Contestant]:
        """Yield those that may match wherever a profile does, and count where it does."""
        texts = ((name, met.range_of_fact(name)) for name in sorted(loser.facts))
        keys = (
            (name, min(found.words))
            for name, found in texts
            if isinstance(found, TextRange) and found.words is not None and len(found.words) == 1
        )
        some = (self._by_text.get(key, ()) for key in chain(keys, (None,)))
        equal = islice(self._by_tree[loser.tree], _MAX_EQUAL)
        for each in chain(equal, islice(chain.from_iterable(some), self._most_compared)):
            if self._beats(each, loser):
                yield each

    @cached_property
    def _most_compared(self) -> int:
        """The number of profiles that each one is compared with."""
        return max(_MAX_COMPARISONS // len(self._contestants), 1)

    @cached_property
    def _by_tree(self) -> Mapping[Checked | None, Sequence[Contestant]]:
        """The profiles by their condition."""
        found: dict[Checked | None, list[Contestant]] = {}
        for each in self._contestants.values():
            found.setdefault(each.tree, []).append(each)
        return found

    @cached_property
    def _by_text(self) -> Mapping[tuple[str, str] | None, Sequence[Contestant]]:
        """The selectable profiles by the rarest text that a fact must equal; None if there is none."""
        selectable = [each for each in self._contestants.values() if each.tree is not None]
        needed = [sorted(set(_needed_texts(each.tree))) for each in selectable if each.tree is not None]
        counts = Counter(text for texts in needed for text in texts)
        found: dict[tuple[str, str] | None, list[Contestant]] = {}
        for each, texts in zip(selectable, needed, strict=True):
            found.setdefault(min(texts, key=counts.__getitem__, default=None), []).append(each)
        return found

    def _beats(self, other: Contestant, loser: Contestant) -> bool:
        """Return True if a profile is not selected where the other one matches, too."""
        own, its = loser.file.real_path, other.file.real_path
        if own == its or its in self._bases_of[own]:
            return False
        return own in self._bases_of[its] or self._least_provider[its] >= loser.file.provider

    def _reason(self, loser: Contestant, winner: Contestant) -> str:
        if loser.file.real_path in self._bases_of[winner.file.real_path]:
            return "extends it"
        if winner.file.provider > loser.file.provider:
            return "comes from a source that is preferred"
        return "neither extends the other"

    @cached_property
    def _bases_of(self) -> Mapping[str, frozenset[str]]:
        """The contestants that each one extends, directly or not, by the paths of their files."""
        by_name = {each.name: key for key, each in self._contestants.items()}
        found: dict[str, frozenset[str]] = {}

        def visit(key: str, trail: tuple[str, ...]) -> frozenset[str]:
            if key not in found:
                direct = [self._base(target, self._contestants[key], by_name) for target in each_of(key)]
                bases = {base for base in direct if base in self._contestants and base not in trail}
                above = frozenset().union(*(visit(base, (*trail, key)) for base in sorted(bases)))
                found[key] = above | bases
            return found[key]

        def each_of(key: str) -> tuple[str, ...]:
            return self._contestants[key].extends

        for key in self._contestants:
            visit(key, (key,))
        return found

    def _base(self, target: str, origin: Contestant, by_name: Mapping[str, str]) -> str | None:
        if target.endswith(SUFFIX):
            return os.path.realpath(origin.file.path.parent / target)
        return by_name.get(target)

    @cached_property
    def _least_provider(self) -> Mapping[str, Provider]:
        """The least preferred source of each contestant and of the selectable ones that extend it."""
        found = {key: each.file.provider for key, each in self._contestants.items()}
        for key, each in self._contestants.items():
            if each.tree is not None:
                for base in self._bases_of[key]:
                    found[base] = min(found[base], each.file.provider)
        return found


def _needed_texts(tree: Checked) -> Iterator[tuple[str, str]]:
    """Yield facts and the texts that they must equal for a condition to hold."""
    if isinstance(tree, Logic) and not tree.decisive:
        for operand in tree.operands:
            yield from _needed_texts(operand)
    elif isinstance(tree, Operation) and tree.function == "==":
        for one, other in (tree.operands, tree.operands[::-1]):
            if isinstance(one, FactValueOf) and isinstance(other, Constant) and isinstance(other.value, str):
                yield one.name, other.value
