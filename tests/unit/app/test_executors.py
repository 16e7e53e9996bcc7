"""One function says whether a backend can run here, for the built-in executor and for those of plugins."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import etconfig
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.executors import (
    backend_status,
    check_executor_tables,
    choose_executor,
    executor_report,
    executor_with_options,
)
from etconfig.cli.startup.main import main
from etconfig.diagnostics import Severity
from etconfig.errors import BackendUnavailableError, OptionError, PluginCallError

RUNTIME = """
from etconfig.plugin.v1 import (
    ApiRange, Availability, BackendOptions, BackendSpec, Executor, ExecutorBackend, ExecutorContribution,
    ExecutorProgram, ExecutorReport, hookimpl, option,
)

class Opened(ExecutorProgram):
    def load_method(self, request):
        raise NotImplementedError

    def close(self):
        pass

class Box(Executor):
    def open_program(self, request):
        return Opened()

    def report(self, options=None):
        return {report}

class NoOptions(BackendOptions):
    pass

class BoxOptions(BackendOptions):
    size: int = option(1, applies="load", doc="The size.")
    lids: tuple[str, ...] = option((), applies="load", doc="Names or files.")

@hookimpl
def etconfig_executor(request):
    return ExecutorContribution(
        api=ApiRange(min=1, built=1), executor=Box(), options=BoxOptions, path_options=frozenset({"lids"})
    )

@hookimpl
def etconfig_backend(request):
    return BackendSpec(id=request.name, doc="d", options=NoOptions, api=ApiRange(min=1, built=1))
"""
REPORT = """ExecutorReport(
    version="box 7",
    operators=frozenset({"aten::add.out"}),
    backends=(
        ExecutorBackend(id="BoxBackend", availability=Availability.yes(), version="box 7"),
        ExecutorBackend(id="HiddenBackend", availability=Availability.no("it has no box", "get a box")),
    ),
)"""


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Installation]:
    """Install a plugin with the executor `box` and two schemas; return the installation."""

    def install(report: str = REPORT, project: str = "") -> Installation:
        name = f"box_{tmp_path.name.replace('-', '_')}"
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            f"[etconfig.executors]\nbox = {name}\n"
            f"[etconfig.backends]\nBoxBackend = {name}\nFarBackend = {name}\n"
        )
        (tmp_path / f"{name}.py").write_text(RUNTIME.replace("{report}", report))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.chdir(tmp_path)
        if project:
            (tmp_path / "etconfig.toml").write_text(project)
        return Installation(tmp_path)

    return install


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    main(list(arguments))
    return json.loads(capsys.readouterr().out)


def status(arguments: list[str]) -> object:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


class TestStatus:
    def test_a_backend_of_the_runtime(self, box: Callable[..., Installation]) -> None:
        installation = box()
        runtime = executor_report(installation, "box")
        status = backend_status(installation, "BoxBackend", "box", runtime)
        assert (status.is_available, status.version) == (True, "box 7")
        status = backend_status(installation, "HiddenBackend", "box", runtime)
        assert (status.is_available, status.reason, status.help) == (False, "it has no box", "get a box")

    def test_the_same_backend_with_the_built_in_executor(self, box: Callable[..., Installation]) -> None:
        installation = box()
        status = backend_status(installation, "BoxBackend", "numpy", executor_report(installation, "numpy"))
        assert not status.is_available
        assert "only declares its options and has no implementation" in str(status.reason)

    def test_a_schema_that_this_runtime_does_not_serve(self, box: Callable[..., Installation]) -> None:
        """The advice must not name the executor that was just asked."""
        installation = box()
        status = backend_status(installation, "FarBackend", "box", executor_report(installation, "box"))
        assert str(status.reason).startswith("the runtime of executor 'box' does not have it, and box_")
        assert status.help == "resolve or pack the arguments for the device that has it"

    def test_a_plugins_own_backend(self, box: Callable[..., Installation]) -> None:
        installation = box()
        runtime = executor_report(installation, "box")
        assert backend_status(installation, "ReferenceCpuBackend", "box", runtime).is_available

    @pytest.mark.parametrize(
        ("report", "cause"),
        [
            ("1 / 0", "ZeroDivisionError: division by zero"),
            ("[]", "it returned a list, not an ExecutorReport"),
        ],
    )
    def test_a_report_that_fails(self, box: Callable[..., Installation], report: str, cause: str) -> None:
        installation = box(report)
        with pytest.raises(PluginCallError, match=r"report\(\) of plugin 'box'") as caught:
            executor_report(installation, "box")
        assert caught.value.cause == cause


class TestCommands:
    """The project file's executor counts, and `--executor` before it."""

    def test_backends_lists_what_the_runtime_has(
        self, box: Callable[..., Installation], capsys: pytest.CaptureFixture[str]
    ) -> None:
        box(project='executor = "box"')
        rows = {row["backend"]: row for row in run(capsys, "backends", "--json")}
        assert rows["BoxBackend"]["available"] == "yes"
        assert rows["HiddenBackend"] == {
            "backend": "HiddenBackend",
            "distribution": "none",
            "version": "",
            "available": "no",
            "detail": "it has no box",
        }
        assert rows["FarBackend"]["available"] == "no"
        assert "available" not in run(capsys, "backends", "--executor", "numpy", "--json")[0]

    def test_backends_shows_one(
        self, box: Callable[..., Installation], capsys: pytest.CaptureFixture[str]
    ) -> None:
        box(project='executor = "box"')
        main(["backends", "BoxBackend"])
        assert "It can run here with executor box: box 7\n" in capsys.readouterr().out
        assert not run(capsys, "backends", "BoxBackend", "--executor", "numpy", "--json")["available"]

    def test_inspect_checks_for_the_executor(
        self, box: Callable[..., Installation], capsys: pytest.CaptureFixture[str]
    ) -> None:
        box(project='executor = "box"')
        program = str(Path(__file__).parents[2] / "data" / "programs" / "linear.pte")
        report = run(capsys, "inspect", program, "--json")
        assert report["executor"] == "box"
        (method,) = report["methods"]
        assert method["missing_operators"] == [
            each for each in method["operators"] if each != "aten::add.out"
        ]
        assert method["obstacles"][0]["why"] == "the runtime of executor 'box' has no kernel for it"
        assert (
            run(capsys, "inspect", program, "--executor", "numpy", "--json")["methods"][0]["obstacles"] == []
        )

    def test_doctor_lists_the_backends_of_the_runtime(
        self, box: Callable[..., Installation], capsys: pytest.CaptureFixture[str]
    ) -> None:
        box()
        findings = {each["subject"]: each for each in run(capsys, "doctor", "--json")}
        assert findings["executor box"]["detail"].endswith("1.0, with box 7")
        assert findings["executor box, backend BoxBackend"]["detail"] == "can run here, box 7"
        hidden = findings["executor box, backend HiddenBackend"]
        assert hidden["detail"] == "cannot run here: it has no box; no plugin declares its options"
        assert (hidden["status"], hidden["help"]) == ("warning", "get a box")
        assert findings["backend BoxBackend"]["detail"].endswith("; the runtime of executor box has one")


