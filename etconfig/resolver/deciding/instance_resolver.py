"""`InstanceResolver`: resolves all method instances on a device, and remembers the last result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.errors import OptionError
from etconfig.resolver.deciding.arguments import ANY_METHOD, Arguments, BackendArguments, instance_label
from etconfig.resolver.deciding.backend_candidates import BackendCandidates, BackendResult
from etconfig.resolver.deciding.device_view import DeviceView
from etconfig.resolver.deciding.recommendation import Recommendation, recommend
from etconfig.schema.coerce import show_value
from etconfig.schema.declaration import Scope
from etconfig.schema.spec import BackendSpec

MethodInstance: TypeAlias = "tuple[str, str | None]"
"""A method and one of its instances; None is the default instance."""

_NO_RECOMMENDATION = Recommendation()


def process_conflicts(
    resolved: Iterable[Arguments], options: Iterable[tuple[str, str]]
) -> Iterator[Diagnostic]:
    """Yield a problem for each method instance that disagrees with an earlier one on one of `options`.

    A default for any other method does not count: there may be no other method.
    """
    resolved = tuple(resolved)
    for backend, option in options:
        sharing = [a for a in resolved if backend in a and not _is_mere_default(a, backend, option)]
        for other in sharing[1:]:
            values = [getattr(arguments[backend], option) for arguments in (sharing[0], other)]
            if values[0] != values[1]:
                yield _conflict(backend, option, zip((sharing[0], other), values, strict=True))


def _is_mere_default(arguments: Arguments, backend: str, option: str) -> bool:
    return arguments.method == ANY_METHOD and arguments.backends[backend].is_default(option)


def _conflict(backend: str, option: str, sides: Iterable[tuple[Arguments, object]]) -> Diagnostic:
    sides = tuple(sides)
    notes = (f"{a.label}: {show_value(value)}, from {a.origin(backend, option)}" for a, value in sides)
    places = [arguments.backends[backend].place_of(option) for arguments, _ in sides]
    who = " and ".join(
        a.label if place is None else f"{a.label} ({place.place})"
        for (a, _), place in zip(sides, places, strict=True)
    )
    return Diagnostic(
        code="process-scope-conflict",
        message=f"{backend}.{option} applies to the whole process, but {who} disagree on it",
        spans=tuple(dict.fromkeys(place for place in places if place is not None)),
        notes=tuple(notes),
        help=f"set {backend}.{option} to one value for all methods",
    )


@record(frozen=True, kw_only=True)
class InstanceResults:
    """The results of a resolve that succeeded.

    Attributes:
        values: The values of the facts of the device, which do not change.
        facts: The values of the facts that the results depend on.
        recommendations: The recommendations of vendors' functions, by backend id.
        arguments: The arguments of the method instances that have them.
        incomplete: The problems of the others.
    """

    values: Mapping[str, object]
    facts: tuple[object, ...]
    recommendations: Mapping[str, Recommendation]
    arguments: Mapping[MethodInstance, Arguments]
    incomplete: Mapping[MethodInstance, Sequence[Diagnostic]]


@dataclass
class Memo:
    """The last results, if there were any. They do not pickle: a copy of a resolver starts with none.

    Results never change once they are made, and a memo takes new ones by a single assignment. So threads need
    no lock: the worst that a race can do is to compute something twice.
    """

    last: InstanceResults | None = None
    budget: tuple[InstanceResults, Mapping[str, object], tuple[Diagnostic, ...]] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return Memo, ()


class InstanceResolver:
    """The backends of all method instances.

    Method instances with the same assignments share a `BackendCandidates`, which is resolved once for all of
    them.

    Args:
        instances: The backends of each method instance.
    """

    def __init__(self, instances: Mapping[MethodInstance, Sequence[BackendCandidates]]) -> None:
        self._instances = instances
        self._with_named = {method for method, instance in instances if instance is not None}
        distinct = {id(backend): backend for backends in instances.values() for backend in backends}
        self._backends = tuple(distinct.values())
        specs = {backend.spec.id: backend.spec for backend in self._backends}
        self._recommending = [spec for spec in specs.values() if spec.recommend is not None]
        self._process_options = tuple(
            (spec.id, name)
            for spec in specs.values()
            for name, info in spec.options.option_infos().items()
            if info.scope is Scope.PROCESS
        )
        options = (option for backend in self._backends for option in backend.options.values())
        self._facts = tuple(sorted({fact for option in options for fact in option.facts}))

    def resolve(self, values: Mapping[str, object], last: InstanceResults | None) -> InstanceResults:
        """Return the arguments on a device with these facts; `last` if the facts that decide are the same.

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
        known = {} if last is None else last.recommendations
        recommendations = {
            spec.id: _recommend(spec, values, known.get(spec.id)) for spec in self._recommending
        }
        if last is not None and (last.facts, last.recommendations) == (facts, recommendations):
            return last
        device = DeviceView({n: v for n, v in zip(self._facts, facts, strict=True) if v is not None})
        results = {
            id(backend): backend.resolve(device, recommendations.get(backend.spec.id, _NO_RECOMMENDATION))
            for backend in self._backends
        }
        arguments: dict[MethodInstance, Arguments] = {}
        incomplete: dict[MethodInstance, Sequence[Diagnostic]] = {}
        errors: list[Diagnostic] = []
        for (method, instance), backends in self._instances.items():
            found = _gathered(method, instance, {each.spec.id: results[id(each)] for each in backends})
            if isinstance(found, Arguments):
                arguments[method, instance] = found
            elif self._is_template(method, instance, found):
                incomplete[method, instance] = found
            else:
                errors += found
        if self._process_options:
            errors += process_conflicts(arguments.values(), self._process_options)
        if errors:
            raise OptionError(diagnostics=tuple(dict.fromkeys(errors)))
        return InstanceResults(
            values=values,
            facts=facts,
            recommendations=recommendations,
            arguments=arguments,
            incomplete=incomplete,
        )

    def _is_template(self, method: str, instance: str | None, problems: Sequence[Diagnostic]) -> bool:
        """Return True for a default instance that only serves the named ones, and so may lack options."""
        has_named = method in self._with_named
        return instance is None and has_named and all(d.code == "missing-option" for d in problems)


def _recommend(
    spec: BackendSpec, values: Mapping[str, object], known: Recommendation | None
) -> Recommendation:
    """Return a vendor's recommendation; the known one if it was made from the same facts."""
    return known if known is not None and known.applies_to(values) else recommend(spec, values)


def _gathered(
    method: str, instance: str | None, results: Mapping[str, BackendResult]
) -> Arguments | Sequence[Diagnostic]:
    """Return the arguments of a method instance, or all of its problems."""
    found: dict[str, BackendArguments] = {}
    problems: list[Diagnostic] = []
    for backend, result in results.items():
        if isinstance(result, BackendArguments):
            found[backend] = result
        else:
            problems += (_placed(problem, method, instance) for problem in result)
    return problems or Arguments(method=method, instance=instance, backends=found)


def _placed(problem: Diagnostic, method: str, instance: str | None) -> Diagnostic:
    """Return the problem, with a note that names the method instance if the problem points at no text."""
    if problem.spans:
        return problem
    where = "any method" if method == ANY_METHOD else instance_label(method, instance)
    return replace(problem, notes=(*problem.notes, f"for {where}"))
