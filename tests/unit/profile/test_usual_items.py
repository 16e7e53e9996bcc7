"""Items of a fact that is a list: misspelt usual ones are refused in conditions, unusual ones are not."""

from __future__ import annotations

import json

import pytest
from profile_texts import fact, problems_of

from etconfig.facts.json_schema import sheet_schema
from etconfig.facts.registry import FactRegistry, FactType
from etconfig.profile import ExpressionType, parse_expression

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
