"""Expressions for options that are one of a few integers: accepted if every branch is one of them."""

from __future__ import annotations

from itertools import product
from typing import Literal

from etconfig.expression import parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, option
from etconfig.resolver.proving.expression_fit import ExpressionVerifier

CHOICES = {1, 2, 4, 12}


class Lanes(BackendOptions):
    """One option that is a choice."""

    lanes: Literal[1, 2, 4, 12] = option(2, applies="load", doc="Lanes.")


SPEC = BackendSpec(id="LanesBackend", doc="Lanes.", options=Lanes, api=ApiRange(1, 1))
CORES = "cpu.available_cores > 4"
WRITTEN = {
    "{a}": lambda a, b: {a},
    f"{CORES} ? {{a}} : {{b}}": lambda a, b: {a, b},
    f"min({CORES} ? {{a}} : {{b}}, 4)": lambda a, b: {min(a, 4), min(b, 4)},
    f"({CORES} ? {{a}} : {{b}}) * (cpu.arch == 'arm64' ? 2 : 1)": lambda a, b: {a, b, 2 * a, 2 * b},
    f"{CORES} ? {{a}} : cpu.arch == 'arm64' ? {{b}} : 12": lambda a, b: {a, b, 12},
    f"({CORES} ? {{a}} : {{b}}) / (cpu.arch == 'arm64' ? 2 : 1)": lambda a, b: {a, b, a // 2, b // 2},
}
"""Expressions, and the values that they have on some device."""


def test_an_expression_is_doubted_if_one_of_its_values_is_not_a_choice() -> None:
    wrong = []
    info = SPEC.options.option_infos()["lanes"]
    for (pattern, values), a, b in product(WRITTEN.items(), range(1, 6), range(1, 6)):
        text = pattern.format(a=a, b=b)
        expression = parse_expression(text, BUILTIN_FACTS)
        codes = [
            each.code for each in ExpressionVerifier(BUILTIN_FACTS).problems(SPEC, info, expression, None)
        ]
        possible = values(a, b)
        expected = (
            [] if possible <= CHOICES else ["unproven-value"] if possible & CHOICES else ["invalid-value"]
        )
        if codes != expected:
            wrong.append((text, codes, expected))
    assert not wrong


def test_a_condition_narrows_a_fact_to_the_integers_that_it_lists() -> None:
    info = SPEC.options.option_infos()["lanes"]
    verifier = ExpressionVerifier(BUILTIN_FACTS)
    value = parse_expression("cpu.available_cores", BUILTIN_FACTS)
    for condition, codes in (
        ("cpu.available_cores in [1, 4]", []),
        ("cpu.available_cores == 12 || cpu.available_cores == 1", []),
        ("cpu.available_cores in [1, 3]", ["unproven-value"]),
        ("cpu.available_cores in [3, 5]", ["invalid-value"]),
        ("cpu.available_cores in [1, 3] && cpu.available_cores < 2", []),
    ):
        found = verifier.problems(SPEC, info, value, parse_expression(condition, BUILTIN_FACTS))
        assert [each.code for each in found] == codes, condition
