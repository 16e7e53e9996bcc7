from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cel_cases import assert_agrees
from every import every

CASES = json.loads((Path(__file__).parents[2] / "data/cel_oracle.json").read_text(encoding="utf-8"))


class TestCelOracle:
    """The language is a strict subset of CEL: Google's implementation gives the same values."""

    @every("case", CASES, ids=range(len(CASES)))
    def test_an_expression_has_the_value_that_cel_gives(self, case: dict[str, Any]) -> None:
        assert_agrees(case)

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
