"""`BackendConformance`: the kit under pytest, as vendors use it."""

from __future__ import annotations

import importlib
import re
import sys

import pytest

from etconfig.base.packages import how_to_install
from etconfig.conformance import BackendConformance
from etconfig.conformance.runner import suite

pytest_plugins = ("pytester",)

TESTS = """
import kit_checks
import pytest
from pathlib import Path
from etconfig.conformance import BackendConformance
from etconfig.conformance.runner import suite
from etconfig.conformance.checks.check import check

CHECKS = (
    kit_checks.made(kit_checks.passing, "passes", level=1),
    kit_checks.made(kit_checks.failing, "fails"),
    kit_checks.made(kit_checks.failing, "is-old"),
    kit_checks.made(kit_checks.passing, "is-mended"),
    kit_checks.made(kit_checks.failing, "is-bound", requires=("is_bound_to_host",)),
    kit_checks.made(kit_checks.failing, "is-later", since="1.9"),
    kit_checks.made(kit_checks.inapplicable, "is-beside"),
    kit_checks.made(kit_checks.undelegated, "is-left"),
    kit_checks.made(kit_checks.failing, "is-beyond", level=3),
)
suite.all_checks = lambda: CHECKS

class TestMine(BackendConformance):
    backend = "ReferenceCpuBackend"
    level = 2
    xfails = Path(__file__).parent / "xfails.txt"
"""


@pytest.fixture(autouse=True)
def restored_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what the inner test file does to the suite of this process."""
    monkeypatch.setattr(suite, "all_checks", suite.all_checks)


class TestSuite:
    """Each check is a test, and outcomes keep their meaning."""

    def test_outcomes_become_those_of_pytest(self, pytester: pytest.Pytester) -> None:
        pytester.makepyfile(TESTS)
        (pytester.path / "xfails.txt").write_text("is-old # the firmware\nis-mended # the firmware\n")
        done = pytester.runpytest_inprocess("-rA", "-p", "no:cacheprovider")
        done.assert_outcomes(passed=1, failed=3, xfailed=1, skipped=3)
        done.stdout.fnmatch_lines_random(
            [
                "PASSED *test_conformance?L1-passes?",
                "failed: seen 2, expected 1",
                "xpassed: it passed, but is expected to fail (the firmware); remove its line*",
                "not-delegated: there is no add.pte",
                "FAILED *?L2-fails?*",
                "FAILED *?L2-is-mended?*",
                "FAILED *?L2-is-left?*",
                "XFAIL *?L2-is-old? - the firmware: seen 2, expected 1",
            ]
        )
        done.stdout.no_fnmatch_line("*is-beyond*")

    def test_what_rests_on_a_failure_is_skipped_if_that_fails_a_test_of_its_own(
        self, pytester: pytest.Pytester
    ) -> None:
        fails = 'kit_checks.made(kit_checks.failing, "fails")'
        leaf = 'kit_checks.made(kit_checks.passing, "leaf", rests_on=("fails",))'
        pytester.makepyfile(TESTS.replace(fails, f"{fails}, {leaf}"))
        (pytester.path / "xfails.txt").touch()
        done = pytester.runpytest_inprocess("-rs", "-k", "L2-fails or L2-leaf", "-p", "no:cacheprovider")
        done.assert_outcomes(failed=1, skipped=1)
        done.stdout.fnmatch_lines(["SKIPPED *not-judged: rests on fails"])
        alone = pytester.runpytest_inprocess("-k", "L2-leaf", "-p", "no:cacheprovider")
        alone.assert_outcomes(failed=1)
        alone.stdout.fnmatch_lines(["*not-judged: rests on fails"])

    def test_an_expected_failure_of_level_1_is_a_failure(self, pytester: pytest.Pytester) -> None:
        pytester.makepyfile(TESTS.replace('kit_checks.made(kit_checks.failing, "fails")', "*()"))
        (pytester.path / "xfails.txt").write_text("passes # why not\n")
        done = pytester.runpytest_inprocess("-k", "passes", "-p", "no:cacheprovider")
        done.assert_outcomes(failed=1)

    def test_a_wrong_file_of_expected_failures_is_reported_once(self, pytester: pytest.Pytester) -> None:
        pytester.makepyfile(TESTS)
        (pytester.path / "xfails.txt").write_text("no-such-check # why\n")
        done = pytester.runpytest_inprocess("-p", "no:cacheprovider")
        done.assert_outcomes(errors=1)
        reported = [line for line in done.outlines if "there is no check 'no-such-check'" in line]
        assert len(reported) == 1
        assert "xfails.txt:1: " in reported[0]
        done.stdout.no_fnmatch_line("*Traceback*")

    @pytest.mark.parametrize("name", ["test_conformance", "pytest_generate_tests", "_settings"])
    def test_no_part_of_the_kit_can_be_replaced(self, name: str) -> None:
        with pytest.raises(TypeError, match=f"TestMine.{name} would replace a part of the conformance kit"):
            type("TestMine", (BackendConformance,), {name: lambda self: None})

    def test_another_base_class_cannot_replace_a_check_either(self) -> None:
        mixin = type("Mixin", (), {"test_conformance": lambda self: None})
        with pytest.raises(TypeError, match=r"TestMine.test_conformance would replace a part of the"):
            type("TestMine", (mixin, BackendConformance), {"backend": "AcmeBackend"})

    @pytest.mark.parametrize(
        ("written", "reported"),
        [
            ("level = 5", "TestMine: there is no level 5; the levels are 0, 1, 2, 3"),
            ("del backend", 'TestMine has no backend; write: backend = "AcmeBackend"'),
        ],
    )
    def test_wrong_attributes_are_reported_once(
        self, pytester: pytest.Pytester, written: str, reported: str
    ) -> None:
        pytester.makepyfile(TESTS.replace("level = 2", written))
        (pytester.path / "xfails.txt").touch()
        done = pytester.runpytest_inprocess("-p", "no:cacheprovider")
        done.assert_outcomes(errors=1)
        assert [reported in line for line in done.outlines].count(True) == 1

    def test_without_pytest_the_error_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delitem(sys.modules, suite.__name__)
        monkeypatch.setitem(sys.modules, "pytest", None)
        command = how_to_install("'etconfig[conformance]'")
        expected = re.escape(f"BackendConformance needs pytest: {command}")
        with pytest.raises(ImportError, match=expected):
            importlib.import_module(suite.__name__)
