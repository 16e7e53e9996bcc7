"""`profile_path`, `executor` and a second project file: what `etconfig.toml` decides for every command."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import DATA, ON_DEVICE, Outcome, error_at

import etconfig
from etconfig import Installation, validate_file
from etconfig.base.packages import how_to_install
from etconfig.errors import ProfileError

CPU = "ReferenceCpuBackend"
PHONE = f'[profile]\nname = "app/phone"\n[options.{CPU}]\nnum_threads = 3\n'
RUN = ("run", "model.pte", "--input", "x.npy", *ON_DEVICE)
VERIFY = ("verify", DATA / "exports" / "bundled.bpte", *ON_DEVICE)
BENCH = ("bench", "model.pte", "--pairs", "6", *ON_DEVICE)


@pytest.fixture
def tree(place: Path) -> Path:
    """Profiles in boards/, which the project file names, and an empty directory below it."""
    for path in ("boards/app", "deep/below"):
        (place / path).mkdir(parents=True)
    (place / "boards/app/phone.toml").write_text(PHONE)
    (place / "etconfig.toml").write_text('profile = "app/phone"\nprofile_path = ["boards"]\n')
    return place


class TestProfilePath:
    """The key `profile_path` names directories, relative to the project file; the variable's are relative
    to the current directory.
    """

    @pytest.mark.parametrize("directory", [".", "deep/below"])
    def test_the_key_is_relative_to_the_project_file(
        self, cli: Callable[..., Outcome], tree: Path, monkeypatch: pytest.MonkeyPatch, directory: str
    ) -> None:
        monkeypatch.chdir(tree / directory)
        done = cli("resolve", tree / "model.pte", "--facts", tree / "device.json")
        assert (done.status, done.stderr) == (0, "")
        assert done.stdout.startswith(f"profile app/phone, named by {tree / 'etconfig.toml'}:1:11\n")
        assert f"{tree}/boards/app/phone.toml:4:1" in done.stdout

    def test_the_variable_is_relative_to_the_current_directory(
        self, cli: Callable[..., Outcome], tree: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tree / "etconfig.toml").write_text('profile = "app/phone"\n')
        monkeypatch.setenv("ETCONFIG_PROFILE_PATH", "boards")
        assert cli("resolve", "model.pte", *ON_DEVICE).status == 0
        monkeypatch.chdir(tree / "deep")
        done = cli("resolve", tree / "model.pte", "--facts", tree / "device.json")
        assert (done.status, done.stderr.splitlines()[0]) == (
            2,
            "error[unreadable-file]: there is no directory of profiles 'boards'",
        )

    def test_one_directory_may_be_named_in_several_ways(
        self, cli: Callable[..., Outcome], tree: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ETCONFIG_PROFILE_PATH", os.pathsep.join(["boards", f"{tree}/deep/../boards"]))
        done = cli("resolve", "model.pte", *ON_DEVICE, "--profile-path", "./boards")
        assert (done.status, done.stderr) == (0, "")

    @pytest.mark.parametrize(
        "command", [("validate", "etconfig.toml"), ("resolve", *ON_DEVICE), ("profiles", "list")]
    )
    def test_a_name_that_no_directory_can_have_is_reported(
        self, cli: Callable[..., Outcome], tree: Path, command: tuple[str, ...]
    ) -> None:
        (tree / "etconfig.toml").write_text('profile_path = ["bo\\u0000ards"]\n')
        done = cli(*command)
        shown = done.stdout + done.stderr
        assert (done.status, "etconfig.toml:1:17" in shown, "contains a null character" in shown) == (
            1 if command[0] == "validate" else 2,
            True,
            True,
        )

    def test_a_missing_directory_is_reported_at_its_line(
        self, cli: Callable[..., Outcome], tree: Path
    ) -> None:
        (tree / "etconfig.toml").write_text('profile_path = ["boards", "bords"]\n')
        expected = error_at(
            f"{tree}/etconfig.toml:1:27",
            'profile_path = ["boards", "bords"]',
            '"bords"',
            "unreadable-file",
            "there is no directory of profiles 'bords'",
            advice="correct profile_path; its paths are relative to the project file",
        )
        done = cli("resolve", "model.pte", *ON_DEVICE)
        assert (done.status, done.stderr) == (2, expected)

    def test_it_is_reported_once_for_all_files(self, cli: Callable[..., Outcome], tree: Path) -> None:
        (tree / "etconfig.toml").write_text('profile_path = ["boards", "bords"]\n')
        done = cli("validate", "etconfig.toml", "boards", "--format", "concise")
        assert done.stdout == (
            "etconfig.toml:1:27: unreadable-file there is no directory of profiles 'bords'; "
            "correct profile_path; its paths are relative to the project file\n"
        )

    def test_it_hides_no_other_mistake(self, cli: Callable[..., Outcome], tree: Path) -> None:
        text = f'profile_path = ["bords", 3]\nprofile = "app/phone"\n[options.{CPU}]\nnum_thread = 1\n'
        (tree / "etconfig.toml").write_text(text)
        done = cli("validate", "etconfig.toml", "--format", "concise")
        assert [line.split()[1] for line in done.stdout.splitlines()] == ["wrong-type", "unknown-option"]
        (tree / "etconfig.toml").write_text(text.replace(", 3", ""))
        done = cli("validate", "etconfig.toml", "--format", "concise")
        assert [line.split()[1] for line in done.stdout.splitlines()] == ["unreadable-file", "unknown-option"]

    def test_pyproject_has_it_under_its_table(self, cli: Callable[..., Outcome], tree: Path) -> None:
        (tree / "etconfig.toml").unlink()
        (tree / "pyproject.toml").write_text(
            '[tool.etconfig]\nprofile = "app/phone"\nprofile_path = ["boards"]\n'
        )
        named_by = f"{tree / 'pyproject.toml'}:2:11"
        assert f"profile app/phone, named by {named_by}\n" in cli("resolve", "model.pte", *ON_DEVICE).stdout

    def test_doctor_shows_every_directory_and_who_named_it(
        self, cli: Callable[..., Outcome], tree: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ETCONFIG_PROFILE_PATH", "deep")
        out = cli("doctor").stdout
        assert f"     ok  profile path: {tree}/boards, from {tree}/etconfig.toml:2:17\n" in out
        assert "     ok  profile path: deep, from ETCONFIG_PROFILE_PATH\n" in out

    def test_doctor_fails_if_one_is_missing(self, cli: Callable[..., Outcome], tree: Path) -> None:
        (tree / "etconfig.toml").write_text('profile_path = ["bords"]\n')
        done = cli("doctor")
        assert done.status == 1
        assert f"  error  profile path: {tree}/etconfig.toml:1:17: there is no directory" in done.stdout


class TestValidatedProjectFile:
    """A project file is checked with the directories and plugins that it names, wherever `validate` runs."""

    def test_from_another_directory(
        self, cli: Callable[..., Outcome], tree: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tree / "deep")
        done = cli("validate", "../etconfig.toml")
        assert (done.status, done.stdout) == (0, "")

    def test_it_counts_and_not_the_project_file_found_here(
        self, cli: Callable[..., Outcome], tree: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tree / "deep/etconfig.toml").write_text('profile_path = ["below"]\n')
        monkeypatch.chdir(tree / "deep")
        assert cli("validate", "../etconfig.toml").status == 0
        assert cli("validate", "etconfig.toml").status == 0

    def test_also_without_a_project_file_in_python(self, tree: Path) -> None:
        assert validate_file(tree / "etconfig.toml", Installation()) == ()

    def test_a_fix_of_the_key_counts_at_once(self, cli: Callable[..., Outcome], tree: Path) -> None:
        (tree / "etconfig.toml").write_text('profile = "app/phone"\nprofile_pth = ["boards"]\n')
        done = cli("validate", "etconfig.toml", "--fix", "--unsafe-fixes")
        assert (done.status, done.stdout) == (0, "")


class TestExecutor:
    """The key `executor` is the default of `--executor`."""

    @pytest.fixture
    def project(self, place: Path) -> Path:
        return place / "etconfig.toml"

    @pytest.mark.parametrize("command", [RUN, VERIFY, BENCH], ids=["run", "verify", "bench"])
    def test_an_unknown_one_stops_every_command_that_has_an_executor(
        self, cli: Callable[..., Outcome], project: Path, command: tuple[str, ...]
    ) -> None:
        project.write_text('executor = "numpi"\n')
        done = cli(*command)
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr == error_at(
            f"{project}:1:12",
            'executor = "numpi"',
            '"numpi"',
            "unknown-executor",
            "no installed plugin declares an executor 'numpi'",
            note="installed: numpy",
            advice="did you mean 'numpy'?",
        )

    @pytest.mark.parametrize("command", [RUN, VERIFY, BENCH], ids=["run", "verify", "bench"])
    def test_the_option_beats_it(
        self, cli: Callable[..., Outcome], project: Path, command: tuple[str, ...]
    ) -> None:
        project.write_text('executor = "numpi"\n')
        done = cli(*command, "--executor", "numpy")
        assert (done.status < 2, done.stderr) == (True, "")  # one of the verified cases differs

    @pytest.mark.parametrize(
        "command", [("resolve", "model.pte", *ON_DEVICE), ("inspect", "model.pte"), ("profiles", "list")]
    )
    def test_commands_that_run_nothing_do_not_need_it(
        self, cli: Callable[..., Outcome], project: Path, command: tuple[str, ...]
    ) -> None:
        project.write_text('executor = "executorch"\n')
        assert cli(*command).status == 0

    def test_it_runs_what_python_loads(
        self, place: Path, project: Path, installed: Callable[..., None]
    ) -> None:
        installed("acme-npu")
        project.write_text('executor = "numpy"\n')
        assert etconfig.load_program("model.pte").method_names == ("embed", "forward")
        project.write_text('executor = "acm"\n')
        with pytest.raises(ProfileError, match="no installed plugin declares an executor 'acm'"):
            etconfig.load_program("model.pte")
        etconfig.load_program("model.pte", executor="numpy").program.close()

    def test_a_trace_needs_another_one(self, cli: Callable[..., Outcome], project: Path) -> None:
        project.write_text('executor = "executorch"\n')
        assert cli(*RUN, "--trace", "t.json").status == 2
        project.write_text('executor = "numpy"\n')
        assert cli(*RUN, "--trace", "t.json").status == 0

    @pytest.mark.parametrize(
        ("name", "severity", "advice", "status"),
        [
            ("numpi", "error", "did you mean 'numpy'?", 1),
            (
                "executorch",
                "warning",
                f"'numpy' is built in; for 'executorch', {how_to_install('etconfig-executorch')}",
                0,
            ),
        ],
    )
    def test_validate_reports_it_at_its_line(
        self,
        cli: Callable[..., Outcome],
        project: Path,
        name: str,
        severity: str,
        advice: str,
        status: int,
    ) -> None:
        project.write_text(f'executor = "{name}"\n')
        done = cli("validate", "etconfig.toml", "--format", "json")
        (problem,) = done.json
        assert (done.status, problem["severity"], problem["help"]) == (status, severity, advice)
        assert (problem["code"], problem["spans"][0]["column"]) == ("unknown-executor", 12)

    def test_validate_offers_a_fix(self, cli: Callable[..., Outcome], project: Path) -> None:
        project.write_text('executor = "numpi"\n')
        assert cli("validate", "etconfig.toml", "--fix", "--unsafe-fixes").status == 0
        assert project.read_text() == 'executor = "numpy"\n'

    def test_doctor_shows_it_and_who_named_it(self, cli: Callable[..., Outcome], project: Path) -> None:
        project.write_text('executor = "numpy"\n')
        assert f"     ok  executor: numpy, from {project}:1:12\n" in cli("doctor").stdout
        project.write_text('executor = "numpi"\n')
        done = cli("doctor")
        assert done.status == 1
        assert f"  error  executor: {project}:1:12: no installed plugin declares" in done.stdout


class TestTwoProjectFiles:
    """`etconfig.toml` beside a pyproject.toml with `[tool.etconfig]`: a warning says which one counts."""

    @pytest.fixture(autouse=True)
    def both(self, place: Path) -> None:
        (place / "etconfig.toml").write_text('profile = "generic/any"\n')
        (place / "pyproject.toml").write_text('[tool.etconfig]\nprofile = "generic/linux"\n')

    MESSAGE = "[tool.etconfig] in pyproject.toml has no effect: etconfig.toml beside it counts"

    @pytest.mark.parametrize(
        "arguments",
        [
            ("resolve", "model.pte", *ON_DEVICE),
            RUN,
            ("validate", "etconfig.toml", "pyproject.toml", "--format", "concise"),
        ],
    )
    def test_commands_warn_once(self, cli: Callable[..., Outcome], arguments: tuple[str, ...]) -> None:
        done = cli(*arguments)
        assert done.status == 0
        assert (done.stdout + done.stderr).count(self.MESSAGE) == 1

    def test_doctor_warns(self, cli: Callable[..., Outcome], place: Path) -> None:
        out = cli("doctor").stdout
        assert f"warning  project file: {place}/pyproject.toml:1:7: {self.MESSAGE}\n" in out

    def test_a_pyproject_without_the_table_is_fine(self, cli: Callable[..., Outcome], place: Path) -> None:
        (place / "pyproject.toml").write_text('[project]\ndescription = """\n[tool.etconfig]\n"""\n')
        assert cli("resolve", "model.pte", *ON_DEVICE).stderr == ""

    def test_a_variable_that_names_one_decides(
        self, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ETCONFIG_PROJECT", "pyproject.toml")
        done = cli("resolve", "model.pte", *ON_DEVICE)
        assert (done.stderr, done.stdout.splitlines()[0]) == (
            "",
            "profile generic/linux, named by pyproject.toml:2:11",
        )
