"""`etconfig validate`: its arguments, its findings and its fixes."""

from __future__ import annotations

import json
import re
import shlex
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import DATA, ON_DEVICE, ROOT, Outcome
from written_files import last_write

PI5 = DATA / "sheets" / "raspberry-pi-5.json"
DIGITS = DATA / "digits" / "digits.pte"
HEAD = '[profile]\nname = "acme/board"\n'
GOOD = f"{HEAD}[options.ReferenceNpuBackend]\ncore = 1\n"
TYPO = GOOD.replace("core", "coer")


@pytest.fixture
def write(place: Path) -> Callable[[str, str], Path]:
    """Write a file in the current directory."""

    def write(name: str, text: str) -> Path:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    return write


class TestArguments:
    """Files, directories and quoted patterns."""

    @pytest.mark.parametrize(
        "option", [("--facts", str(PI5)), ("--program", str(DIGITS)), ("--device", "pi-5")]
    )
    @pytest.mark.parametrize("form", ["concise", "github", "json", "sarif"])
    def test_a_project_file_that_is_no_toml_is_a_finding_like_others(
        self,
        cli: Callable[..., Outcome],
        write: Callable[[str, str], Path],
        option: tuple[str, str],
        form: str,
    ) -> None:
        write("etconfig.toml", '[[when]]\nif = os.name == "linux"\n')
        done = cli("validate", "etconfig.toml", *option, "--format", form)
        assert done.status == 1
        assert "invalid-toml" in done.stdout

    def test_all_files_of_a_directory_and_a_pattern_are_checked(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        write("a/good.toml", GOOD)
        write("a/b/bad.toml", TYPO)
        write("c/bad.toml", TYPO)
        done = cli("validate", "a", "c/*.toml", "--format", "concise")
        assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["a/b/bad.toml", "c/bad.toml"]
        assert done.stderr.startswith("3 files checked: 2 errors, 0 warnings")
        assert done.status == 1

    def test_a_warning_fails_if_it_is_asked_for(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        never = 'match = "cpu.logical_cores >= 9 && cpu.logical_cores < 4"\n'
        write("never.toml", GOOD.replace("[options", f"{never}[options"))
        assert "0 errors, 1 warning" in cli("validate", "never.toml").stderr
        assert [cli("validate", "never.toml", *more).status for more in ([], ["--strict"])] == [0, 1]
        write("good.toml", GOOD)
        assert cli("validate", "good.toml", "--strict").status == 0

    @pytest.mark.parametrize(
        ("argument", "message"),
        [("*.tml", "No file matches '*.tml'"), ("empty", "Directory 'empty' contains no .toml file")],
    )
    def test_an_argument_without_files_is_a_usage_error(
        self, cli: Callable[..., Outcome], argument: str, message: str
    ) -> None:
        Path("empty").mkdir()
        done = cli("validate", argument)
        assert done.status == 2
        assert done.stderr.startswith(f"error: invalid value for '[FILES]...': {message}\n")

    def test_a_file_that_cannot_be_read_is_a_finding_and_the_rest_goes_on(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        Path("gone.toml").symlink_to("nowhere")
        write("typo.toml", TYPO)
        done = cli("validate", "gone.toml", "typo.toml", "--format", "concise")
        assert [line.split()[1] for line in done.stdout.splitlines()] == ["unreadable-file", "unknown-option"]

        assert done.status == 2

    @pytest.mark.parametrize(("text", "count"), [(GOOD, 0), (TYPO, 1)])
    def test_missing_files_do_not_keep_the_others_from_being_checked(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path], text: str, count: int
    ) -> None:
        write("board.toml", text)
        done = cli("validate", "gone.toml", "board.toml", "*.tml", "--format", "concise")
        assert done.status == 2
        assert len(done.stdout.splitlines()) == count
        first, second, summary = done.stderr.splitlines()
        assert first == "error: File 'gone.toml' does not exist"
        assert second == "error: No file matches '*.tml'"
        assert summary.startswith(f"1 file checked: {count} error")

    def test_missing_files_keep_json_valid_and_fixes_working(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        path = write("board.toml", TYPO)
        done = cli("validate", "gone.toml", "board.toml", "--format", "json")
        assert (done.status, [each["code"] for each in done.json]) == (2, ["unknown-option"])
        assert cli("validate", "gone.toml", "board.toml", "--fix", "--unsafe-fixes").status == 2
        assert path.read_text() == GOOD

    def test_a_missing_thing_that_a_file_names_is_a_finding(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        write("etconfig.toml", 'programs = ["gone.pte"]\nprofile_path = ["gone"]\n')
        done = cli("validate", "etconfig.toml")
        assert (done.status, done.stdout.count("unreadable-file")) == (1, 2)

    def test_a_problem_of_a_shared_base_is_reported_once(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        write("base.toml", TYPO)
        for name in ("x", "y"):
            write(f"{name}.toml", f'[profile]\nname = "{name}"\nextends = ["base.toml"]\n')
        done = cli("validate", "x.toml", "y.toml")
        assert done.stdout.count("error[") == 1


class TestEveryProblem:
    """One run reports all problems of a file, whichever part of etconfig finds them."""

    HEAD = '[profile]\nname = "both"\nmatch = \'cpu.arc == "x"\'\n'
    OPTIONS = "[options.ReferenceCpuBackend]\nnum_thread = 3\n"
    INSTANCE = "[instances.left.options.ReferenceNpuBackend]\ncor = 1\n"

    @pytest.mark.parametrize(
        ("name", "text", "codes"),
        [
            (
                "both.toml",
                HEAD + OPTIONS + INSTANCE,
                ["unknown-fact", "unknown-option", "unknown-instance", "unknown-option"],
            ),
            ("both.toml", OPTIONS, ["missing-key", "unknown-option"]),
            ("etconfig.toml", "profil = 1\n" + OPTIONS, ["unknown-key", "unknown-option"]),
            (
                "pyproject.toml",
                "[tool.etconfig]\nprofile = 1\n" + OPTIONS.replace("[", "[tool.etconfig."),
                ["wrong-type", "unknown-option"],
            ),
            ("both.toml", "[profile\n" + OPTIONS, ["invalid-toml"]),
        ],
    )
    def test_options_are_checked_also_where_something_else_is_wrong(
        self,
        cli: Callable[..., Outcome],
        write: Callable[[str, str], Path],
        name: str,
        text: str,
        codes: list[str],
    ) -> None:
        write(name, text)
        done = cli("validate", name, "--format", "concise")
        assert [line.split()[1] for line in done.stdout.splitlines()] == codes


class TestDevice:
    """With a device, arguments must resolve on it."""

    TEXT = f"{HEAD}[options.ReferenceCpuBackend]\n" + 'num_threads = { expr = "cpu.available_cores - 4" }\n'

    def test_without_one_a_value_that_some_device_may_refuse_is_a_warning(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        done = cli("validate", write("a.toml", self.TEXT), "--format", "concise")
        assert done.status == 0
        assert "unproven-value" in done.stdout

    @pytest.mark.parametrize("device", [("--facts", PI5), ("--fact", "cpu.available_cores=4")])
    def test_on_a_sheet_or_with_facts_they_must_have_a_valid_value(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path], device: tuple[str, ...]
    ) -> None:
        done = cli("validate", write("a.toml", self.TEXT), *device, "--format", "concise")
        assert done.status == 1
        assert "invalid-value ReferenceCpuBackend.num_threads: expected an integer" in done.stdout

    def test_a_fact_by_hand_wins_over_the_files(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        text = f'{HEAD}[facts]\n"npu.count" = 2\n[options.ReferenceNpuBackend]\n' + (
            'core = { expr = "npu.count" }\n'
        )
        path = write("a.toml", text)
        assert cli("validate", path, "--facts", PI5).status == 0
        assert cli("validate", path, "--facts", PI5, "--fact", "npu.count=9").status == 1

    def test_auto_in_a_project_file_means_the_profile_of_the_device(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        write(
            "boards/acme/pi.toml",
            f'{HEAD.replace("board", "pi")}match = "npu.count == 7"\nextends = ["gone"]\n',
        )
        path = write("etconfig.toml", 'profile = "auto"\n')
        paths = ("--profile-path", "boards", "--format", "concise")
        assert "there is no profile 'gone'" in cli("validate", path, "--fact", "npu.count=7", *paths).stdout
        assert cli("validate", path, "--fact", "npu.count=6", *paths).stdout == ""


class TestFix:
    """--fix keeps the meaning of a file, --unsafe-fixes guesses, --diff only shows."""

    TEXT = (
        f"# a board\r\n{HEAD}\r\n"
        "[options.AcmeDspBackend]  # the DSP\r\n"
        'library = "libvision.so"\r\n'
        "'heap_size' =   \"2 MiB\"   # enough\r\n"
        "[options.ReferenceNpuBackend]\r\n"
        'power_mod = "low"'
    )

    @pytest.fixture(autouse=True)
    def plugin(self, installed: Callable[..., None]) -> None:
        installed("acme-dsp")

    def test_safe_fixes_are_made_and_the_rest_is_reported(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        path = write("a.toml", self.TEXT)
        done = cli("validate", path, "--fix", "--format", "concise")
        assert path.read_bytes().decode() == self.TEXT.replace("heap_size", "heap_bytes")
        assert done == Outcome(
            1,
            "a.toml:9:1: unknown-option ReferenceNpuBackend has no option 'power_mod'; "
            "did you mean 'power_mode'?\n",
            "1 problem fixed in 1 file\n"
            "1 file checked: 1 error, 0 warnings; 1 fixable with --fix --unsafe-fixes\n",
        )

    def test_guesses_are_made_on_request(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        path = write("a.toml", self.TEXT)
        done = cli("validate", path, "--fix", "--unsafe-fixes")
        fixed = self.TEXT.replace("heap_size", "heap_bytes").replace("power_mod", "power_mode")
        assert path.read_bytes().decode() == fixed
        assert done == Outcome(0, "", "2 problems fixed in 1 file\n1 file checked: 0 errors, 0 warnings\n")

    def test_what_is_fixed_stays_fixed(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        path = write("a.toml", self.TEXT)
        cli("validate", path, "--fix")
        before = last_write(path)
        assert "fixed" not in cli("validate", path, "--fix").stderr
        assert last_write(path) == before

    def test_diff_shows_the_same_and_writes_nothing(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        path = write("a.toml", self.TEXT)
        done = cli("validate", path, "--diff")
        removed = [line for line in done.stdout.split("\n") if re.match("-[^-]", line)]
        added = [line for line in done.stdout.split("\n") if re.match(r"\+[^+]", line)]
        assert removed == ["-'heap_size' =   \"2 MiB\"   # enough\r"]
        assert added == ["+'heap_bytes' =   \"2 MiB\"   # enough\r"]
        assert path.read_bytes().decode() == self.TEXT
        assert done.stderr == (
            "1 file checked: 1 error, 1 warning; 1 fixable with --fix; 1 fixable with --fix --unsafe-fixes\n"
        )

    def test_a_base_that_was_not_named_is_left_alone(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        base = write("base.toml", self.TEXT)
        child = write("a.toml", '[profile]\nname = "a"\nextends = ["base.toml"]\n')
        done = cli("validate", child, "--fix")
        assert base.read_bytes().decode() == self.TEXT
        assert done.stderr == "1 file checked: 1 error, 1 warning\n"

    @pytest.mark.posix
    def test_the_mode_of_the_file_stays(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        path = write("a.toml", self.TEXT)
        path.chmod(0o640)
        cli("validate", path, "--fix")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--fix", "--diff"], "--diff shows what --fix would do; give one of them"),
            (["--unsafe-fixes"], "--unsafe-fixes goes with --fix or --diff"),
        ],
    )
    def test_options_that_make_no_sense_together_are_refused(
        self,
        cli: Callable[..., Outcome],
        write: Callable[[str, str], Path],
        options: list[str],
        message: str,
    ) -> None:
        done = cli("validate", write("a.toml", GOOD), *options)
        assert (done.status, done.stderr.splitlines()[0]) == (2, f"error: {message}")


class TestProgress:
    """Long work shows its progress, on a terminal only."""

    @pytest.fixture(autouse=True)
    def many(self, write: Callable[[str, str], Path]) -> None:
        for number in range(120):
            write(f"many/{number}.toml", GOOD)

    def test_a_terminal_shows_progress(self, terminal: Callable[..., str]) -> None:
        assert re.search(r"checking .*100%", terminal("validate", "many"))

    def test_a_pipe_shows_no_progress(self, cli: Callable[..., Outcome]) -> None:
        assert cli("validate", "many") == Outcome(0, "", "120 files checked: 0 errors, 0 warnings\n")


def hooks() -> dict[str, dict[str, str]]:
    """The hooks by id, of a file that is a list of flat mappings."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    blocks = [block.splitlines() for block in text.split("- ") if block]
    assert all(re.fullmatch(r" *[a-z_]+: \S.*", line) for block in blocks for line in block)
    found = [dict(line.strip().split(": ", 1) for line in block) for block in blocks]
    return {hook["id"]: hook for hook in found}


class TestPreCommit:
    """The hooks run as pre-commit runs them: the entry, with the names of the files that changed."""

    @pytest.mark.parametrize("hook", hooks().values(), ids=hooks())
    def test_a_hook_has_the_keys_that_pre_commit_needs(self, hook: dict[str, str]) -> None:
        assert hook.keys() == {"id", "name", "description", "entry", "language", "files", "require_serial"}
        assert hook["language"] == "python"

    @pytest.mark.parametrize("hook", hooks().values(), ids=hooks())
    def test_it_passes_a_good_file_and_stops_a_bad_one(
        self, shell: Callable[..., Outcome], write: Callable[[str, str], Path], hook: dict[str, str]
    ) -> None:
        good, bad = write("profiles/good.toml", GOOD), write("profiles/bad.toml", TYPO)
        assert shell(shlex.join([*shlex.split(hook["entry"]), str(good)])).status == 0
        done = shell(shlex.join([*shlex.split(hook["entry"]), str(good), str(bad)]))
        assert done.status == 1
        assert "did you mean 'core'?" in done.stdout

    @pytest.mark.parametrize("hook", hooks().values(), ids=hooks())
    def test_it_checks_configuration_only(self, hook: dict[str, str]) -> None:
        names = ["etconfig.toml", "app/etconfig.toml", "profiles/acme/board.toml"]
        assert all(re.search(hook["files"], name) for name in names)
        assert not any(re.search(hook["files"], name) for name in ["Cargo.toml", "not-etconfig.toml"])


class TestAllMistakesInOneRun:
    """No mistake hides another one, whatever it is about."""

    TEXT = """\
[profile]
name = "Acme board!"
extends = ["generic/nope", "../../outside.toml"]
match = "cpu.archh == 'arm64'"
description = 3
colour = "x"

[facts]
"power.sorce" = "mains"
"cpu.available_cores" = "four"

[options.ReferenceNpuBackend]
core = 9
power_mod = "low"
precision = { expr = "cpu.available_cores +" }

[options.RefereceNpuBackend]
core = 1

[instances.left]
options.ReferenceNpuBackend.core = 1

[[when]]
if = "power.source == 3"
options.ReferenceCpuBackend.num_threads = 0

[[when]]
iff = "true"
options.ReferenceCpuBackend.num_threads = { expr = "0 - cpu.available_cores" }

[methods.forwrd.options.ReferenceNpuBackend]
core = 77
"""
    FOUND = (
        "2:8 invalid-name",
        "3:12 unknown-profile",
        "3:28 extends-outside-tree",
        "4:10 unknown-fact",
        "5:15 wrong-type",
        "6:1 unknown-key",
        "9:1 unknown-fact",
        "10:25 invalid-fact-value",
        "13:8 invalid-value",
        "14:1 unknown-option",
        "15:44 invalid-expression",
        "17:10 unknown-backend",
        "20:12 unknown-instance",
        "24:7 expression-type",
        "25:43 invalid-value",
        "28:1 unknown-key",
        "29:52 invalid-value",
        "31:10 unknown-method",
        "32:8 invalid-value",
    )

    def test_each_is_reported_at_its_place(
        self, cli: Callable[..., Outcome], write: Callable[[str, str], Path]
    ) -> None:
        path = write("board.toml", self.TEXT)
        done = cli("validate", path, "--program", DIGITS, "--format", "json")
        found = [
            f"{each['spans'][0]['line']}:{each['spans'][0]['column']} {each['code']}"
            for each in json.loads(done.stdout)
        ]
        assert found == list(self.FOUND)


class TestProject:
    """Without files, the project file and what it names are checked."""

    BAD = '[profile]\nname = "x"\n[options.ReferenceCpuBackend]\nnum_thread = 1\n'

    def test_profiles_of_its_directories_and_the_named_one_are_checked(
        self, place: Path, cli: Callable[..., Outcome]
    ) -> None:
        for name in ("boards/a.toml", "own.toml", "other.toml"):
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_text(self.BAD)
        (place / "etconfig.toml").write_text('profile = "own.toml"\nprofile_path = ["boards", "missing"]\n')
        done = cli("validate", "--format", "concise")
        assert done.status == 1
        assert sorted({line.partition(":")[0] for line in done.stdout.splitlines()}) == [
            "boards/a.toml",
            "etconfig.toml",
            "own.toml",
        ]

    def test_a_project_file_that_cannot_be_read_is_checked(
        self, place: Path, cli: Callable[..., Outcome]
    ) -> None:
        (place / "etconfig.toml").write_text("[facts\n")
        assert cli("validate", "--format", "concise").stdout.startswith("etconfig.toml:1:1: invalid-toml")

    def test_without_one_files_must_be_named(self, place: Path, cli: Callable[..., Outcome]) -> None:
        done = cli("validate")
        assert done.status == 2
        assert "none to check (`etconfig matrix` compares programs alone with devices)" in done.stderr


def test_a_broken_project_file_hides_no_other_finding(cli: Callable[..., Outcome], place: Path) -> None:
    mistake = "[options.ReferenceCpuBackend]\nnum_thread = 1\n"
    (place / "board.toml").write_text(f"[profile]\nname = 'acme/board'\n{mistake}")
    devices: tuple[tuple[str, ...], ...] = ((), ON_DEVICE, ("--program", "model.pte", *ON_DEVICE))
    for text in ("x = = 1", "[plugins]\ndeny = 3", "[plugins]\nnothing = 1"):
        for project, head in (("etconfig.toml", "["), ("pyproject.toml", "[tool.etconfig.")):
            (place / project).write_text(f"{text}\n{mistake}".replace("[", head))
            for files in (("board.toml",), (project, "board.toml"), ("board.toml", project)):
                for device in devices:
                    done = cli("validate", *files, *device, "--format", "concise")
                    found = [Path(line.split(":")[0]).name for line in done.stdout.splitlines()]
                    in_project = 2 if text != "x = = 1" and project in files else 1
                    assert Counter(found) == {"board.toml": 1, project: in_project}, (text, files, done)
            (place / project).unlink()
