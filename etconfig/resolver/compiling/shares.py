"""`divide_shares`: `share(...)` in values becomes an ordinary expression for each method instance.

Of a budget B, the members of a group are ordered by weight, lightest first. With C the sum of the weights up
to all members of one weight, S the sum of all weights, and N the number of members so far, the budget is cut
after these members at `max(B * C / S, N)`. So each has at least 1, and all together have B, if it suffices
for that. Members of one weight divide their part T evenly: of K members, the one at place J in the order of
names, from 0, has `(T + K - 1 - J) / K`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from math import gcd
from typing import NamedTuple, cast

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import OptionError
from etconfig.expression import Expression
from etconfig.expression.checked import (
    SHARE,
    Checked,
    CheckedConditional,
    Constant,
    ListOf,
    Logic,
    Operation,
    shares_in,
)
from etconfig.profile.budget import Budget, BudgetLimit
from etconfig.profile.layer import AssignmentPlace, PlaceFinder
from etconfig.resolver.deciding.arguments import ANY_METHOD, instance_label
from etconfig.resolver.deciding.backend_candidates import BackendCandidates
from etconfig.resolver.deciding.budget_groups import BudgetGroups, counted_instances
from etconfig.resolver.deciding.instance_resolver import MethodInstance
from etconfig.resolver.deciding.option_candidates import Candidate

_MAX_NAMED = 8
"""The most members that an origin names."""

_ON_NUMBERS: Mapping[str, Callable[[int, int], int]] = {
    "int +": operator.add,
    "int -": operator.sub,
    "int *": operator.mul,
    "int /": operator.floordiv,  # of numbers above 0
    "max": max,
    "min": min,
}


def _apply(function: str, left: Checked, right: Checked | int) -> Checked:
    """Return an operation on two ints, or its value if both are constants."""
    right = Constant(right) if isinstance(right, int) else right
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(_ON_NUMBERS[function](cast(int, left.value), cast(int, right.value)))
    return Operation(function, (left, right))


class _Cut(NamedTuple):
    """An end of the part of the members of one weight: their parts, of how many, and the members so far."""

    part: int
    parts: int
    members: int

    def of(self, limit: Checked) -> Checked:
        """Return the amount of a limit up to here."""
        if self.part == 0:
            return Constant(0)
        common = gcd(self.part, self.parts)
        found = limit if self.part == common else _apply("int *", limit, self.part // common)
        found = found if self.parts == common else _apply("int /", found, self.parts // common)
        return _apply("max", found, self.members)


class _Slice(NamedTuple):
    """The share of a member in its group, beside the others with its weight.

    Attributes:
        lower: The end of the part before.
        upper: The end of their part.
        rank: Its place among them in the order of names, from 0.
        words: Its parts of all, in words.
    """

    lower: _Cut
    upper: _Cut
    rank: int
    words: str

    @property
    def place_text(self) -> str:
        """All numbers that the share depends on."""
        width, count = self.upper.part - self.lower.part, self.upper.members - self.lower.members
        parts = f"{width} of {self.upper.parts} parts after {self.lower.part}"
        return f"{parts}, member {self.rank + 1} of {count} after {self.lower.members}"

    def share(self, limit: Checked) -> Checked:
        """Return the share of a limit."""
        count = self.upper.members - self.lower.members
        found = self.upper.of(limit)
        if self.lower.part:
            found = _apply("int -", found, self.lower.of(limit))
        if count > 1:
            found = _apply("int /", _apply("int +", found, count - 1 - self.rank), count)
        return _apply("max", found, 1)  # which it is, but no proof of ranges can see it


@record(frozen=True)
class _SharePlace:
    """The place of a value that takes a share: its origin has the budget and the division, too."""

    written: PlaceFinder
    divisions: Sequence[tuple[BudgetLimit, Sequence[_Slice]]]

    @cached_property
    def _found(self) -> AssignmentPlace:
        place = self.written.find()
        texts = (_division_text(*each) for each in self.divisions)
        detail = "; ".join(filter(None, (place.origin.detail, *texts)))
        return replace(place, origin=replace(place.origin, detail=detail))

    def find(self) -> AssignmentPlace:
        return self._found

    def find_inside(self, path: tuple[str | int, ...], *, is_key: bool = False) -> Span:
        return self.written.find_inside(path, is_key=is_key)

    def __reduce__(self) -> tuple[object, ...]:
        return AssignmentPlace.find, (self._found,)


def divide_shares(
    budget: Budget | None,
    instances: dict[MethodInstance, Sequence[BackendCandidates]],
    elsewhere: Callable[[], Collection[str]] = tuple,
) -> tuple[Diagnostic, ...]:
    """Replace the shares in all values, and return the problems of a budget that do not stop the work.

    Args:
        budget: The budget, or None.
        instances: The candidates of all method instances.
        elsewhere: Returns the methods, models and instances that are not resolved now.

    Raises:
        OptionError: a share has no budget, or a name in the budget is mistyped.
    """
    division = _Division(budget or Budget(), instances)
    instances |= division.divided()
    is_complete = all(method != ANY_METHOD for method, _ in instances)  # else there may be any other name
    problems = (*(division.groups.problems(elsewhere) if is_complete else ()), *division.problems)
    if any(problem.is_error for problem in problems):
        raise OptionError(diagnostics=problems)
    return problems


class _Division:
    """Divides a budget among the instances that take of it.

    Args:
        budget: The budget.
        instances: The candidates of all method instances.

    Attributes:
        groups: The instances that count, and their groups.
        problems: A problem for each share of something that has no budget.
    """

    def __init__(
        self, budget: Budget, instances: Mapping[MethodInstance, Sequence[BackendCandidates]]
    ) -> None:
        self._budget = budget
        self.groups = BudgetGroups(budget, counted_instances(instances))
        self._instances = instances
        self._slices: dict[str, Mapping[MethodInstance, Sequence[_Slice]]] = {}
        self.problems: dict[Diagnostic, None] = {}

    def divided(self) -> dict[MethodInstance, Sequence[BackendCandidates]]:
        """Return the candidates of all method instances with their shares."""
        return {
            key: [self._of_backend(key, each) for each in backends]
            for key, backends in self._instances.items()
        }

    def _of_backend(self, key: MethodInstance, backend: BackendCandidates) -> BackendCandidates:
        sharing = {id(c): c for option in backend.options.values() for c in option.candidates if _shares(c)}
        if not sharing:
            return backend
        new = {number: self._with_share(key, candidate) for number, candidate in sharing.items()}
        options = dict(backend.options)
        for name, option in options.items():
            if not new.keys().isdisjoint(map(id, option.candidates)):
                candidates = tuple(new.get(id(each), each) for each in option.candidates)
                options[name] = replace(option, candidates=candidates)
        merge_order = [(name, new.get(id(each), each)) for name, each in backend.merge_order]
        return BackendCandidates(spec=backend.spec, options=options, merge_order=merge_order)

    def _with_share(self, key: MethodInstance, candidate: Candidate) -> Candidate:
        value = candidate.value
        assert isinstance(value, Expression)
        shares: dict[str, Checked] = {}
        divisions: list[tuple[BudgetLimit, Sequence[_Slice]]] = []
        hidden = value.hidden
        for resource in sorted(value.shares):
            limit = self._budget.limits.get(resource)
            if limit is None:
                self.problems[_unlimited(resource, candidate)] = None
                return candidate
            slices = self._slices_of(resource, key)
            number = limit.value.tree if isinstance(limit.value, Expression) else Constant(limit.value)
            shares[resource] = reduce(partial(_apply, "min"), (each.share(number) for each in slices))
            divisions.append((limit, slices))
            hidden |= limit.value.hidden if isinstance(limit.value, Expression) else frozenset()
        # expressions with one text are equal, also those of two profiles with budgets of their own
        parts = "; ".join(f"{each.place_text} of {limit.value}" for limit, of in divisions for each in of)
        text = f"{value.source} [{instance_label(*key)}: {parts}]"
        tree = _substituted(value.tree, shares)
        found = Expression(text, value.find_span, value.type, tree, (text,), hidden)
        return replace(candidate, value=found, place=_SharePlace(candidate.place, divisions))

    def _slices_of(self, resource: str, key: MethodInstance) -> Sequence[_Slice]:
        """Return the places of an instance in its groups; if it does not count, the least of its method."""
        if resource not in self._slices:
            self._slices[resource] = self._sliced(resource)
        found = self._slices[resource]
        if key in found:
            return found[key]
        of_method = [slices for (method, _), slices in found.items() if method == key[0]]
        alone = [each for _, each in _sliced_by_weight([key], {})]
        return min(of_method, key=lambda slices: (slices[0].lower.part, -slices[0].rank), default=alone)

    def _sliced(self, resource: str) -> Mapping[MethodInstance, Sequence[_Slice]]:
        takers = {
            key for key in self.groups.counted if any(_takes(b, resource) for b in self._instances[key])
        }
        found: dict[MethodInstance, list[_Slice]] = {}
        weights = self.groups.weights
        for _, members in self.groups.groups:
            named = sorted((each for each in members if each in takers), key=lambda m: instance_label(*m))
            for each, part in _sliced_by_weight(named, weights):
                found.setdefault(each, []).append(part)
        return found


def _sliced_by_weight(
    members: Sequence[MethodInstance], weights: Mapping[MethodInstance, int]
) -> Iterator[tuple[MethodInstance, _Slice]]:
    """Yield the share of each member of a group; they are in the order of names."""
    by_weight: dict[int, list[MethodInstance]] = {}
    for each in members:
        by_weight.setdefault(weights.get(each, 1), []).append(each)
    parts = sum(weight * len(equals) for weight, equals in by_weight.items())
    texts = [f"{instance_label(*each)} {weights.get(each, 1)}" for each in members[:_MAX_NAMED]]
    more = [f"{len(members) - _MAX_NAMED} more"] if len(members) > _MAX_NAMED else []
    lower = _Cut(0, parts, 0)
    for weight, equals in sorted(by_weight.items()):
        upper = _Cut(lower.part + weight * len(equals), parts, lower.members + len(equals))
        words = f"{weight} of {parts} parts ({', '.join((*texts, *more))})"
        for rank, each in enumerate(equals):
            yield each, _Slice(lower, upper, rank, words)
        lower = upper


def _division_text(limit: BudgetLimit, slices: Sequence[_Slice]) -> str:
    parts = " and ".join(each.words for each in slices)
    where = limit.find_span().place
    return f"share of budget.{limit.resource} = {limit.value} at {where}: {parts}, at least 1"


def _shares(candidate: Candidate) -> bool:
    return isinstance(candidate.value, Expression) and bool(candidate.value.shares)


def _takes(backend: BackendCandidates, resource: str) -> bool:
    """Return True if a backend may take of a resource: an option is declared so, or its value is a share."""
    return any(
        (option.info.consumes is not None and option.info.consumes.resource == resource)
        or any(resource in c.value.shares for c in option.candidates if isinstance(c.value, Expression))
        for option in backend.options.values()
    )


def _substituted(tree: Checked, shares: Mapping[str, Checked]) -> Checked:
    """Return a tree with other trees in place of shares."""

    def each(trees: Iterable[Checked]) -> Iterator[Checked]:
        return (_substituted(child, shares) for child in trees)

    if isinstance(tree, Operation) and tree.function == SHARE:
        return shares[next(iter(shares_in(tree)))]
    if isinstance(tree, (Operation, Logic)):
        return tree._replace(operands=tuple(each(tree.operands)))
    if isinstance(tree, ListOf):
        return ListOf(tuple(each(tree.items)))
    return CheckedConditional(*each(tree)) if isinstance(tree, CheckedConditional) else tree


def _unlimited(resource: str, candidate: Candidate) -> Diagnostic:
    return Diagnostic(
        code="missing-key",
        message=f"share of {resource}, but no budget of {resource} is set",
        spans=(candidate.span,),
        help=f"write [budget] with {resource} = ... in this profile, or in the project file",
    )
