"""A profile that programs share: settings for what one lacks are notes, for what all lack errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import ON_DEVICE, Outcome
from delegating_programs import delegating_program
from plugin_data import write_distribution

import etconfig
from etconfig import Installation, validate_file
from etconfig.errors import OptionError, ProfileError

NPU, CPU = "ReferenceNpuBackend", "ReferenceCpuBackend"

HEAD = '[profile]\nname = "shared"\n'
SHARED = f"{HEAD}[options.{CPU}]\nnum_threads = 2\n[options.{NPU}]\ncore = 1\n"
EMBED = f"{HEAD}[methods.embed.options.{NPU}]\ncore = 1\npower_mode = 'low'\n"
"""model.pte has the methods embed, on the NPU, and forward, on both; cpu.pte has forward on the CPU."""


@pytest.fixture(autouse=True)
def programs(place: Path) -> None:
    (place / "cpu.pte").write_bytes(delegating_program(CPU))


@pytest.fixture
def shared(place: Path) -> Callable[[str], Path]:
    """Write the shared profile."""

    def write(text: str) -> Path:
        path = Path("shared.toml")
        path.write_text(text)
        return path

    return write


def found(done: Outcome) -> list[str]:
    """Return the severities, codes and messages that `validate --format json` printed."""
    return [f"{each['severity']} {each['code']}: {each['message']}" for each in done.json]


class TestValidate:
    """`validate` compares a file with each program that is given, or else with those of the project file."""

    def validate(self, cli: Callable[..., Outcome], *programs: str) -> Outcome:
        options = [text for name in programs for text in ("--program", name)]
        return cli("validate", "shared.toml", *options, "--format", "json")

    @pytest.mark.parametrize("text", [SHARED, EMBED])
    def test_what_all_programs_have_is_fine(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path], text: str
    ) -> None:
        shared(text)
        assert found(self.validate(cli, "model.pte")) == []

    def test_a_backend_that_one_program_lacks_is_a_note(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path]
    ) -> None:
        shared(SHARED)
        done = self.validate(cli, "model.pte", "cpu.pte")
        assert found(done) == [f"note not-delegated: cpu.pte delegates nothing to '{NPU}'"]
        assert done.status == 0
        assert done.json[0]["notes"] == ["model.pte uses these settings"]
        assert done.json[0]["spans"][0]["line"] == 5
        assert done.stderr == "1 file checked: 0 errors, 0 warnings, 1 note\n"

    def test_and_an_error_if_no_given_program_has_it(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path]
    ) -> None:
        shared(SHARED)
        done = self.validate(cli, "cpu.pte")
        assert found(done) == [f"error not-delegated: the program delegates nothing to '{NPU}'"]
        assert done.status == 1
        (Path.cwd() / "more.pte").write_bytes(delegating_program(CPU))
        done = self.validate(cli, "cpu.pte", "more.pte")
        assert found(done) == [f"error not-delegated: none of the programs delegates anything to '{NPU}'"]
        assert done.json[0]["help"] == f"they delegate to {CPU}"

    def test_a_method_that_one_program_lacks_is_one_note(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path]
    ) -> None:
        shared(
            f"{EMBED}[[when]]\nif = 'power.source == \"battery\"'\n[when.methods.embed.options.{NPU}]\ncore=2"
        )
        done = self.validate(cli, "cpu.pte", "model.pte")
        assert found(done) == ["note unknown-method: cpu.pte has no method 'embed'"]
        assert done.json[0]["notes"] == [
            "model.pte uses these settings",
            "the same in 1 more place of this file",
        ]

    def test_a_method_that_none_has_is_an_error_with_a_suggestion(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path]
    ) -> None:
        shared(EMBED.replace("embed", "embd"))
        done = self.validate(cli, "cpu.pte", "model.pte")
        assert found(done) == ["error unknown-method: none of the programs has a method 'embd'"]
        assert done.json[0]["help"] == "did you mean 'embed'?"
        assert done.json[0]["fix"]["replacement"] == "embed"

    def test_a_method_that_delegates_to_another_backend_in_some_programs(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path]
    ) -> None:
        shared(f"{HEAD}[methods.forward.options.{NPU}]\ncore = 1\n")
        assert found(self.validate(cli, "cpu.pte", "model.pte")) == [
            f"note not-delegated: method 'forward' delegates nothing to '{NPU}' in cpu.pte"
        ]
        shared(f"{HEAD}[methods.embed.options.{CPU}]\nnum_threads = 1\n")
        assert found(self.validate(cli, "cpu.pte", "model.pte")) == [
            f"error not-delegated: method 'embed' delegates nothing to '{CPU}' in any program"
        ]

    def test_an_instance_of_a_method_that_one_program_lacks(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path]
    ) -> None:
        shared(f'{HEAD}[instances.left]\nmethod = "embed"\n[instances.left.options.{NPU}]\ncore = 0\n')
        assert found(self.validate(cli, "cpu.pte", "model.pte")) == [
            "note unknown-method: cpu.pte has no method 'embed'"
        ]

    def test_the_arguments_of_each_program_must_resolve(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path]
    ) -> None:
        shared(f'{HEAD}[options.{CPU}]\naccumulate = "fp64"\nscratch_bytes = 4096\n')
        for programs in (("cpu.pte", "model.pte"), ("model.pte", "cpu.pte")):
            problems = found(self.validate(cli, *programs))
            assert "error option-conflict" in [problem.split(":")[0] for problem in problems]

    def test_the_project_file_names_the_programs_if_none_is_given(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path], place: Path
    ) -> None:
        shared(SHARED)
        note = f"note not-delegated: cpu.pte delegates nothing to '{NPU}'"
        (place / "etconfig.toml").write_text('programs = ["cpu.pte", "model.pte"]\nprofile = "shared.toml"\n')
        assert found(self.validate(cli)) == [note]
        assert found(cli("validate", "etconfig.toml", "--format", "json")) == [note]
        assert found(self.validate(cli, "model.pte")) == []

    def test_they_are_relative_to_the_project_file(
        self,
        cli: Callable[..., Outcome],
        shared: Callable[[str], Path],
        place: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        shared(SHARED)
        (place / "etconfig.toml").write_text('programs = ["cpu.pte"]\n')
        (place / "below").mkdir()
        monkeypatch.chdir(place / "below")
        assert cli("validate", "../shared.toml").status == 1

    def test_one_that_cannot_be_read_is_a_finding_at_its_line_and_may_have_everything(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path], place: Path
    ) -> None:
        shared(SHARED)
        (place / "etconfig.toml").write_text('programs = ["gone.pte", "cpu.pte"]\n')
        done = self.validate(cli)
        assert done.status == 1
        assert found(done) == [
            "error unreadable-file: cannot read the program 'gone.pte': No such file or directory",
            f"note not-delegated: the program delegates nothing to '{NPU}'",
        ]
        assert done.json[0]["spans"][0]["column"] == 13
        assert done.json[1]["notes"] == ["these settings may be for gone.pte, which cannot be read here"]

    def test_one_whose_backend_is_not_installed_is_checked_as_far_as_possible(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path], place: Path
    ) -> None:
        shared(SHARED)
        (place / "other.pte").write_bytes(delegating_program("OtherBackend"))
        (place / "etconfig.toml").write_text('programs = ["model.pte", "other.pte"]\n')
        done = self.validate(cli)
        assert done.status == 0
        assert [line.split(":")[0] for line in found(done)] == [
            "warning backend-not-installed",
            "note not-delegated",
            "note not-delegated",
        ]

    def test_a_malformed_list_is_reported_once_beside_other_mistakes(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        (place / "etconfig.toml").write_text(f"programs = [1]\n[options.{CPU}]\nnum_thread = 1\n")
        codes = [line.split(":")[0] for line in found(cli("validate", "etconfig.toml", "--format", "json"))]
        assert codes == ["error wrong-type", "error unknown-option"]

    def test_github_shows_a_notice(self, cli: Callable[..., Outcome], shared: Callable[[str], Path]) -> None:
        shared(SHARED)
        options = ("--program", "cpu.pte", "--program", "model.pte", "--format", "github")
        assert cli("validate", "shared.toml", *options).stdout.startswith("::notice file=shared.toml,line=5")

    def test_python_takes_one_or_several(self, shared: Callable[[str], Path]) -> None:
        path = shared(SHARED)
        both = [etconfig.load_program(name) for name in ("cpu.pte", "model.pte")]
        assert [p.severity.value for p in validate_file(path, program=both)] == ["note"]
        assert [p.severity.value for p in validate_file(path, program=both[0])] == ["error"]
        assert validate_file(path, Installation()) == ()
        with pytest.raises(TypeError, match=r"program: expected what etconfig\.load_program returns"):
            validate_file(path, program=["model.pte"])  # type: ignore[list-item]


class TestResolve:
    """`resolve PROGRAM` and every command that configures a program report the same."""

    def resolve(self, cli: Callable[..., Outcome], program: str = "cpu.pte", *more: str) -> Outcome:
        return cli("resolve", program, *ON_DEVICE, "--profile", "shared.toml", *more)

    def test_what_another_program_of_the_project_has_is_a_note(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path], place: Path
    ) -> None:
        shared(SHARED)
        (place / "etconfig.toml").write_text('programs = ["cpu.pte", "model.pte"]\n')
        done = self.resolve(cli)
        assert done.status == 0
        assert done.stderr.startswith(f"note[not-delegated]: the program delegates nothing to '{NPU}'\n")
        assert "note: model.pte uses these settings" in done.stderr
        assert self.resolve(cli, "model.pte").stderr == ""

    def test_what_no_program_of_the_project_has_is_an_error(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path], place: Path
    ) -> None:
        shared(EMBED.replace("embed", "embd"))
        (place / "etconfig.toml").write_text('programs = ["cpu.pte", "model.pte"]\n')
        done = self.resolve(cli)
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith("error[unknown-method]: none of the programs has a method 'embd'\n")
        assert "help: did you mean 'embed'?" in done.stderr

    def test_without_a_list_of_programs_it_is_a_note_with_the_suggestion(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path]
    ) -> None:
        shared(EMBED.replace("embed", "foward").replace(NPU, CPU).split("core")[0] + "num_threads = 1\n")
        done = self.resolve(cli)
        assert done.status == 0
        assert done.stderr.startswith("note[unknown-method]: the program has no method 'foward'\n")
        assert "name all in the project file: programs = [...]" in done.stderr
        assert "help: did you mean 'forward'?" in done.stderr

    def test_a_program_that_is_not_on_the_device_may_have_everything(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path], place: Path
    ) -> None:
        shared(SHARED)
        (place / "etconfig.toml").write_text('programs = ["cpu.pte", "gone.pte"]\n')
        done = self.resolve(cli)
        assert (done.status, done.stderr.split(":")[0]) == (0, "note[not-delegated]")
        assert "these settings may be for gone.pte, which cannot be read here" in done.stderr

    def test_the_project_file_itself_is_checked(self, cli: Callable[..., Outcome], place: Path) -> None:
        text = f'programs = ["cpu.pte"]\nprofile = "generic/any"\n[options.{NPU}]\ncore = 1\n'
        (place / "etconfig.toml").write_text(text)
        assert cli("resolve", "cpu.pte", *ON_DEVICE).status == 2
        (place / "etconfig.toml").write_text(text.replace('["cpu.pte"]', '["cpu.pte", "model.pte"]'))
        assert cli("resolve", "cpu.pte", *ON_DEVICE).status == 0

    def test_what_this_program_has_may_be_lacking_in_others(
        self, cli: Callable[..., Outcome], shared: Callable[[str], Path], place: Path
    ) -> None:
        shared(EMBED)
        (place / "etconfig.toml").write_text('programs = ["cpu.pte"]\n')
        assert self.resolve(cli, "model.pte").stderr == ""

    def test_python_gets_notes_as_warnings(self, shared: Callable[[str], Path], place: Path) -> None:
        path = shared(SHARED)
        program = etconfig.load_program("cpu.pte")
        (note,) = etconfig.resolve(program, profile=path).warnings
        assert (note.code, note.severity.value) == ("not-delegated", "note")
        (place / "etconfig.toml").write_text('programs = ["cpu.pte"]\n')
        with pytest.raises(OptionError, match="none of the programs delegates anything"):
            etconfig.resolve(program, profile=path, installation=Installation(place))
        (place / "etconfig.toml").write_text("programs = 1\n")
        with pytest.raises(ProfileError, match="'programs' must be an array of strings"):
            etconfig.resolve(program, profile=path, installation=Installation(place))


class TestDoctor:
    """`doctor` lists the programs of the project file and fails if one cannot be read."""

    def test_all_can_be_read(self, cli: Callable[..., Outcome], place: Path) -> None:
        (place / "etconfig.toml").write_text('programs = ["model.pte", "cpu.pte"]\n')
        out = cli("doctor").stdout
        assert f"     ok  program: model.pte, from {place}/etconfig.toml:1:13\n" in out
        assert f"     ok  program: cpu.pte, from {place}/etconfig.toml:1:26\n" in out

    def test_one_is_missing(self, cli: Callable[..., Outcome], place: Path) -> None:
        (place / "etconfig.toml").write_text('programs = ["gone.pte"]\n')
        done = cli("doctor")
        assert done.status == 1
        assert (
            f"  error  program: {place}/etconfig.toml:1:13: cannot read the program 'gone.pte'" in done.stdout
        )


class TestNotes:
    """Notes are bounded."""

    def test_a_name_is_one_note_however_often_it_occurs(self, place: Path) -> None:
        overlays = (
            f"[[when]]\nif = 'power.source == \"battery\"'\n[when.options.{NPU}]\ncore = 1\n"
            for _ in range(50)
        )
        (place / "p.toml").write_text(HEAD.replace("shared", "p") + "".join(overlays))
        (note,) = etconfig.resolve(etconfig.load_program("cpu.pte"), profile="p.toml").warnings
        assert note.notes[-1] == "the same in 49 more places of this file"


class TestPackages:
    """Profiles that come with etconfig or a package serve all programs: nothing is said about them."""

    @pytest.fixture
    def boards(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The directory of profiles of an installed package."""
        write_distribution(
            place,
            "boards-1.0.dist-info",
            "[etconfig.profiles]\nboards = shipped:boards\n",
            "Name: boards\nVersion: 1.0\n",
        )
        (place / "shipped/boards").mkdir(parents=True)
        (place / "shipped/__init__.py").touch()
        (place / "shipped/boards/base.toml").write_text(SHARED.replace('"shared"', '"base"'))
        monkeypatch.syspath_prepend(str(place))
        return place / "shipped/boards"

    def test_they_are_not_mistakes_in_a_program_without_their_backends(
        self, cli: Callable[..., Outcome], boards: Path, place: Path
    ) -> None:
        (place / "etconfig.toml").write_text('profile = "base"\nprograms = ["cpu.pte"]\n')
        assert cli("resolve", "cpu.pte", *ON_DEVICE).stderr == ""
        assert cli("validate", "etconfig.toml", "--format", "json").json == []
        (place / "own.toml").write_text('[profile]\nname = "own"\nextends = ["base"]\n')
        assert cli("validate", "own.toml", "--format", "json").json == []

    def test_but_are_checked_when_they_are_what_is_validated(
        self, cli: Callable[..., Outcome], boards: Path
    ) -> None:
        done = cli("validate", boards / "base.toml", "--program", "cpu.pte", "--format", "json")
        assert found(done) == [f"error not-delegated: the program delegates nothing to '{NPU}'"]
