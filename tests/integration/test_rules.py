"""Levels of findings in commands: what is shown, and the exit status."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from command_line import Outcome

Cli = Callable[..., Outcome]

UNUSUAL = """\
[profile]
name = "acme/board"
match = 'os.name == "embedded"'
"""
UNDECIDED = """\
[profile]
name = "acme/board"
[[when]]
if = 'gpu.0.memory > 5'
options.ReferenceCpuBackend.num_threads = 2
"""


@pytest.fixture
def board(place: Path) -> Path:
    """A profile whose condition is a warning."""
    path = place / "board.toml"
    path.write_text(UNUSUAL)
    return path


def rules(text: str) -> None:
    Path("etconfig.toml").write_text(f"[rules]\n{text}\n")


class TestValidate:
    """`validate` exits with 1 for errors, and for what `--fail-on` names."""

    @pytest.mark.parametrize(
        ("level", "arguments", "status"),
        [
            (None, (), 0),
            (None, ("--fail-on", "error"), 0),
            (None, ("--fail-on", "warning"), 1),
            (None, ("--fail-on", "note"), 1),
            (None, ("--strict",), 1),
            ("error", (), 1),
            ("note", ("--fail-on", "warning"), 0),
            ("note", ("--fail-on", "note"), 1),
            ("off", ("--fail-on", "note"), 0),
        ],
    )
    def test_the_level_decides(
        self, board: Path, cli: Cli, level: str | None, arguments: tuple[str, ...], status: int
    ) -> None:
        if level is not None:
            rules(f'unusual-value = "{level}"')
        for form in ("text", "json", "github", "sarif", "concise"):
            assert cli("validate", board.name, "--format", form, *arguments).status == status

    def test_what_is_off_is_not_fixed_either(self, place: Path, cli: Cli) -> None:
        path = place / "board.toml"
        path.write_text(f"{UNUSUAL}discription = 'x'\n")
        rules('unknown-key = "off"')
        assert cli("validate", "board.toml", "--fix", "--unsafe-fixes").status == 0
        assert "discription" in path.read_text()

    def test_wrong_rules_do_not_hide_a_finding_and_are_one(self, board: Path, cli: Cli) -> None:
        rules('unusual-value = "none"')
        done = cli("validate", board.name, "--format", "json")
        assert done.status == 1
        assert [each["code"] for each in json.loads(done.stdout)] == ["invalid-rule", "unusual-value"]

    @pytest.mark.parametrize(
        "line", ["x = ", "discription = 1", "options.ReferenceCpuBackend.num_thread = 1"]
    )
    def test_no_comment_is_called_unused_where_an_error_keeps_checks_from_running(
        self, board: Path, cli: Cli, line: str
    ) -> None:
        board.write_text(f"{UNUSUAL}# etconfig: allow option-conflict, unknown-fact\n{line}\n")
        assert "unused-allowance" not in cli("validate", board.name).stdout

    def test_other_values_on_other_devices_are_one_finding(self, place: Path, cli: Cli) -> None:
        (place / "board.toml").write_text(
            "[profile]\nname = 'board'\n[options.ReferenceCpuBackend]\n"
            "num_threads = { expr = 'cpu.logical_cores - 4' }\n"
        )
        devices = [argument for each in ("pi-4", "pi-5", "pixel-8") for argument in ("--device", each)]
        done = cli("validate", "board.toml", *devices, "--format", "json")
        (found,) = (each for each in json.loads(done.stdout) if each["severity"] == "error")
        assert found["notes"][-1] == "on raspberry-pi/pi-4, raspberry-pi/pi-5"
        done = cli("validate", "board.toml", *devices, "--format", "concise")
        assert "(on raspberry-pi/pi-4, raspberry-pi/pi-5)" in done.stdout


def expected_status(
    files: Mapping[str, Sequence[tuple[str, bool]]],
    levels: Mapping[str, str],
    of_files: Sequence[tuple[str, Mapping[str, str]]],
    fail_on: str,
) -> int:
    """The exit status as the pages say; of each file, its findings in lines with or without a comment."""
    found = []
    for path, lines in files.items():
        codes = [code for code, is_allowed in lines if code and not is_allowed]
        is_whole = not any(code == "unknown-option" for code, _ in lines)
        codes += ["unused-allowance" for code, is_allowed in lines if is_allowed and not code and is_whole]
        for code in codes:
            level = levels.get(code, "error" if code == "unknown-option" else "warning")
            for where, given in of_files:
                if where in ("**", path, path.partition("/")[0], f"*/{path.partition('/')[2]}"):
                    level = given.get(code, level)
            found.append(level)
    counted = ("error", "warning", "note")
    return int(any(each in counted[: counted.index(fail_on) + 1] for each in found))


class TestWithoutEffect:
    """Rules for no file are reported, and no rule hides that a file cannot be read."""

    @pytest.mark.parametrize(
        ("path", "is_used"),
        [
            ("etconfig.toml", True),
            ("./profiles", True),
            ("profiles/*.toml", True),
            ("profiles/**/deep.toml", True),
            ("**/none", True),
            ("../*", True),
            ("profile", False),
            ("profile/**", False),
            ("/etc", False),
            ("!profiles", False),
            ("profiles/b.toml", False),
        ],
    )
    def test_paths_that_match_nothing(self, place: Path, cli: Cli, path: str, is_used: bool) -> None:
        (place / "profiles").mkdir()
        (place / "profiles" / "a.toml").write_text("[profile]\nname = 'a'")
        rules(f'[[rules.files]]\npaths = ["{path}"]\nunusual-value = "off"')
        done = cli("validate", "etconfig.toml")
        assert ("warning[unused-allowance]: no file or directory matches" in done.stdout) != is_used
        assert done.status == 0

    @pytest.mark.parametrize("level", ["off", "note"])
    def test_a_file_that_cannot_be_read(self, place: Path, cli: Cli, level: str) -> None:
        rules(f'unreadable-file = "{level}"')
        (place / "link.toml").symlink_to("none.toml")
        done = cli("validate", "link.toml", "etconfig.toml")
        assert (done.status, "error[unreadable-file]" in done.stdout) == (2, True)


class TestModel:
    """Rules, files, comments and `--fail-on` together."""

    def test_the_status_is_that_of_an_independent_model(self, place: Path, cli: Cli) -> None:
        chance = random.Random(4)
        codes = {"": "1", "unusual-value": "os.name == 'embedded'", "unknown-option": ""}
        options, values = ("num_threads", "scratch_bytes", "accumulate"), ("1", "16384", "'fp64'")
        names = ("unusual-value", "unknown-option", "unused-allowance")

        def some_levels() -> dict[str, str]:
            chosen = [name for name in names if chance.random() < 0.4]
            return {name: chance.choice(("error", "warning", "note", "off")) for name in chosen}

        for _ in range(40):
            files: dict[str, Sequence[tuple[str, bool]]] = {}
            for path in chance.sample(("a/x.toml", "a/y.toml", "b/x.toml"), chance.randint(1, 3)):
                lines = files[path] = [
                    (chance.choice([*codes]), chance.random() < 0.5) for _ in range(chance.randint(0, 3))
                ]
                text = f"[profile]\nname = '{path[0]}{path[2]}'\n"
                for at, (code, is_allowed) in enumerate(lines):
                    condition = codes[code] if code == "unusual-value" else f"cpu.logical_cores > {at + 1}"
                    option = f"none{at}" if code == "unknown-option" else options[at]
                    allowed = f" # etconfig: allow {code or names[at % 2]}" if is_allowed else ""
                    both = (allowed, "") if code == "unusual-value" else ("", allowed)
                    text += f'[[when]]\nif = "{condition}"{both[0]}\n'
                    text += f"options.ReferenceCpuBackend.{option} = {values[at]}{both[1]}\n"
                (place / path).parent.mkdir(exist_ok=True)
                (place / path).write_text(text)
            levels, fail_on = some_levels(), chance.choice(("error", "warning", "note"))
            of_files = [
                (chance.choice(("a", "b/x.toml", "*/x.toml", "c", "**")), some_levels())
                for _ in range(chance.randint(0, 3))
            ]
            lines_of = [f'{code} = "{level}"' for code, level in levels.items()]
            for where, given in of_files:
                lines_of += ["[[rules.files]]", f'paths = ["{where}"]']
                lines_of += [f'{code} = "{level}"' for code, level in given.items()]
            rules("\n".join(lines_of))
            done = cli("validate", *files, "--fail-on", fail_on)
            texts = {path: (place / path).read_text() for path in files}
            assert done.status == expected_status(files, levels, of_files, fail_on), (texts, lines_of, done)


class TestOtherCommands:
    """Warnings and notes of every command have levels; what stops a command is an error at any level."""

    def run(self, cli: Cli, *arguments: str) -> Outcome:
        Path("board.toml").write_text(UNDECIDED)
        Path("bare.json").write_text('{"etconfig_fact_sheet": 1, "facts": {}}')
        return cli("resolve", "--profile", "board.toml", "--facts", "bare.json", *arguments)

    def test_a_note_is_shown_and_changes_no_status(self, place: Path, cli: Cli) -> None:
        done = self.run(cli)
        assert (done.status, "note[undecided-condition]" in done.stderr) == (0, True)

    def test_a_note_that_is_off_is_not_shown(self, place: Path, cli: Cli) -> None:
        rules('undecided-condition = "off"')
        assert "undecided-condition" not in self.run(cli).stderr

    def test_a_note_that_is_an_error_makes_the_status_1_and_the_result_is_shown(
        self, place: Path, cli: Cli
    ) -> None:
        plain = self.run(cli).stdout
        rules('undecided-condition = "error"')
        done = self.run(cli)
        assert (done.status, done.stdout) == (1, plain)
        assert "error[undecided-condition]" in done.stderr

    @pytest.mark.parametrize(("level", "status"), [("error", 0), ("warning", 0), ("note", 1)])
    def test_fail_on_goes_with_any_command(self, place: Path, cli: Cli, level: str, status: int) -> None:
        assert self.run(cli, "--fail-on", level).status == status
        Path("board.toml").write_text(UNDECIDED)
        assert (
            cli("--fail-on", level, "matrix", "--profile", "board.toml", "--facts", "bare.json").status
            == status
        )

    def test_a_comment_allows_a_note(self, place: Path, cli: Cli) -> None:
        self.run(cli)
        path = Path("board.toml")
        path.write_text(UNDECIDED.replace("5'", "5'  # etconfig: allow undecided-condition because so"))
        done = cli("resolve", "--profile", "board.toml", "--facts", "bare.json", "--fail-on", "note")
        assert (done.status, done.stderr) == (0, "")

    def test_an_error_that_stops_the_work_is_not_lowered(self, place: Path, cli: Cli) -> None:
        rules('unknown-option = "off"')
        Path("board.toml").write_text(
            "[profile]\nname = 'a'\n[options.ReferenceCpuBackend]\nnum_thread = 1\n"
        )
        assert cli("validate", "board.toml").status == 0
        done = cli("resolve", "--profile", "board.toml")
        assert (done.status, "error[unknown-option]" in done.stderr) == (2, True)


class TestListing:
    """`rules` lists the levels, and `explain` shows a page."""

    def test_the_levels_of_the_project_are_shown(self, place: Path, cli: Cli) -> None:
        rules('unusual-value = "off"\n[[rules.files]]\npaths = ["a", "b"]\nunusual-value = "error"')
        rows = {each["code"]: each for each in json.loads(cli("rules", "--json").stdout)}
        assert rows["unusual-value"]["level"] == "off; error in a, b"
        assert (rows["unknown-fact"]["level"], rows["unknown-fact"]["fix"]) == ("error", "safe, guess")
        assert rows["untrusted-file"]["is_fixed"]
        assert cli("rules").stdout.splitlines()[0].split() == ["CODE", "LEVEL", "FIX", "MEANING"]

    def test_wrong_rules_are_an_error_and_the_codes_are_listed(self, place: Path, cli: Cli) -> None:
        codes = [each["code"] for each in json.loads(cli("rules", "--json").stdout)]
        rules('unusual-valu = "off"')
        done = cli("rules", "--json")
        assert (done.status, "no finding has the code 'unusual-valu'" in done.stderr) == (2, True)
        assert [each["code"] for each in json.loads(done.stdout)] == codes

    def test_explain_shows_the_page_of_a_code(self, place: Path, cli: Cli) -> None:
        done = cli("explain", "unusual-value")
        assert (done.status, done.stdout.splitlines()[0]) == (0, "# unusual-value")
        assert cli("explain", "unusual-value", "--json").status == 2

    def test_explain_reads_other_spellings_of_a_code(self, place: Path, cli: Cli) -> None:
        for text in ("UNUSUAL_VALUE", "error[unusual-value]"):
            assert cli("explain", text).stdout == cli("explain", "unusual-value").stdout
        done = cli("explain", "unusal-value")
        assert (done.status, "help: did you mean 'unusual-value'?" in done.stderr) == (2, True)
