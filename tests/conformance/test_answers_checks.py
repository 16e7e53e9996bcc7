"""The checks of answers and shapes: behavior that their mutants do not show."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from kit_checks import Fronted, Zeros, subject
from mutants.mutant import output_of

from etconfig.backend import ExecuteContext, Value
from etconfig.conformance.checks import answers, execute_arguments, lifecycle, resources, shapes
from etconfig.conformance.checks.check_catalog import checks_of
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError

CHECKS = checks_of(answers, lifecycle, resources, execute_arguments, shapes)
BY_ID = {check.id: check for check in CHECKS}


class OtherBitsAfterLoad(Interposer):
    """Rounds differently in each load."""

    _numbers = count()

    def __init__(self) -> None:
        self._factor = 1 + next(self._numbers) % 2 * 1e-6

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        output_of(args)[...] *= self._factor


class TestAnswers:
    """Wrong answers, missing programs and differing bits are reported."""

    def test_precision_is_not_measured_on_wrong_answers(self):
        with pytest.raises(
            CheckFailedError, match="no answer is right, so their precision cannot be measured"
        ):
            answers.tolerance.run(Fronted(Zeros))

    def test_a_declared_dtype_without_a_program_is_named_with_the_program(self, tmp_path: Path):
        without = Fronted(Interposer, dtypes=frozenset({"float32", "int8"}), precision=None)
        without.programs = {"add": subject().programs["add"]}  # type: ignore[misc]  # a cached property
        with pytest.raises(
            CheckFailedError, match=r"^int8 is declared, but no golden program .* such as add_int8\.pte"
        ):
            answers.dtype_matrix.run(without)

    def test_a_dtype_without_a_case_is_skipped(self):
        answers.dtype_matrix.run(Fronted(Interposer, dtypes=frozenset({"float32", "uint16"}), precision=None))

    def test_a_backend_without_float32_is_checked_in_its_own_dtypes(self):
        half = Fronted(Interposer, dtypes=frozenset({"float16"}), precision=None)
        answers.answers.run(half)
        with pytest.raises(NotApplicableError, match=r"the kit has no such case for the capabilities of"):
            answers.signature.run(half)

    def test_different_bits_after_another_load_are_reported(self):
        with pytest.raises(CheckFailedError, match=r"add\.forward: run 11 gave other bits than run 1"):
            answers.determinism.run(Fronted(OtherBitsAfterLoad))
