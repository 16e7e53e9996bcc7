"""Reports from Python: what the commands print, as records."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_line import DATA, DIGITS, ON_DEVICE, Outcome

import etconfig
from etconfig.analysis import compare_benchmarks, generate_inputs, load_benchmark

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


class TestBenchmark:
    """A report can be written as JSON, read back, and compared."""

    def test_inputs_and_bytes_can_be_given(self, place: Path) -> None:
        source, image = Path("model.pte").read_bytes(), np.load("x.npy")
        config = etconfig.resolve(etconfig.load_program(source), profile="generic/any")
        report = etconfig.benchmark(source, config, inputs=[image], runs=2)
        assert (report.program.path, report.program.size_bytes) == (None, len(source))
        assert (report.inputs.seed, report.inputs.files) == (None, ())
        (form,) = report.inputs.values
        assert (form.dtype, form.shape) == ("float32", (1, 1, 8, 8))

    def test_a_report_is_read_back_as_it_was(self, cli: Callable[..., Outcome], place: Path) -> None:
        printed = cli("bench", "model.pte", "--runs", "2", *ON_DEVICE, "--json").stdout
        Path("report.json").write_text(printed)
        report = load_benchmark(Path("report.json"))
        again, expected = report.to_jsonable(), json.loads(printed)
        rows, expected_rows = (data["traced"].pop("instructions") for data in (again, expected))
        assert again == expected
        assert rows == [pytest.approx(row) for row in expected_rows]
        assert compare_benchmarks(report, report).differences == ()

    def test_progress_is_reported_phase_by_phase(self, place: Path) -> None:
        shown: list[tuple[str, float]] = []
        etconfig.benchmark("model.pte", runs=4, progress=lambda *each: shown.append(each))
        assert shown == [
            *(("measuring", share) for share in (0, 0.25, 0.5, 0.75)),
            *(("tracing", share) for share in (0, 0.5)),
        ]

    def test_values_that_cannot_be_made_up_are_named(self) -> None:
        with etconfig.load_program(DATA / "programs" / "symbolic_integer.pte") as program:
            meta = program.metadata("forward")
        with pytest.raises(etconfig.ExecutionError, match="one of kind None cannot be made up"):
            generate_inputs(meta, seed=0)

    def test_each_operator_is_timed(self) -> None:
        report = etconfig.benchmark(DIGITS / "digits_portable.pte", runs=1)
        assert report.traced is not None
        assert {row.kind for row in report.traced.instructions} == {"kernel", "rest"}
