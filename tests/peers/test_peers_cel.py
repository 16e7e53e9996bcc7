"""The condition language compared with Google's CEL itself, on random expressions."""

from __future__ import annotations

from collections import Counter

import pytest
from cel_cases import assert_agrees

pytestmark = pytest.mark.peers

CASE_COUNT = 10_000


class TestCel:
    """Ten thousand generated expressions have the values that cel-expr-python gives them."""

    def test_random_expressions_agree(self) -> None:
        import build_cel_oracle

        kinds: Counter[str] = Counter()
        for case in build_cel_oracle.cases(CASE_COUNT, seed=2):
            assert_agrees(case)
            kinds[type(case.get("value")).__name__] += 1
        assert all(kinds[kind] > CASE_COUNT / 50 for kind in ("bool", "int", "float", "str", "list"))
