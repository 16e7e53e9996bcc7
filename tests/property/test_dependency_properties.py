"""Declared dependencies are complete: no other fact changes a decision. Choosing by truth is selecting."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
from device_stacks import Stack
from effort import seeds
from random_expressions import REGISTRY, random_facts

from etconfig.errors import EtconfigError
from etconfig.facts.sheet import FactSheet
from etconfig.profile.selection import Dependencies, Selection
from etconfig.profile.selector import ProfileSelector
from etconfig.resolver.compiling.resolver import Resolver
from etconfig.resolver.explaining.difference import reported_values

Facts = Mapping[str, object]


def sound_stack(random: Random, directory: Path) -> Stack:
    """The first random stack whose profiles can be read and do not contradict each other."""
    for number in range(20):
        inside = directory / str(number)
        inside.mkdir()
        try:
            stack = Stack(random, inside)
            stack.content()
        except EtconfigError:
            continue
        return stack
    raise AssertionError("no random stack is sound")


def sheet(facts: Facts) -> FactSheet:
    return FactSheet.from_values(facts, "test", REGISTRY)


def outcome(resolver: Resolver, facts: Facts) -> object:
    """Every value with its origin, or the problems."""
    try:
        resolution = resolver.resolve(sheet(facts))
    except EtconfigError as error:
        return [str(problem) for problem in error.diagnostics]
    values = {path: (each.value, each.origin) for path, each in reported_values(resolution).items()}
    return resolution.fingerprint(), values, [str(each) for each in resolution.warnings]


def signature(needs: Dependencies, facts: Facts) -> object:
    """All of a device that counts, according to its dependencies."""
    known = {**facts, **{name: each.value for name, each in needs.by_hand.items()}}
    truths = tuple(condition.evaluate(known) is True for condition in needs.conditions)
    return truths, tuple(known.get(name) for name in needs.computed_from)


def with_others_changed(random: Random, facts: Facts, kept: frozenset[str]) -> Facts:
    """The same device, with new values of all facts that are not kept."""
    new = random_facts(random)
    return {name: value for name, value in new.items() if name not in kept} | {
        name: value for name, value in facts.items() if name in kept
    }


@pytest.mark.parametrize("seed", seeds(15))
def test_no_fact_beside_the_dependencies_changes_a_resolution(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    stack = sound_stack(random, tmp_path)
    for resolver in stack.resolvers.values():
        needs = resolver.dependencies
        assert needs.is_complete
        for _ in range(25):
            facts = random_facts(random)
            assert outcome(resolver, facts) == outcome(
                resolver, with_others_changed(random, facts, needs.facts)
            )


@pytest.mark.parametrize("seed", seeds(8))
def test_devices_of_one_signature_get_the_same_values(seed: int, tmp_path: Path) -> None:
    random = Random(f"signature {seed}")
    stack = sound_stack(random, tmp_path)
    for resolver in stack.resolvers.values():
        found: dict[object, object] = {}
        for _ in range(60):
            facts = random_facts(random)
            result = outcome(resolver, facts)
            if isinstance(result, tuple):  # messages of errors show the values of facts
                first = found.setdefault(signature(resolver.dependencies, facts), result)
                assert first == result


def selected(select: object, *arguments: object, **options: object) -> object:
    """The selection without its reasons, or the code of the problem."""
    try:
        found = select(*arguments, **options)  # type: ignore[operator]
    except EtconfigError as error:
        return [(each.code, each.message, each.notes, each.help) for each in error.diagnostics]
    assert isinstance(found, Selection)
    return [each.name for each in found.chain], found.is_fallback, [each.name for each in found.outranked]


@pytest.mark.parametrize("seed", seeds(15))
def test_choosing_by_the_truth_of_conditions_is_selecting_by_facts(seed: int, tmp_path: Path) -> None:
    random = Random(f"selecting {seed}")
    stack = sound_stack(random, tmp_path)
    selector = ProfileSelector(stack.library)
    kept = selector.dependencies.facts
    for _ in range(25):
        facts = random_facts(random)
        truths = {name: each.evaluate(facts) is True for name, each in selector.conditions.items()}
        expected = selected(selector.select, facts, require_match=stack.require_match)
        assert selected(selector.choose, truths, facts, require_match=stack.require_match) == expected
        without_facts = selected(selector.choose, truths, require_match=stack.require_match)
        if isinstance(expected, list):  # the notes of a problem explain it by facts
            assert isinstance(without_facts, list)
            assert [each[:2] for each in without_facts] == [each[:2] for each in expected]
        else:
            assert without_facts == expected
            other = with_others_changed(random, facts, kept)
            assert selected(selector.select, other, require_match=stack.require_match) == expected
