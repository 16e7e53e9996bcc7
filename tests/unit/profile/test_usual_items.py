"""Usual values and items of facts: conditions with misspelt ones are refused, others are warnings."""

from __future__ import annotations

import json

import pytest
from profile_texts import fact, problems_of

from etconfig.expression import ExpressionType, parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.json_schema import sheet_schema
from etconfig.facts.registry import FactRegistry, FactType
from etconfig.profile.condition_checks import ConditionChecker

INFO = fact("acme.providers", FactType.STRING_LIST, choices=("cpu", "cuda", "tensorrt"))
REGISTRY = FactRegistry((INFO,))


@pytest.mark.parametrize(
    ("word", "meant"),
    [("cdua", "cuda"), ("CUDA", "cuda"), ("tensor_rt", "tensorrt"), ("tensort", "tensorrt")],
)
def test_a_misspelt_item_is_refused(word: str, meant: str) -> None:
    (problem,) = problems_of(
        lambda: parse_expression(f"'{word}' in acme.providers", REGISTRY, expect=ExpressionType.BOOL)
    )
    assert problem.message == f"acme.providers is never {word!r}"
    assert problem.help == f"did you mean {meant!r}?"


@pytest.mark.parametrize("word", ["cpu", "cuda", "acme", "gpu", "npu"])
def test_any_other_item_is_allowed(word: str) -> None:
    condition = parse_expression(f"'{word}' in acme.providers", REGISTRY, expect=ExpressionType.BOOL)
    assert condition.evaluate({"acme.providers": (word,)}) is True


def test_a_list_may_have_other_items() -> None:
    assert INFO.check(["acme", "cpu"]) == ("acme", "cpu")
    assert "tensorrt" not in json.dumps(sheet_schema(REGISTRY))


def unusual(text: str, registry: FactRegistry) -> list[tuple[str, str | None]]:
    condition = parse_expression(text, registry, expect=ExpressionType.BOOL)
    found = ConditionChecker(registry).problems([condition])
    assert {(each.code, each.is_error) for each in found} <= {("unusual-value", False)}
    return [(each.message, each.help) for each in ConditionChecker(registry).problems([condition])]


def test_another_item_is_a_warning_that_lists_the_usual_ones() -> None:
    help = "write one of cpu, cuda, tensorrt, unless your devices have it"
    assert unusual("'gpu' in acme.providers || 'cpu' in acme.providers", REGISTRY) == [
        ("acme.providers usually has no item 'gpu'", help)
    ]


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ('os.name == "embedded"', ["os.name is usually not 'embedded'"]),
        ('"embedded" != os.name', ["os.name is usually not 'embedded'"]),
        ('os.name in ["linux", "dos"] && has(cpu.arch)', ["os.name is usually not 'dos'"]),
        ('!(cpu.arch in ["vax", "pdp"])', ["cpu.arch is usually not 'vax'", "cpu.arch is usually not 'pdp'"]),
        ('os.name in ["linux", "qnx"] && cpu.arch == "riscv32" && cpu.model == "a"', []),
    ],
)
def test_another_system_or_architecture_is_a_warning(condition: str, values: list[str]) -> None:
    assert [message for message, _ in unusual(condition, BUILTIN_FACTS)] == values


@pytest.mark.parametrize(
    ("condition", "word", "meant"),
    [
        ('os.name == "andriod"', "andriod", "android"),
        ('os.name in ["linux", "window"]', "window", "windows"),
        ('cpu.arch != "x86_46"', "x86_46", "x86_64"),
    ],
)
def test_a_misspelt_system_or_architecture_is_refused(condition: str, word: str, meant: str) -> None:
    (problem,) = problems_of(lambda: parse_expression(condition, BUILTIN_FACTS, expect=ExpressionType.BOOL))
    assert problem.message.endswith(f"is never {word!r}")
    assert problem.help == f"did you mean {meant!r}?"
