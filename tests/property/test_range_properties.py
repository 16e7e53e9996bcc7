"""Ranges and assumptions never rule out what a device shows, and rule out what simple reasoning can."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import pytest
from random_expressions import REGISTRY, random_condition, random_facts, random_value

from etconfig.errors import ProfileError
from etconfig.expression import Expression, Fault, Unknown, parse_expression
from etconfig.expression.proof.assumptions import Assumptions
from etconfig.expression.proof.ranges import (
    BoolRange,
    NumberRange,
    TextRange,
    ValueRange,
)
from etconfig.facts.builtin import BUILTIN_FACTS

NOTHING = Assumptions.none(REGISTRY)


def parsed(random: Random, write: Callable[[Random, int], str]) -> Expression:
    """A random expression that the checker accepts: it refuses words that a fact never is."""
    while True:
        try:
            return parse_expression(write(random, 2), REGISTRY)
        except ProfileError:
            continue


def holds(values: ValueRange, value: object) -> bool:
    """The definition of a range, written a second time."""
    if isinstance(values, NumberRange):
        assert isinstance(value, (int, float))
        assert not isinstance(value, bool)
        if math.isnan(value):
            return values.may_be_nan
        is_multiple = isinstance(value, float) or (value % values.step == 0 if values.step else value == 0)
        is_listed = values.numbers is None or value in values.numbers
        return values.lowest <= value <= values.highest and is_multiple and is_listed
    if isinstance(values, TextRange):
        return value in values.words if values.words is not None else value not in values.excluded
    if isinstance(values, BoolRange):
        return value in values.values
    assert isinstance(value, (list, tuple))
    return (
        values.shortest <= len(value) <= values.longest
        and values.contains <= set(value)
        and not values.lacks & set(value)
        and all(values.item is not None and holds(values.item, item) for item in value)
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_value_lies_in_the_range_of_its_expression(seed: int) -> None:
    random = Random(seed)
    for _ in range(50):
        expression = parsed(random, random_value)
        values = NOTHING.range_of(expression.tree)
        for _ in range(20):
            value = expression.evaluate(random_facts(random))
            if not isinstance(value, (Unknown, Fault)):
                assert values is not None, expression
                assert holds(values, value), (str(expression), values, value)


@pytest.mark.parametrize("seed", range(20))
def test_a_device_that_meets_conditions_contradicts_no_assumption(seed: int) -> None:
    random = Random(1000 + seed)
    for _ in range(20):
        conditions = [parsed(random, random_condition) for _ in range(3)]
        value = parsed(random, random_value)
        for _ in range(20):
            facts = random_facts(random)
            met = [condition.evaluate(facts) is True for condition in conditions]
            assumed = NOTHING.assume_all(zip([c.tree for c in conditions], met, strict=True))
            shown = (*map(str, conditions), met, facts)
            assert assumed is not None, shown
            for name, values in assumed.ranges.items():
                assert name in facts, shown
                assert holds(values, facts[name]), (name, values, *shown)
            for name, is_known in assumed.known.items():
                assert (name in facts) is is_known, (name, *shown)
            result = value.evaluate(facts)
            if not isinstance(result, (Unknown, Fault)):
                values_then = assumed.range_of(value.tree)
                assert values_then is not None, (str(value), *shown)
                assert holds(values_then, result), (str(value), values_then, result, *shown)


@pytest.mark.parametrize(
    "conditions",
    [
        ["a.cores > 4", "a.cores < 3"],
        ["a.cores < 1"],
        ["a.level > 0.5", "a.level <= 0.5"],
        ["a.source == 'mains'", "a.source == 'battery'"],
        ["a.source != 'mains'", "a.source != 'battery'"],
        ["a.model == 'pi'", "a.model != 'pi'"],
        ["a.model in ['pi', 'pixel']", "a.model == 'mains'"],
        ["a.model == 'mains'", "a.model.startsWith('pi')"],
        ["a.model.startsWith('pi')", "a.model == 'mains'"],
        ["'pi' in a.features", "!('pi' in a.features)"],
        ["'pi' in a.features", "size(a.features) == 0"],
        ["has(a.cores)", "!has(a.cores)"],
        ["!has(a.cores)", "a.cores > 1"],
        ["a.cores > a.offset", "a.cores <= a.offset"],
        ["a.is_hot && a.cores > 4", "!a.is_hot || a.cores < 4"],
        ["a.slow + a.cores < 1"],
        ["min(a.cores, 4) > 4"],
        ["a.cores * 2 == a.slow", "a.cores > 2"],
    ],
)
def test_contradictions_of_single_facts_are_found(conditions: list[str]) -> None:
    trees = [parse_expression(condition, REGISTRY).tree for condition in conditions]
    assert NOTHING.assume_all((tree, True) for tree in trees) is None


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("min(a.cores, 4)", NumberRange(1, 4)),
        ("max(1, a.slow - 1)", NumberRange(1, 3)),
        ("a.slow * 64", NumberRange(0, 256, 64)),
        ("a.cores > 4 ? 4 : a.cores", NumberRange(1, 4)),
        ("a.source == 'mains' ? 'high' : 'low'", TextRange(frozenset(("high", "low")))),
        ("a.level / 2.0", NumberRange(0.0, 0.5)),
        ("-a.slow", NumberRange(-4, 0)),
        ("a.is_hot ? 4 : 1", NumberRange(1, 4, 1, numbers=frozenset((1, 4)))),
        ("max(a.is_hot ? 4 : 1, 2)", NumberRange(2, 4, 2)),
        ("7 / max(a.slow, 1)", NumberRange(1, 7, numbers=frozenset((1, 2, 3, 7)))),
        ("a.offset % 4", NumberRange(-3, 3)),
        ("size(['a', 'b'])", NumberRange(2, 2)),
    ],
)
def test_ranges_are_narrow_where_bounds_tell(expression: str, values: ValueRange) -> None:
    assert NOTHING.range_of(parse_expression(expression, REGISTRY).tree) == values


@pytest.mark.parametrize(
    "condition",
    [
        "cpu.quota_cores >= 1 && cpu.quota_cores < 2 && cpu.quota_cores * 2.0 > 2.5",
        "cpu.quota_cores >= 1 && cpu.quota_cores * 2.0 > 4.0",
        "cpu.quota_cores >= 1 ? cpu.quota_cores / 2.0 > 1.0 : false",
        "cpu.quota_cores >= 1 && min(cpu.quota_cores, 4.0) > 2.0",
        "thermal.max_celsius >= 50 && thermal.max_celsius < 51 && thermal.max_celsius - 50.0 > 0.2",
        "thermal.max_celsius >= 0 && -thermal.max_celsius < 1.0",
    ],
)
def test_a_float_that_is_compared_with_ints_has_values_between_them(condition: str) -> None:
    tree = parse_expression(condition, BUILTIN_FACTS).tree
    assert Assumptions.none(BUILTIN_FACTS).assume(tree, True) is not None
