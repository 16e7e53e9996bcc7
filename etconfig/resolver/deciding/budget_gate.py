"""`BudgetGate`: a quick check that a configuration is within its budget, and what options take of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from etconfig.expression import Expression
from etconfig.profile.budget import Budget
from etconfig.resolver.deciding.arguments import Arguments
from etconfig.resolver.deciding.backend_candidates import BackendCandidates
from etconfig.resolver.deciding.budget_groups import counted_instances
from etconfig.resolver.deciding.instance_resolver import MethodInstance
from etconfig.schema.consumption import Consumes
from etconfig.schema.declaration import Scope

if TYPE_CHECKING:
    from etconfig.schema.options import BackendOptions


@lru_cache(256)
def consumers_of(options: type[BackendOptions]) -> tuple[tuple[str, Consumes, bool], ...]:
    """Return the options of a class that take a resource, and if all instances of the process share them."""
    infos = options.option_infos().items()
    return tuple(
        (name, info.consumes, info.scope is Scope.PROCESS)
        for name, info in infos
        if info.consumes is not None
    )


def taken_by(
    consumes: Consumes, options: object, value: object, facts: Mapping[str, object]
) -> tuple[int | None, str | None]:
    """Return the amount that an option takes, None if it is unknown, and the fact that has it."""
    amount = consumes.amount(options, value)
    if not isinstance(amount, str):
        return amount, None
    found = facts.get(amount)
    return (found if isinstance(found, int) else None), amount


_Consumer: TypeAlias = "tuple[MethodInstance, str, str, Consumes]"
"""A method instance, its backend, an option of it, and what this takes."""


class BudgetGate:
    """A quick check that a configuration is within its budget: that the sum of everything is.

    Most options are literals, whose greatest value is known before. They are looked at only if that is too
    much.

    Args:
        budget: The budget.
        instances: The backends of all method instances.
    """

    def __init__(
        self, budget: Budget, instances: Mapping[MethodInstance, Sequence[BackendCandidates]]
    ) -> None:
        self._limits = tuple(budget.limits.values())
        self._greatest = dict.fromkeys(budget.limits, 0)
        self._literal: dict[str, list[_Consumer]] = {resource: [] for resource in budget.limits}
        self._others: dict[str, list[_Consumer]] = {resource: [] for resource in budget.limits}
        of_process: set[tuple[str, str]] = set()
        for key in counted_instances(instances):
            for backend in instances[key]:
                for name, consumes, is_of_process in consumers_of(backend.spec.options):
                    if consumes.resource not in self._greatest:
                        continue
                    if is_of_process and (backend.spec.id, name) in of_process:
                        continue
                    of_process.add((backend.spec.id, name))
                    greatest = None if consumes.counts or consumes.only_if else _greatest(backend, name)
                    self._greatest[consumes.resource] += greatest or 0
                    consumers = self._others if greatest is None else self._literal
                    consumers[consumes.resource].append((key, backend.spec.id, name, consumes))

    def is_within(self, arguments: Mapping[MethodInstance, Arguments], facts: Mapping[str, object]) -> bool:
        """Return True if it is for certain; otherwise a closer look is needed."""
        for limit in self._limits:
            most = limit.value.evaluate(facts) if isinstance(limit.value, Expression) else limit.value
            if not isinstance(most, int) or most < 1:
                return False
            resource = limit.resource
            others = _sum(self._others[resource], arguments, facts)
            if others is None:
                return False
            if others + self._greatest[resource] > most:
                literal = _sum(self._literal[resource], arguments, facts)
                if literal is None or others + literal > most:
                    return False
        return True


def _greatest(backend: BackendCandidates, name: str) -> int | None:
    """Return the greatest value of an option on any device; None if it is not a literal number."""
    option = backend.options[name]
    if not option.is_chosen or backend.spec.recommend is not None:
        return None
    values = [option.unconditional_value, *(each.value for each in option.effective)]
    numbers = [value for value in values if isinstance(value, int)]
    return max(numbers) if len(numbers) == len(values) else None


def _sum(
    consumers: Iterable[_Consumer], arguments: Mapping[MethodInstance, Arguments], facts: Mapping[str, object]
) -> int | None:
    """Return what some options take together; None if it is unknown."""
    total = 0
    for key, backend, name, consumes in consumers:
        options = arguments[key].backends[backend].options
        amount = taken_by(consumes, options, getattr(options, name), facts)[0]
        if amount is None:
            return None
        total += amount
    return total


def budget_facts(
    budget: Budget, instances: Mapping[MethodInstance, Sequence[BackendCandidates]]
) -> frozenset[str]:
    """Return the facts that a budget reads, and the facts that values of options stand for."""
    of_limits = (e.value.facts for e in budget.limits.values() if isinstance(e.value, Expression))
    specs = {each.spec.id: each.spec for backends in instances.values() for each in backends}
    declared = (each[1] for spec in specs.values() for each in consumers_of(spec.options))
    amounts = (a for c in declared if c.resource in budget.limits for a in (*c.counts.values(), c.otherwise))
    return frozenset(each for each in amounts if isinstance(each, str)).union(*of_limits)
