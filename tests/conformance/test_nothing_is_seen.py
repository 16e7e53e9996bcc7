"""No check passes without having seen anything: without programs, or with a backend that computes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from kit_checks import Zeros, subject
from mutants.mutant import Mutant, subject_of

from etconfig.conformance.checks.check import Check
from etconfig.conformance.checks.check_catalog import all_checks
from etconfig.conformance.kit.outcomes import Outcome
from etconfig.conformance.runner.runner import run_here

LOADING = [check for check in all_checks() if check.level > 0]
"""The checks that load a program."""

OF_OTHER_THINGS = {"runs", "effect-visible", "scope-enforced", "errors-mapped", "zero-size"}
"""Checks that need no right answers: of options, errors, and tensors without elements."""


ZEROS = Mutant("answers", "off by", backend=Zeros)


def of_each(checks: Iterable[Check]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("check", [pytest.param(check, id=check.id) for check in checks])


NOT_GOOD = {outcome for outcome in Outcome if not outcome.is_good}


class TestNothingIsSeen:
    """A check that saw nothing does not pass."""

    @of_each(LOADING)
    def test_a_check_does_not_pass_without_programs(self, check: Check, tmp_path: Path):
        result = run_here(check, subject(programs=str(tmp_path)))
        undeclared = {name for name in check.requires if not subject().declares(name)}
        assert result.outcome is Outcome.UNDECLARED if undeclared else result.outcome in NOT_GOOD

    # isolated checks take long, and begin with answers that other checks cover, too
    @of_each(check for check in LOADING if not check.is_isolated)
    def test_a_check_does_not_pass_for_a_backend_that_answers_zeros(self, check: Check, tmp_path: Path):
        result = run_here(check, subject_of(ZEROS.install(tmp_path, f"{__name__}:ZEROS")))
        assert (result.outcome is Outcome.PASSED) == (check.id in OF_OTHER_THINGS), result
