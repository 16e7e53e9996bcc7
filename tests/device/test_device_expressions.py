"""`device/evaluate.h`: expressions have the values and the explanations that they have in Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from device_expressions import check_same_explanations
from device_programs import SANITIZED, device_program

explainer = device_program("explain_expressions.cpp", "-O1", *SANITIZED)
"""The program that explains all expressions of a bundle, with sanitizers."""


class TestRandomExpressions:
    """The result of an expression, its missing facts, its fault and its explanation are those of Python."""

    def test_they_have_the_results_of_python(self, explainer: Path, tmp_path: Path) -> None:
        check_same_explanations([str(explainer)], tmp_path, 2_000)

    @pytest.mark.weekly
    @pytest.mark.timeout(900)
    def test_10000_have_the_results_of_python(self, explainer: Path, tmp_path: Path) -> None:
        check_same_explanations([str(explainer)], tmp_path, 10_000)
