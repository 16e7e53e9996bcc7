"""A bundle decides what the resolver decides: the profile, every value, its type and origin, or the error."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from effort import seeds
from random_bundles import RandomStack, random_stack, sheet
from random_expressions import random_facts

from etconfig.device.deciding.bundle_results import BundleResolution
from etconfig.device.deciding.decision import DecidedOption
from etconfig.errors import ConfigError


def rows_of(resolution: BundleResolution) -> object:
    return [
        (
            slot.method,
            slot.instance,
            backend,
            {
                name: (option.value, option.origin)
                for name, option in options.items()
                if isinstance(option, DecidedOption)
            },
        )
        for slot in resolution.slots
        for backend, options in slot.backends.items()
    ]


def with_types(value: object) -> object:
    """A value with the types of all parts, since 1, 1.0 and True are equal."""
    if isinstance(value, (list, tuple)):
        return [with_types(item) for item in value]
    if isinstance(value, dict):
        return [(key, with_types(item)) for key, item in value.items()]
    return type(value), value


def decided(stack: RandomStack, profile: str, facts: dict[str, object]) -> object:
    try:
        return rows_of(stack.bundle.resolve(sheet(facts), profile))
    except ConfigError as error:
        return {each.code for each in error.diagnostics}


def selected(stack: RandomStack, facts: dict[str, object]) -> str:
    try:
        return stack.bundle.select(sheet(facts)).profile
    except ConfigError as error:
        return f"error {error.diagnostics[0].code}"


@pytest.mark.parametrize("seed", seeds(1))
def test_a_bundle_decides_as_the_resolver_does(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    outcomes = {"selected": 0, "resolved": 0, "failed": 0}
    for number in range(400):
        if number >= 100 and all(count > 20 for count in outcomes.values()):
            break
        stack = random_stack(random, tmp_path)
        for _ in range(3):
            facts = random_facts(random)
            expected = stack.selected(facts)
            assert selected(stack, facts) == expected, facts
            outcomes["selected"] += not expected.startswith("error")
            for profile in stack.resolvers:
                wanted, found = stack.resolved(profile, facts), decided(stack, profile, facts)
                assert with_types(found) == with_types(wanted), (profile, facts)
                outcomes["failed" if isinstance(wanted, set) else "resolved"] += 1
    assert all(count > 20 for count in outcomes.values()), outcomes
