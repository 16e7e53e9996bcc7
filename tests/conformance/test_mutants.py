"""Tests of the kit itself: each check has a backend that fails it, and others only for the same cause."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from mutants import all_mutants
from mutants.mutant import subject_of
from mutations import sharded

from etconfig.conformance.checks import imports
from etconfig.conformance.checks.check_catalog import all_checks
from etconfig.conformance.kit.outcomes import Outcome
from etconfig.conformance.runner.runner import run_check

MUTANTS = all_mutants()
CHECKS = {check.id: check for check in all_checks()}

SHARED_OUT = sharded([*MUTANTS])
"""A quarter of the mutants for each Python, and all of them weekly."""

PROCESSES = [
    check.id for check in CHECKS.values() if check.is_isolated or check.run.__module__ == imports.__name__
]
"""Checks that start a process, which takes about a second."""

TURNS = 6
"""Each mutant runs one of so many of these checks, and each of them sees one of so many mutants."""

BAD = {Outcome.FAILED, Outcome.CRASHED, Outcome.TIMED_OUT}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory on the search path; modules that were imported from it are removed afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before, threads = set(sys.modules), set(threading.enumerate())
    yield tmp_path
    left = [each.name for each in set(threading.enumerate()) - threads if not each.daemon]
    assert left == [], "this process would wait for these threads when it ends"
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


class TestMutants:
    """Every check fails its mutant, and reports what it saw."""

    def test_every_check_has_a_mutant(self):
        assert {mutant.check for mutant in MUTANTS.values()} == set(CHECKS)

    @pytest.mark.parametrize("place", SHARED_OUT)
    def test_it_fails_its_check(self, place: str, installed: Path):
        mutant = MUTANTS[place]
        result = run_check(CHECKS[mutant.check], subject_of(mutant.install(installed, place)), {})
        assert result.outcome in BAD, result
        assert re.search(mutant.message, result.message or ""), result.message

    @pytest.mark.weekly
    @pytest.mark.filterwarnings("ignore:etconfig:DeprecationWarning")  # a mutant uses what is deprecated
    @pytest.mark.parametrize("place", MUTANTS)
    def test_it_fails_nothing_else(self, place: str, installed: Path):
        mutant = MUTANTS[place]
        subject = subject_of(mutant.install(installed, place))
        turn = list(MUTANTS).index(place)
        left_out = {each for at, each in enumerate(PROCESSES) if (at + turn) % TURNS}
        others = [check for check in CHECKS.values() if check.id not in {mutant.check, *left_out}]
        results = [run_check(each, subject, {}) for each in others]
        failed = {each.check_id: each.message or "" for each in results if not each.outcome.is_good}
        if mutant.elsewhere is None:
            assert failed == {}
        else:
            assert failed, "declare `elsewhere` only for a defect that fails other checks, too"
            unexplained = {
                name: text for name, text in failed.items() if not re.search(mutant.elsewhere, text)
            }
            assert unexplained == {}
