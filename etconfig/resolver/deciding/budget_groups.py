"""`BudgetGroups`: the method instances that may run together, by a budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from etconfig.diagnostics import Diagnostic, Severity, did_you_mean
from etconfig.profile.budget import Budget
from etconfig.resolver.deciding.arguments import ANY_METHOD, instance_label
from etconfig.resolver.deciding.instance_resolver import MethodInstance


def counted_instances(instances: Iterable[MethodInstance]) -> tuple[MethodInstance, ...]:
    """Return the method instances that count for a budget.

    If a method has named instances, these count; otherwise the method counts once. Options for any method, as
    they are resolved without a program, do not count: there may be no such method.
    """
    instances = tuple(instances)
    with_named = {method for method, instance in instances if instance is not None}
    return tuple(
        (method, instance)
        for method, instance in instances
        if method != ANY_METHOD and (instance is not None or method not in with_named)
    )


class BudgetGroups:
    """The method instances that may run together.

    Args:
        budget: The budget.
        counted: The method instances that count.
    """

    def __init__(self, budget: Budget, counted: Sequence[MethodInstance]) -> None:
        self._budget = budget
        self.counted = counted

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[MethodInstance]]:
        """The counted instances that each name stands for: of a method all, else a single one."""
        found: dict[str, list[MethodInstance]] = {}
        for method, instance in self.counted:
            found.setdefault(method, []).append((method, instance))
        by_instance = {name: [each] for each in self.counted for name in (each[1],) if name is not None}
        by_label = {instance_label(*each): [each] for each in self.counted}
        return {**by_instance, **by_label, **found}

    @cached_property
    def groups(self) -> Sequence[tuple[str | None, Sequence[MethodInstance]]]:
        """The members of each group, by its name; an instance in none of them is alone in a group."""
        if not self._budget.groups:
            return ((None, self.counted),)
        named: list[tuple[str | None, Sequence[MethodInstance]]] = [
            (name, tuple(dict.fromkeys(each for n in members for each in self._by_name.get(n.name, ()))))
            for name, members in self._budget.groups.items()
        ]
        grouped = {each for _, members in named for each in members}
        return (*named, *((None, (each,)) for each in self.counted if each not in grouped))

    @cached_property
    def weights(self) -> Mapping[MethodInstance, int]:
        """The parts of each instance whose weight is not 1; its own name beats the name of its method."""
        weights = self._budget.weights or {}
        methods = {method for method, _ in self.counted}
        methods_first = sorted(weights, key=lambda name: name not in methods)
        return {each: weights[name] for name in methods_first for each in self._by_name.get(name, ())}

    def problems(self, elsewhere: Callable[[], Collection[str]] = tuple) -> Iterator[Diagnostic]:
        """Yield a problem for each name that stands for no instance, here or elsewhere.

        It is an error if the name resembles one, and else a warning: a profile may serve several programs.

        Args:
            elsewhere: Returns the methods, models and instances that are not resolved now.
        """
        unknown = [each for each in self._budget.names() if each.name not in self._by_name]
        others = elsewhere() if unknown else ()
        unknown = [each for each in unknown if not {each.name, *each.name.split("@", 1)} & {*others}]
        for number, each in enumerate(unknown):
            guess = did_you_mean(each.name, self._by_name) if number < _MAX_GUESSED else None
            yield Diagnostic(
                code="unknown-method",
                message=f"the budget names {each.name!r}, but there is no such method, model or instance",
                spans=(each.find_span(),),
                help=guess or f"there are {', '.join([*self._by_name][:_MAX_NAMED])}",
                severity=Severity.WARNING if guess is None else Severity.ERROR,
            )


_MAX_GUESSED = 20
"""The most unknown names for which is looked what they mean."""
_MAX_NAMED = 8
"""The most names that a message lists."""
