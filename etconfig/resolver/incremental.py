"""`IncrementalResolver`: resolves all method instances, and again only those that a changed fact touches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from operator import ne

from etconfig.diagnostics import Diagnostic
from etconfig.errors import OptionError
from etconfig.profile.expression import Expression
from etconfig.resolver.arguments import ANY_METHOD, Arguments, BackendArguments, instance_label
from etconfig.resolver.backend_candidates import BackendCandidates, BackendResult
from etconfig.resolver.conflicts import process_conflicts, process_options
from etconfig.resolver.device import DeviceView
from etconfig.resolver.memo import LastResolve, MethodInstance
from etconfig.resolver.recommendation import Recommendation, recommend

_NO_RECOMMENDATION = Recommendation()


class IncrementalResolver:
    """The backends of all method instances, indexed by the facts that they depend on.

    Method instances with the same assignments share a `BackendCandidates`, and it is resolved once for all of
    them. The distinct ones are numbered in the order of the instances; below, `numbers` are theirs.

    Args:
        instances: The backends of each method instance.
    """

    def __init__(self, instances: Mapping[MethodInstance, Sequence[BackendCandidates]]) -> None:
        self._instances = tuple(instances)
        self._with_named = {method for method, instance in instances if instance is not None}
        number_of: dict[int, int] = {}
        self._backends: list[BackendCandidates] = []
        self._parts: list[list[tuple[str, int]]] = []
        self._instances_of: list[list[int]] = []
        for instance_number, backends in enumerate(instances.values()):
            for backend in backends:
                if id(backend) not in number_of:
                    number_of[id(backend)] = len(self._backends)
                    self._backends.append(backend)
                    self._instances_of.append([])
                self._instances_of[number_of[id(backend)]].append(instance_number)
            self._parts.append([(backend.spec.id, number_of[id(backend)]) for backend in backends])
        specs = {backend.spec.id: backend.spec for backend in self._backends}
        self._recommending = [spec for spec in specs.values() if spec.recommend is not None]
        self._process_options = process_options(specs.values())
        self._numbers_of_backend = _numbers_by_key([backend.spec.id] for backend in self._backends)
        self._computed_from = _numbers_by_key(
            {fact for option in backend.options.values() for fact in option.computed_from}
            for backend in self._backends
        )
        self._conditions = _conditions(self._backends)
        self._conditions_on = _numbers_by_key(condition.facts for condition, _ in self._conditions)
        self._facts = tuple({**self._computed_from, **self._conditions_on})

    def resolve(self, values: Mapping[str, object], last: LastResolve | None) -> LastResolve:
        """Return the arguments on a device with these facts, reusing the results of `last` that still apply.

        Args:
            values: The values of the known facts; nobody changes them later.
            last: The last results, or None.

        Raises:
            OptionError: an option has no valid value; with every problem of every method instance.
            PluginCallError: a backend's recommendation failed.
        """
        if last is not None and last.values is values:
            return last
        facts = tuple(map(values.get, self._facts))
        recommendations = {} if last is None else last.recommendations
        renewed = self._renewed_recommendations(values, recommendations) if self._recommending else {}
        if last is None:
            device = DeviceView(self._known(facts))
            stale: Collection[int] = range(len(self._backends))
            results: list[BackendResult] = [()] * len(self._backends)
            touched: Collection[int] = range(len(self._instances))
            instances: list[Arguments | Sequence[Diagnostic]] = [()] * len(self._instances)
        else:
            if last.facts == facts and not renewed:
                return last
            device = DeviceView(values, last.conditions)
            stale = self._stale(last.facts, facts, device)
            stale.update(number for backend in renewed for number in self._numbers_of_backend[backend])
            if not stale:
                return last.on_other_facts(values, facts, device.conditions)
            device.values = self._known(facts)
            touched = {i for number in stale for i in self._instances_of[number]}
            results, instances = list(last.results), list(last.instances)
        if renewed:
            recommendations = {**recommendations, **renewed}
        for number in stale:
            backend = self._backends[number]
            recommendation = recommendations.get(backend.spec.id, _NO_RECOMMENDATION)
            results[number] = backend.resolve(device, recommendation)
        for instance_number in touched:
            instances[instance_number] = self._gathered(instance_number, results)
        return self._finished(values, facts, device.conditions, recommendations, results, instances)

    def _known(self, facts: tuple[object, ...]) -> dict[str, object]:
        """Return the facts that the results depend on and that are known, by name."""
        return {name: value for name, value in zip(self._facts, facts, strict=True) if value is not None}

    def _renewed_recommendations(
        self, values: Mapping[str, object], known: Mapping[str, Recommendation]
    ) -> dict[str, Recommendation]:
        """Return the recommendations of those backends whose last one was made from other facts."""
        return {
            spec.id: recommend(spec, values)
            for spec in self._recommending
            if spec.id not in known or not known[spec.id].applies_to(values)
        }

    def _stale(self, before: tuple[object, ...], after: tuple[object, ...], device: DeviceView) -> set[int]:
        """Return the numbers with a value computed from a changed fact or a condition that changed."""
        stale: set[int] = set()
        conditions: set[int] = set()
        for name in compress(self._facts, map(ne, before, after)):
            stale.update(self._computed_from.get(name, ()))
            conditions.update(self._conditions_on.get(name, ()))
        for index in conditions:
            condition, numbers = self._conditions[index]
            if device.conditions.get(id(condition)) is not device.evaluate(condition):
                stale.update(numbers)
        return stale

    def _gathered(
        self, instance_number: int, results: Sequence[BackendResult]
    ) -> Arguments | Sequence[Diagnostic]:
        """Return the arguments of a method instance, or all of its problems."""
        found: dict[str, BackendArguments] = {}
        problems: list[Diagnostic] = []
        method, instance = self._instances[instance_number]
        for backend, number in self._parts[instance_number]:
            result = results[number]
            if isinstance(result, BackendArguments):
                found[backend] = result
            else:
                problems += (_placed(problem, method, instance) for problem in result)
        return problems or Arguments(method=method, instance=instance, backends=found)

    def _finished(
        self,
        values: Mapping[str, object],
        facts: tuple[object, ...],
        conditions: Mapping[int, bool],
        recommendations: Mapping[str, Recommendation],
        results: Sequence[BackendResult],
        instances: Sequence[Arguments | Sequence[Diagnostic]],
    ) -> LastResolve:
        """Return the results of one resolve, or raise the problems of instances that must have arguments."""
        arguments: dict[MethodInstance, Arguments] = {}
        problems: dict[MethodInstance, Sequence[Diagnostic]] = {}
        for key, found in zip(self._instances, instances, strict=True):
            if isinstance(found, Arguments):
                arguments[key] = found
            else:
                problems[key] = found
        incomplete = {key: found for key, found in problems.items() if self._is_template(key, found)}
        errors = [problem for key, found in problems.items() if key not in incomplete for problem in found]
        if self._process_options:
            errors += process_conflicts(arguments.values(), self._process_options)
        if errors:
            raise OptionError(diagnostics=tuple(dict.fromkeys(errors)))
        return LastResolve(
            values=values,
            facts=facts,
            conditions=conditions,
            recommendations=recommendations,
            results=results,
            instances=instances,
            arguments=arguments,
            incomplete=incomplete,
        )

    def _is_template(self, key: MethodInstance, problems: Sequence[Diagnostic]) -> bool:
        """True for a default instance that only serves the named ones, and so may lack options."""
        method, instance = key
        has_named = method in self._with_named
        return instance is None and has_named and all(d.code == "missing-option" for d in problems)


def _placed(problem: Diagnostic, method: str, instance: str | None) -> Diagnostic:
    """Return the problem, with a note that names the method instance if the problem points at no text."""
    if problem.spans:
        return problem
    where = "any method" if method == ANY_METHOD else instance_label(method, instance)
    return replace(problem, notes=(*problem.notes, f"for {where}"))


def _numbers_by_key(keys_in_order: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    """For each key, the positions in `keys_in_order` that contain it."""
    numbers: dict[str, list[int]] = {}
    for number, keys in enumerate(keys_in_order):
        for key in sorted(keys):
            numbers.setdefault(key, []).append(number)
    return numbers


def _conditions(backends: Sequence[BackendCandidates]) -> list[tuple[Expression, list[int]]]:
    """Return every condition, with the numbers of the backends that it decides about."""
    found: dict[int, tuple[Expression, list[int]]] = {}
    for number, backend in enumerate(backends):
        of_backend = {id(c): c for option in backend.options.values() for c in option.conditions}
        for key, condition in of_backend.items():
            found.setdefault(key, (condition, []))[1].append(number)
    return list(found.values())
