"""The facts on which the options of method instances depend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from etconfig.base.option_path import OptionPath
from etconfig.base.provenance import Sourced
from etconfig.expression import Expression
from etconfig.profile.dependencies import Dependencies, dependencies_on
from etconfig.profile.layer import UNSET, Layer
from etconfig.resolver.deciding.advice import AdviceEntries, CheckedAdvice
from etconfig.resolver.deciding.backend_candidates import BackendCandidates
from etconfig.resolver.deciding.instance_resolver import MethodInstance
from etconfig.resolver.deciding.option_candidates import Candidate, OptionCandidates


def all_dependencies(
    instances: Mapping[MethodInstance, Sequence[BackendCandidates]], layers: Iterable[Layer]
) -> Dependencies:
    """Return what decides any option of any method instance."""
    distinct = {id(backend): backend for backends in instances.values() for backend in backends}
    options = {id(option): option for each in distinct.values() for option in each.options.values()}
    functions = {each.spec.id for each in distinct.values() if each.spec.recommend is not None}
    return _gathered(options.values(), _by_hand(layers), functions)


def dependencies_by_option(
    instances: Mapping[MethodInstance, Sequence[BackendCandidates]], layers: Iterable[Layer]
) -> dict[str, Dependencies]:
    """Return what decides each option, by its path in one method instance."""
    by_hand = _by_hand(layers)
    known: dict[int, Dependencies] = {}
    found: dict[str, Dependencies] = {}
    for (method, instance), backends in instances.items():
        for backend in backends:
            for name, option in backend.options.items():
                if id(option) not in known:
                    is_advised = backend.spec.recommend is not None and _shows_baseline(option)
                    functions = [backend.spec.id] if is_advised else []
                    known[id(option)] = _gathered([option], by_hand, functions)
                found[str(OptionPath(backend.spec.id, name, method, instance))] = known[id(option)]
    return found


def _by_hand(layers: Iterable[Layer]) -> dict[str, Sourced[object]]:
    return {name: value for layer in layers for name, value in layer.facts.items()}


def _gathered(
    options: Iterable[OptionCandidates], by_hand: Mapping[str, Sourced[object]], functions: Iterable[str]
) -> Dependencies:
    conditions: list[Expression] = []
    values: list[str] = []
    advice: list[str] = []
    for option in options:
        entries = _deciding_advice(option)
        decisive: tuple[CheckedAdvice | Candidate, ...] = (*entries, *option.effective)
        conditions += [each.condition for each in decisive if each.condition is not None]
        for each in decisive:
            values += each.value.facts if isinstance(each.value, Expression) else ()
        if option.info.from_fact is not None and _shows_baseline(option):
            values.append(option.info.from_fact)
        advice += [fact for entry in entries for fact in entry.facts]
    return dependencies_on(
        conditions, computed_from=values, advice=advice, functions=functions, by_hand=by_hand
    )


def _deciding_advice(option: OptionCandidates) -> AdviceEntries:
    return option.advice if option.advice and _shows_baseline(option) else ()


def _shows_baseline(option: OptionCandidates) -> bool:
    """Return True if the recommendation, the program's value or the default may count on some device.

    Tables are merged into what lies below them, and `unset` shows it again.
    """
    if not option.effective or option.effective[0].condition is not None:
        return True
    lowest = option.effective[0].value
    return isinstance(lowest, dict) or any(each.value is UNSET for each in option.effective)
