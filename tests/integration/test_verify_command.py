"""`etconfig verify`: the recorded cases of a bundled program, case by case."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import DATA, Outcome, error

import etconfig

BUNDLED = DATA / "exports" / "bundled.bpte"


class TestVerify:
    """Every case is reported with its largest errors; the status is 1 if one differs."""

    def test_the_report_names_what_differs(self, cli: Callable[..., Outcome]) -> None:
        done = cli("verify", BUNDLED)
        assert (done.status, done.stderr) == (1, "")
        lines = done.stdout.splitlines()
        assert lines[0].split() == ["METHOD", "CASE", "RESULT", "MAX", "ERROR", "MAX", "RELATIVE", "ERROR"]
        assert [line.split()[:3] for line in lines[1:5]] == [
            ["forward", "0", "ok"],
            ["forward", "1", "ok"],
            ["forward", "2", "differs"],
            ["sine", "0", "ok"],
        ]
        assert lines[5:] == [
            "forward, case 2: out0: 4 of 4 value(s) differ",
            "3 of 4 cases gave the recorded outputs",
        ]

    def test_a_method_whose_cases_agree_is_a_success(self, cli: Callable[..., Outcome]) -> None:
        done = cli("verify", BUNDLED, "--method", "sine")
        assert done.status == 0
        assert done.stdout.splitlines()[-1] == "1 of 1 case gave the recorded outputs"

    def test_tolerances_can_be_given(self, cli: Callable[..., Outcome]) -> None:
        assert cli("verify", BUNDLED, "--atol", "1.01").status == 0
        assert cli("verify", BUNDLED, "--atol", "0.5", "--rtol", "1e-6").status == 1

    def test_json_has_the_same_cases(self, cli: Callable[..., Outcome]) -> None:
        done = cli("verify", BUNDLED, "--json")
        cases = done.json["cases"]
        assert [(case["method"], case["case"], case["agrees"]) for case in cases] == [
            ("forward", 0, True),
            ("forward", 1, True),
            ("forward", 2, False),
            ("sine", 0, True),
        ]
        (output,) = cases[2]["outputs"]
        assert output["max_absolute_error"] == pytest.approx(1)
        assert output["problem"] == "4 of 4 value(s) differ"
        assert done.status == 1

    def test_an_unknown_executor_is_an_error(self, cli: Callable[..., Outcome]) -> None:
        done = cli("verify", BUNDLED, "--executor", "nmpy")
        assert (done.status, done.stdout) == (2, "")
        assert "help: did you mean 'numpy'?" in done.stderr

    def test_a_program_without_cases_is_an_error(self, cli: Callable[..., Outcome]) -> None:
        hint = "bundle them with executorch.devtools.BundledProgram"
        assert cli("verify", "model.pte") == Outcome(2, "", error(f"model.pte has no recorded cases; {hint}"))

    def test_a_method_without_cases_is_an_error(self, cli: Callable[..., Outcome]) -> None:
        message = f"{BUNDLED} has no recorded cases for method 'sin'; it has some for 'forward', 'sine'"
        assert cli("verify", BUNDLED, "--method", "sin") == Outcome(2, "", error(message))

    def test_a_negative_tolerance_is_refused(self, cli: Callable[..., Outcome]) -> None:
        done = cli("verify", BUNDLED, "--atol", "-1")
        assert done.status == 2
        assert "-1.0 is not in the range x>=0" in done.stderr

    def test_other_commands_use_the_program_in_it(self, cli: Callable[..., Outcome], place: Path) -> None:
        assert "method sine: 2 instructions" in cli("inspect", BUNDLED).stdout
        assert cli("resolve", BUNDLED).status == 0


class TestApi:
    """`LoadedProgram.verify_bundled` gives a result for each case."""

    def test_results_are_in_the_order_of_the_file(self) -> None:
        with etconfig.load_program(BUNDLED) as program:
            assert [result.agrees for result in program.verify_bundled("forward")] == [True, True, False]
            with pytest.raises(etconfig.ExecutionError, match="no method 'missing'"):
                program.verify_bundled("missing")

    def test_a_program_without_cases_has_no_results(self) -> None:
        with etconfig.load_program(DATA / "digits" / "digits_portable.pte") as program:
            assert program.verify_bundled("forward") == []
