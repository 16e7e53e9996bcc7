"""Reports from Python: what the commands print, as records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import DATA, Outcome

import etconfig
from etconfig.analysis import generate_inputs

BUNDLED = DATA / "exports" / "bundled.bpte"


class TestInspectProgram:
    """A report has the sizes, the methods and the obstacles of a program."""

    def test_it_is_what_the_command_prints(self, cli: Callable[..., Outcome]) -> None:
        with etconfig.load_program("model.pte") as program:
            report = etconfig.inspect_program(program)
        assert cli("inspect", "model.pte", "--json").json == report.to_jsonable()

    def test_it_names_what_is_missing(self, place: Path) -> None:
        with etconfig.load_program(DATA / "exports" / "external_constants.pte") as program:
            (method,) = etconfig.inspect_program(program).methods
        assert [each.what for each in method.obstacles] == [
            "tensor first.bias",
            "tensor second.weight",
            "tensor second.bias",
        ]
        assert {each.file for each in method.external_tensors} == {None}

    def test_a_program_of_bytes_has_no_path(self, place: Path) -> None:
        with etconfig.load_program(Path("model.pte").read_bytes()) as program:
            assert etconfig.inspect_program(program).path is None


class TestVerifyProgram:
    """Without a resolution, the arguments are those that `resolve` gives."""

    def test_one_method(self, place: Path) -> None:
        with etconfig.load_program(BUNDLED) as program:
            report = etconfig.verify_program(program, method="forward")
        assert [(case.method, case.index) for case in report.cases] == [
            ("forward", 0),
            ("forward", 1),
            ("forward", 2),
        ]
        assert not report.agrees

    def test_a_program_without_cases_is_an_error(self, place: Path) -> None:
        with (
            etconfig.load_program("model.pte") as program,
            pytest.raises(ValueError, match=r"model.pte has no recorded cases; bundle them"),
        ):
            etconfig.verify_program(program)


class TestExamineInstallation:
    """Every check is a finding; backends that cannot run here do not make an installation unsound."""

    def test_it_looks_at_the_current_directory(self, place: Path) -> None:
        (place / "etconfig.toml").write_text('profile = "generic/any"\n')
        findings = etconfig.examine_installation().findings
        (project,) = (finding for finding in findings if finding.subject == "project file")
        assert (project.status, Path(project.detail).name) == ("ok", "etconfig.toml")

    def test_a_broken_project_file_is_a_finding(self, place: Path) -> None:
        (place / "etconfig.toml").write_text("profile = ")
        report = etconfig.examine_installation()
        assert not report.is_sound
        assert [finding.status for finding in report.findings] == ["ok", "error"]


class TestGeneratedInputs:
    """Inputs that fit are made up, if they can be."""

    def test_values_that_cannot_be_made_up_are_named(self) -> None:
        with etconfig.load_program(DATA / "programs" / "symbolic_integer.pte") as program:
            meta = program.metadata("forward")
        with pytest.raises(etconfig.ExecutionError, match="one of kind None cannot be made up"):
            generate_inputs(meta, seed=0)
