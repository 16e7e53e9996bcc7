"""The kit is tested itself: for every check there is a backend that fails it, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mutants import all_mutants
from mutants.mutant import subject_of

from etconfig.conformance.check import Outcome
from etconfig.conformance.checks import all_checks
from etconfig.conformance.running import run_check

MUTANTS = all_mutants()
CHECKS = {check.id: check for check in all_checks()}

BAD = {Outcome.FAILED, Outcome.CRASHED, Outcome.TIMED_OUT}


class TestMutants:
    """Every check fails its mutant, and says what it saw."""

    def test_every_check_has_a_mutant(self):
        assert {mutant.check for mutant in MUTANTS.values()} == set(CHECKS)

    @pytest.mark.parametrize("place", MUTANTS)
    def test_it_fails_its_check(self, place: str, tmp_path: Path):
        mutant = MUTANTS[place]
        result = run_check(CHECKS[mutant.check], subject_of(mutant.install(tmp_path, place)), {})
        assert result.outcome in BAD, result
        assert re.search(mutant.message, result.message or ""), result.message

    @pytest.mark.peers
    @pytest.mark.parametrize("place", MUTANTS)
    def test_it_fails_nothing_else(self, place: str, tmp_path: Path):
        mutant = MUTANTS[place]
        subject = subject_of(mutant.install(tmp_path, place))
        others = [check for check in CHECKS.values() if check.id != mutant.check]
        failed = {each.id: run_check(each, subject, {}).message for each in others}
        assert {name: message for name, message in failed.items() if message} == {}
