"""The services of the built-in executor answer a library as the table of cases says."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_libraries import compile_library
from c_service_cases import CASES, outcome


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_library("services", tmp_path_factory.mktemp("services"))


@pytest.mark.parametrize("case", CASES)
def test_a_case(library: Path, case: str) -> None:
    assert outcome(library, case, "numpy") == CASES[case]