class TestOptions:
    """An executor declares its own options; the project file, the command line and the caller set them."""

    @staticmethod
    def options(installation: Installation, **given: Any) -> Any:
        return executor_with_options(installation, "box", given)[1]

    def test_defaults(self, box: Callable[..., Installation]) -> None:
        options = self.options(box())
        assert (options.size, options.lids) == (1, ())

    def test_the_caller_wins_over_the_command_line_and_that_over_the_project_file(
        self, box: Callable[..., Installation]
    ) -> None:
        installation = box(project='[executor]\nname = "box"\n[executor.box]\nsize = 2\nlids = ["a"]\n')
        assert choose_executor(installation) == "box"
        assert self.options(installation).size == 2
        typed = installation.with_executor_texts([("size", "3"), ("lids", "b"), ("lids", "c")])
        assert (self.options(typed).size, self.options(typed).lids) == (3, ("b", "c"))
        assert (self.options(typed, size=4).size, self.options(typed, size=4).lids) == (4, ("b", "c"))

    def test_relative_paths_start_from_the_project_file(
        self, box: Callable[..., Installation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        installation = box(project='[executor.box]\nlids = ["a.so", "b/c", "d"]\n')
        (tmp_path / "b").mkdir()
        for name in ("a.so", "b/c"):
            (tmp_path / name).touch()
        monkeypatch.chdir(tmp_path / "b")
        assert self.options(installation).lids == (str(tmp_path / "a.so"), str(tmp_path / "b" / "c"), "d")

    @pytest.mark.parametrize(
        ("lines", "place", "message"),
        [
            ("sice = 2", (2, 1), "executor.box has no option 'sice'"),
            ('size = "big"', (2, 8), "executor.box.size: "),
            ('lids = ["a", "no.so"]', (2, 14), "executor.box.lids[1]: "),
        ],
    )
    def test_problems_have_their_place(
        self, box: Callable[..., Installation], lines: str, place: tuple[int, int], message: str
    ) -> None:
        installation = box(project=f"[executor.box]\n{lines}\n")
        for found in (check_executor_tables(installation), self.problems(installation)):
            (problem,) = found
            assert problem.message.startswith(message)
            assert (problem.spans[0].line, problem.spans[0].column) == place

    def problems(self, installation: Installation) -> Any:
        with pytest.raises(OptionError) as caught:
            self.options(installation)
        return caught.value.diagnostics

    def test_validate_checks_them(
        self, box: Callable[..., Installation], capsys: pytest.CaptureFixture[str]
    ) -> None:
        box(project="[executor.box]\nsice = 2\n[executor.bxo]\n[executor.numpy]\nthreads = 2\n")
        assert status(["validate", "etconfig.toml"]) == 1
        text = "".join(capsys.readouterr())
        assert "executor.box has no option 'sice'" in text
        assert "did you mean 'size'?" in text
        assert "no installed plugin declares an executor 'bxo'" in text
        assert "executor.numpy has no option 'threads'" in text

    @pytest.mark.parametrize(
        ("name", "severity"),
        [
            ("executorch", Severity.WARNING),
            ("acme", Severity.WARNING),
            ("executorh", Severity.ERROR),
            ("bxo", Severity.ERROR),
            ("", Severity.ERROR),
            (" ", Severity.ERROR),
            ("a\x1b[31mb", Severity.ERROR),
        ],
    )
    def test_only_an_executor_that_another_machine_may_have_is_a_warning(
        self, box: Callable[..., Installation], name: str, severity: Severity
    ) -> None:
        (problem,) = check_executor_tables(box(project=f"[executor.{json.dumps(name)}]\n"))
        assert problem.severity is severity
        assert (problem.help == "did you mean 'executorch'?") is (name == "executorh")

    def test_what_runs_refuses_options_of_the_built_in_executor_in_the_project_file(
        self, box: Callable[..., Installation]
    ) -> None:
        installation = box(project="[executor.numpy]\nthreads = 2\n")
        with pytest.raises(OptionError, match=r"executor\.numpy has no option 'threads'") as caught:
            etconfig.load_program("tests/data/programs/add.pte", installation=installation)
        (problem,) = caught.value.diagnostics
        assert (problem.spans[0].line, problem.spans[0].column) == (2, 1)
        (finding,) = [
            each
            for each in etconfig.examine_installation(installation).findings
            if each.subject == "executor"
        ]
        assert (finding.status, problem.message in finding.detail) == ("error", True)

    def test_the_built_in_executor_has_none(
        self, box: Callable[..., Installation], capsys: pytest.CaptureFixture[str]
    ) -> None:
        installation = box()
        with pytest.raises(OptionError, match=r"executor\.numpy has no option 'size'"):
            executor_with_options(installation, "numpy", {"size": 2})
        with pytest.raises(TypeError, match="executor_options: expected a mapping"):
            executor_with_options(installation, "numpy", ["size"])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="executor_options: expected a mapping"):
            executor_with_options(installation, "box", ["size"])  # type: ignore[arg-type]
        assert status(["backends", "--executor-option", "size=2"]) == 2
        assert "executor.numpy has no option 'size'" in capsys.readouterr().err
        assert status(["backends", "--executor", "box", "--executor-option", "sice=2"]) == 2
        assert "executor.box has no option 'sice'" in capsys.readouterr().err
        assert status(["backends", "--executor", "box", "--executor-option", "size"]) == 2
        assert "expected NAME=VALUE, given 'size'" in capsys.readouterr().err


class TestUndeclared:
    """A backend that the runtime has, and that no plugin declares, runs without options."""

    PROGRAM = Path(__file__).parents[2] / "data" / "programs" / "xnnpack.pte"
    WITH_XNNPACK = REPORT.replace("HiddenBackend", "XnnpackBackend")

    def test_a_program_is_configured_with_a_note(self, box: Callable[..., Installation]) -> None:
        installation = box(self.WITH_XNNPACK)
        with etconfig.load_program(self.PROGRAM, executor="box", installation=installation) as program:
            resolution = etconfig.resolve(program)
            assert not resolution.arguments("forward")["XnnpackBackend"].option_infos()
            (note,) = [each for each in resolution.warnings if "XnnpackBackend" in each.message]
            assert note.code == "backend-not-installed"
            assert note.severity is Severity.NOTE
            assert "no installed plugin declares its schema" in note.message
            with pytest.raises(OptionError) as caught:
                etconfig.resolve(program, overrides=["XnnpackBackend.num_threads=2"])
        (problem,) = caught.value.diagnostics
        assert problem.code == "unknown-option"
        assert problem.message == "XnnpackBackend has no option 'num_threads'"
        assert str(problem.help).startswith("no installed plugin declares its options: install the one")

    def test_one_that_the_runtime_lacks_is_an_error(self, box: Callable[..., Installation]) -> None:
        installation = box()
        with (
            etconfig.load_program(self.PROGRAM, executor="box", installation=installation) as program,
            pytest.raises(BackendUnavailableError, match="no installed plugin declares it"),
        ):
            etconfig.resolve(program)

    def test_commands_that_configure_find_it_too(
        self, box: Callable[..., Installation], capsys: pytest.CaptureFixture[str]
    ) -> None:
        box(self.WITH_XNNPACK, 'executor = "box"\n')
        main(["resolve", str(self.PROGRAM), "--profile", "generic/any"])
        text = capsys.readouterr()
        assert "note[backend-not-installed]: XnnpackBackend runs without options" in text.err
        assert text.out == "profile generic/any\n\nNo backend of the program has options.\n"
        main(["backends", "XnnpackBackend"])
        text = capsys.readouterr().out
        assert "It cannot run here with executor box: it has no box" in text
        assert text.endswith("\n\nIt has no options.\n")
        option = ["XnnpackBackend.device", str(self.PROGRAM)]
        assert status(["explain", *option, "--profile", "generic/any"]) == 2
        text = capsys.readouterr().err
        assert "XnnpackBackend has no option 'device'\n  = help: it has no options\n" in text
