"""Example facts for conditions: found where some device meets them, and nowhere else."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from random import Random

import pytest
from random_expressions import REGISTRY, random_condition

from etconfig.errors import ProfileError
from etconfig.expression import Expression, parse_expression
from etconfig.expression.proof.assumptions import Assumptions
from etconfig.expression.proof.example_facts import SearchLimitError, example_facts
from etconfig.facts.builtin import BUILTIN_FACTS

NOTHING = Assumptions.none(REGISTRY)


def example(*conditions: str) -> dict[str, object] | None:
    required = [(parse_expression(each, REGISTRY), True) for each in conditions]
    device = NOTHING.assume_all((condition.tree, True) for condition, _ in required)
    return None if device is None else example_facts(required, device)


@pytest.mark.parametrize(
    ("conditions", "facts"),
    [
        (["a.cores > 4"], {"a.cores": 5}),
        (["a.cores > 4", "a.cores < 6"], {"a.cores": 5}),
        (["a.level < 0.2"], {"a.level": 0.1}),
        (['a.source == "battery"'], {"a.source": "battery"}),
        (['a.model.startsWith("pi") && a.model.endsWith(" 5")'], {"a.model": "pi 5"}),
        (['"pi" in a.features && !("pixel" in a.features)'], {"a.features": ("pi",)}),
        (["size(a.features) > 1"], {"a.features": ("other-0", "other-1")}),
        (["!has(a.cores)"], {}),
        (["a.is_hot", "a.slow == 0"], {"a.is_hot": True, "a.slow": 0}),
    ],
)
def test_an_example_has_the_facts_that_the_conditions_need(
    conditions: list[str], facts: dict[str, object]
) -> None:
    assert example(*conditions) == facts


def test_conditions_that_contradict_each_other_have_no_example() -> None:
    assert example("a.cores in [2, 8]", "a.cores != 2", "a.cores != 8") is None


def test_a_search_that_gives_up_says_so() -> None:
    with pytest.raises(SearchLimitError):
        example("a.offset * a.offset == 12321", "a.offset > 0")


def parsed(random: Random) -> Expression:
    while True:
        try:
            return parse_expression(random_condition(random, 1), REGISTRY)
        except ProfileError:
            continue


@pytest.mark.parametrize("seed", range(10))
def test_an_example_meets_its_conditions_and_no_others(seed: int) -> None:
    random = Random(seed)
    for _ in range(50):
        required = [(parsed(random), random.random() < 0.6) for _ in range(3)]
        device = NOTHING.assume_all((condition.tree, is_met) for condition, is_met in required)
        if device is None:
            continue
        try:
            facts = example_facts(required, device)
        except SearchLimitError:
            continue
        if facts is not None:
            assert [condition.evaluate(facts) is True for condition, _ in required] == [
                is_met for _, is_met in required
            ]


def test_an_example_has_only_values_that_the_facts_accept() -> None:
    """A condition compares one of several facts with a text, which others of them cannot have."""
    refused = []
    texts = ("Pixel 8", "Linux", "aarch64", "darwin", "a\\nb", "\\u0007", "x")
    names = ("device.model", "cpu.model", "cpu.arch", "os.name", "power.source")
    for text, first, second in product(texts, names, names):
        for operator in ("==", "!="):
            condition = f'({first} == "x" ? {first} : {second}) {operator} "{text}"'
            with suppress(ProfileError):  # the checker refuses some comparisons by themselves
                expression = parse_expression(condition, BUILTIN_FACTS)
                for met in (True, False):
                    facts = found_facts(expression, met)
                    refused += [(condition, *each) for each in facts.items() if not is_accepted(*each)]
    assert not refused


def found_facts(expression: Expression, is_met: bool) -> dict[str, object]:
    nothing = Assumptions.none(BUILTIN_FACTS)
    device = nothing.assume_all([(expression.tree, is_met)])
    if device is None:
        return {}
    try:
        return example_facts([(expression, is_met)], device) or {}
    except SearchLimitError:
        return {}


def is_accepted(name: str, value: object) -> bool:
    info = BUILTIN_FACTS.get(name)
    assert info is not None
    try:
        info.check(value)
    except ValueError:
        return False
    return True
