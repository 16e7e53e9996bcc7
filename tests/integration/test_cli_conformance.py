"""`etconfig conformance`: its output, its reports and its refusals."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome, error
from etconfig_reference.conformance import GOLDEN
from kit_checks import failing, inapplicable, made, passing

from etconfig.base.written_files import FilesOfRun
from etconfig.conformance.checks import check_catalog as catalog
from etconfig.conformance.kit.outcomes import CheckFailedError
from etconfig.conformance.runner import isolated_process, kit_report, lowering_process, runner, suite
from etconfig.conformance.subject import lowering
from etconfig.conformance.subject.subject import Subject

IMPORTED_BEFORE_PATCHING = (suite, isolated_process)
"""Modules that would keep the four checks if they were imported while the catalog has them."""

CHECKS = (
    made(passing, "loads", level=0),
    made(passing, "runs", level=1),
    made(failing, "isolates"),
    made(inapplicable, "survives"),
)


@pytest.fixture
def four_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kit has four checks, one of which fails."""
    for module in (catalog, runner, kit_report):
        monkeypatch.setattr(module, "all_checks", lambda: CHECKS)


@pytest.mark.usefixtures("four_checks")
class TestConformance:
    """The checks level by level, then the level that was reached; the status is 1 if it is too low."""

    def test_every_check_and_what_is_missing_are_printed(self, cli: Callable[..., Outcome]) -> None:
        done = cli("conformance", "ReferenceCpuBackend")
        assert (done.status, done.stderr) == (1, "")
        assert done.stdout.splitlines() == [
            "L0 loads",
            "  passed          loads",
            "L1 runs",
            "  passed          runs",
            "L2 isolates and survives",
            "  failed          isolates",
            "                    seen 2, expected 1",
            "  not-applicable  survives",
            "                    there is no such option",
            "",
            "golden programs: 25 of 25",
            "ReferenceCpuBackend of etconfig-reference 0.1.0: L1 · kit 1.1",
            "L2 needs: isolates",
        ]

    def test_missing_golden_programs_are_named(self, cli: Callable[..., Outcome], place: Path) -> None:
        for path in (GOLDEN / BACKEND).glob("*.pte"):
            if path.stem not in ("linear", "matmul"):
                (place / path.name).write_bytes(path.read_bytes())
        done = cli("conformance", BACKEND, "--level", "0", "--programs", ".", "--report", "r.json")
        assert "golden programs: 23 of 25, without linear, matmul" in done.stdout.splitlines()
        programs = json.loads((place / "r.json").read_text())["programs"]
        assert [name for name, is_there in programs.items() if not is_there] == ["linear", "matmul"]

    def test_a_text_of_two_checks_is_printed_once(
        self, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        both = (made(failing, "first", level=0), made(failing, "second", level=1))
        for module in (catalog, runner, kit_report):
            monkeypatch.setattr(module, "all_checks", lambda: both)
        assert cli("conformance", "ReferenceCpuBackend").stdout.splitlines()[:5] == [
            "L0 loads",
            "  failed          first",
            "                    seen 2, expected 1",
            "L1 runs",
            "  failed          second: as first",
        ]

    def test_each_of_several_problems_begins_a_line(
        self, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def failing_twice(subject: Subject) -> None:
            raise CheckFailedError("first " + "and long " * 12 + "\nsecond")

        for module in (catalog, runner, kit_report):
            monkeypatch.setattr(module, "all_checks", lambda: (made(failing_twice, "twice", level=0),))
        lines = cli("conformance", "ReferenceCpuBackend").stdout.splitlines()
        assert [line.split()[0] for line in lines[2:5]] == ["first", "long", "second"]

    def test_a_level_that_is_reached_is_a_success(self, cli: Callable[..., Outcome]) -> None:
        done = cli("conformance", "ReferenceCpuBackend", "--level", "1")
        assert done.status == 0
        assert done.stdout.splitlines()[-1] == "ReferenceCpuBackend of etconfig-reference 0.1.0: L1 · kit 1.1"

    def test_failures_can_be_expected(self, cli: Callable[..., Outcome], place: Path) -> None:
        (place / "xfails.txt").write_text("isolates # the driver is shared\n")
        done = cli("conformance", "ReferenceCpuBackend", "--xfails", "xfails.txt")
        assert done.status == 0
        assert "the driver is shared: seen 2, expected 1" in done.stdout
        assert done.stdout.splitlines()[-1].endswith(": L3 · kit 1.1 · 1 xfail")

    def test_json_is_the_report(self, cli: Callable[..., Outcome]) -> None:
        done = cli("conformance", "ReferenceCpuBackend", "--json")
        assert (done.status, done.json["level"], done.json["level_asked"]) == (1, 1, 3)
        assert [each["outcome"] for each in done.json["results"]] == [
            "passed",
            "passed",
            "failed",
            "not-applicable",
        ]

    def test_reports_are_written_also_when_the_level_is_missed(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        reports = [argument for name in ("r.json", "r.xml", "r.svg") for argument in ("--report", name)]
        assert cli("conformance", "ReferenceCpuBackend", *reports).status == 1
        assert json.loads((place / "r.json").read_text())["summary"] == "L1 · kit 1.1"
        assert (place / "r.xml").read_text().startswith("<?xml")
        assert "L1 · kit 1.1" in (place / "r.svg").read_text(encoding="utf-8")

    def test_one_check_is_run_after_those_that_it_rests_on(
        self, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        based = (
            *CHECKS,
            made(passing, "leaks", rests_on=("runs",)),
            made(passing, "tip", rests_on=("isolates",)),
        )
        for module in (catalog, runner, kit_report):
            monkeypatch.setattr(module, "all_checks", lambda: based)
        done = cli("conformance", BACKEND, "--check", "leaks")
        assert done.status == 0
        assert done.stdout.splitlines() == [
            "L1 runs",
            "  passed          runs",
            "L2 isolates and survives",
            "  passed          leaks",
            "",
            "golden programs: 25 of 25",
            "ReferenceCpuBackend of etconfig-reference 0.1.0: 2 of 6 checks · kit 1.1",
        ]
        done = cli("conformance", BACKEND, "--check", "leaks", "--check", "tip")
        assert done.status == 1
        assert "  not-judged      tip: rests on isolates" in done.stdout.splitlines()
        assert done.stdout.splitlines()[-1] == "root cause: isolates; not judged, since they rest on it: 1"

    def test_the_checks_can_be_listed(self, cli: Callable[..., Outcome]) -> None:
        done = cli("conformance", "--list")
        assert [line.split()[:2] for line in done.stdout.splitlines()[1:]] == [
            ["L0", "loads"],
            ["L1", "runs"],
            ["L2", "isolates"],
            ["L2", "survives"],
        ]
        listed = cli("conformance", "--list", "--json").json["checks"]
        assert listed[2] == {
            "id": "isolates",
            "level": 2,
            "since": "1.0",
            "requires": [],
            "rests_on": [],
            "doc": "Fail.",
            "prevents": "nothing",
        }


SEE = "see `etconfig conformance --help`"
BACKEND = "ReferenceCpuBackend"


class TestRefusals:
    """Mistakes are reported before any check runs."""

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ((), error("name a backend; `etconfig backends` lists those that are installed", SEE)),
            (
                ("ReferenceCpuBackends",),
                error(
                    "no installed plugin declares 'ReferenceCpuBackends' in etconfig.backends "
                    "(installed: ReferenceCpuBackend, ReferenceNpuBackend)",
                    "did you mean 'ReferenceCpuBackend'?",
                ),
            ),
            (
                (BACKEND, "--check", "recommend-vald"),
                error("there is no check 'recommend-vald'; did you mean 'recommend-valid'?", SEE),
            ),
            (
                (BACKEND, "--check", "runs", "--level", "1"),
                error("--check names the checks to run, so --level has no effect; leave it out", SEE),
            ),
            (
                (BACKEND, "--check", "runs", "--report", "a.svg"),
                error(
                    "a badge states a level, which needs all checks; leave out --check, or --report a.svg",
                    SEE,
                ),
            ),
            ((BACKEND, "--kit", "2.0"), error("there is no kit '2.0'; this etconfig has 1.0 to 1.1", SEE)),
            (
                (BACKEND, "--report", "r.htm"),
                error("invalid value for '--report': r.htm must end in .json, .xml, .html, .svg", SEE),
            ),
            (
                (BACKEND, "--executor", "nmpy"),
                error(
                    "no installed plugin declares 'nmpy' in etconfig.executors (installed: none)",
                    "did you mean 'numpy'?",
                ),
            ),
            (
                (BACKEND, "--lower", "golden", "--json"),
                error("--lower checks nothing, so '--json' has no effect; leave it out", SEE),
            ),
            (
                (BACKEND, "--list"),
                error("--list checks nothing, so '[BACKEND]' has no effect; leave it out", SEE),
            ),
            (
                (BACKEND, "--report", "no/r.json"),
                error("cannot write no/r.json: No such file or directory; create the directory 'no' first"),
            ),
            (
                (BACKEND, "--xfails", "no.txt"),
                error("no.txt: cannot be read: [Errno 2] No such file or directory: 'no.txt'"),
            ),
        ],
    )
    def test_the_error_says_what_to_do(
        self, cli: Callable[..., Outcome], arguments: tuple[str, ...], expected: str
    ) -> None:
        done = cli("conformance", *arguments)
        assert (done.status, done.stdout, done.stderr) == (2, "", expected)


def test_the_options_of_all_commands_go_with_a_list(cli: Callable[..., Outcome]) -> None:
    done = cli("conformance", "--list", "--color", "never", "--quiet")
    assert (done.status, done.stderr) == (0, "")
    assert "LEVEL" in done.stdout


class TestLower:
    """`--lower` checks nothing, and writes golden programs."""

    def test_each_case_and_the_number_of_programs_are_printed(
        self, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def lower_cases(
            subject: Subject,
            directory: Path,
            files: FilesOfRun,
            *,
            progress: Callable[[str, str], None],
            lowered: object,
        ) -> tuple[str, ...]:
            progress("add", f"for {subject.backend_id} in {directory}")
            return ("add",)

        monkeypatch.setattr(lowering, "lower_cases", lower_cases)
        done = cli("conformance", "ReferenceCpuBackend", "--lower", "golden")
        assert (done.status, done.stderr) == (0, "")
        assert done.stdout.splitlines() == ["add: for ReferenceCpuBackend in golden", "programs in golden: 1"]

    def test_a_failure_to_lower_is_an_error(
        self, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        code = (
            "import sys; sys.modules['torch'] = None; "
            "from etconfig.conformance.runner import lowering_process; lowering_process.lower_requested()"
        )
        command = (sys.executable, "-c", code)
        monkeypatch.setattr(lowering_process, "_COMMAND", command)
        done = cli("conformance", "ReferenceCpuBackend", "--lower", "golden")
        assert done.status == 2
        assert done.stderr.startswith("error: lowering needs torch and executorch")
