from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from profile_texts import fact

from etconfig.facts.registry import FactRegistry, FactType
from etconfig.profile import Fault, Unknown, parse_expression

CASES = json.loads((Path(__file__).parents[2] / "data/cel_oracle.json").read_text(encoding="utf-8"))
FACT_TYPES = {
    "bool": FactType.BOOL,
    "int": FactType.INT,
    "float": FactType.FLOAT,
    "string": FactType.STRING,
    "list": FactType.STRING_LIST,
}
REGISTRY = FactRegistry(
    tuple(
        fact(f"x.{name}{number}", fact_type) for name, fact_type in FACT_TYPES.items() for number in range(3)
    )
)


class TestCelOracle:
    """The language is a strict subset of CEL: Google's implementation gives the same values."""

    @pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
    def test_an_expression_has_the_value_that_cel_gives(self, case: dict[str, Any]) -> None:
        facts = {
            name: tuple(value) if isinstance(value, list) else value for name, value in case["facts"].items()
        }
        result = parse_expression(case["expression"], REGISTRY).evaluate(facts)
        if "value" in case:
            assert repr(result) == repr(case["value"])  # tells 1 from 1.0 and True, and knows nan
        else:
            assert isinstance(result, (Unknown, Fault))

    def test_the_cases_are_of_every_kind(self) -> None:
        kinds = [type(case.get("value")).__name__ for case in CASES]
        assert {kind for kind in set(kinds) if kinds.count(kind) >= 15} == {
            "bool",
            "int",
            "float",
            "str",
            "list",
            "NoneType",
        }
