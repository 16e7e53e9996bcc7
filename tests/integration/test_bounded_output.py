"""Output stays readable and bounded, whatever the input: long texts are cut, many problems counted."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import ON_DEVICE, Outcome

from etconfig.diagnostics.escape import MAX_TEXT
from etconfig.diagnostics.render import MAX_DIAGNOSTICS
from etconfig.report.model import MAX_ROWS

Cli = Callable[..., Outcome]
FORMS = ("text", "concise", "github")
HEAD = '[profile]\nname = "a"\n[options.ReferenceNpuBackend]\n'


def with_values(count: int) -> str:
    rows = [
        {
            "method": f"m{index}",
            "instance": None,
            "backend": "B",
            "options": {"o": {"value": index, "origin": {"kind": "default", "source": "x"}}},
        }
        for index in range(count)
    ]
    return json.dumps({"arguments": rows})


class TestLongTexts:
    """One long key, name or value does not fill the screen."""

    @pytest.mark.parametrize("form", FORMS)
    def test_a_long_key_is_cut(self, cli: Cli, place: Path, form: str) -> None:
        (place / "a.toml").write_text(f'{HEAD}"{"k" * 300_000}" = 1\n')
        done = cli("validate", "a.toml", "--format", form)
        assert len(done.stdout) < 3 * MAX_TEXT
        assert " more characters)" in done.stdout

    def test_json_has_all_of_it(self, cli: Cli, place: Path) -> None:
        (place / "a.toml").write_text(f'{HEAD}"{"k" * 300_000}" = 1\n')
        (problem,) = cli("validate", "a.toml", "--format", "json").json
        assert "k" * 300_000 in problem["message"]

    def test_a_long_value_in_a_table_is_cut(self, cli: Cli, place: Path) -> None:
        name = "n" * 200_000
        facts = {"os.name": {"value": "linux", "origin": name}, "cpu.arch": {"value": "arm64"}}
        (place / "a.json").write_text(json.dumps({"etconfig_fact_sheet": 1, "facts": facts}))
        assert len(cli("facts", "--facts", "a.json").stdout) < 5 * MAX_TEXT

    def test_a_long_word_of_the_command_line_is_cut(self, cli: Cli) -> None:
        assert len(cli("explain", "a" * 100_000).stderr) < 2 * MAX_TEXT

    def test_long_values_in_a_difference_are_cut(self, cli: Cli, place: Path) -> None:
        (place / "a.json").write_text(with_values(1))
        (place / "b.json").write_text(with_values(1).replace('"value": 0', f'"value": "{"v" * 300_000}"'))
        assert len(cli("diff", "a.json", "b.json").stdout) < 4 * MAX_TEXT


class TestManyProblems:
    """Very many problems are counted; formats for programs have all; of 4,000, the rest is not checked."""

    @pytest.fixture
    def many(self, place: Path) -> int:
        lines = "".join(f"o{index} = 1\n" for index in range(3_000))
        (place / "a.toml").write_text(HEAD + lines)
        return 3_000

    @pytest.mark.parametrize("form", FORMS)
    def test_the_first_are_shown_and_the_rest_counted(self, cli: Cli, many: int, form: str) -> None:
        done = cli("validate", "a.toml", "--format", form)
        assert done.stdout.count("unknown-option") == MAX_DIAGNOSTICS
        assert done.stderr == (
            f"{many - MAX_DIAGNOSTICS:,} more problems are not shown; --format json has all\n"
            f"1 file checked: {many} errors, 0 warnings\n"
        )

    def test_json_and_sarif_have_all(self, cli: Cli, many: int) -> None:
        assert len(cli("validate", "a.toml", "--format", "json").json) == many
        (run,) = cli("validate", "a.toml", "--format", "sarif").json["runs"]
        assert len(run["results"]) == many

    def test_other_commands_count_them_too(self, cli: Cli, many: int) -> None:
        done = cli("resolve", "model.pte", "--profile", "a.toml", "--facts", "device.json")
        assert done.stderr.count("unknown-option") == MAX_DIAGNOSTICS
        assert done.stderr.endswith(f"and {many - MAX_DIAGNOSTICS:,} more problems\n")

    def test_errors_are_shown_before_warnings(self, cli: Cli, place: Path) -> None:
        lines = "".join(f"[options.Missing{index}]\nx = 1\n" for index in range(1_000))
        (place / "a.toml").write_text(f'[profile]\nname = "a"\n{lines}{HEAD.split(chr(10), 2)[2]}core = 99\n')
        done = cli("validate", "a.toml", "--format", "concise")
        assert "invalid-value" in done.stdout
        assert len(done.stdout.splitlines()) == MAX_DIAGNOSTICS

    def test_the_rows_of_a_difference_are_counted(self, cli: Cli, place: Path) -> None:
        (place / "a.json").write_text(with_values(MAX_ROWS + 7))
        (place / "b.json").write_text(with_values(0))
        done = cli("diff", "a.json", "b.json")
        assert done.stdout.endswith("and 7 more; --json has all\n")
        assert len(cli("diff", "a.json", "b.json", "--json").json["changes"]) == MAX_ROWS + 7

    def test_the_rows_of_a_resolution_are_counted(self, cli: Cli, place: Path) -> None:
        methods = "".join(f"[methods.m{n}.options.ReferenceNpuBackend]\ncore = 1\n" for n in range(4_000))
        (place / "a.toml").write_text('[profile]\nname = "a"\n' + methods)
        lines = cli("resolve", "--profile", "a.toml", "--facts", "device.json").stdout.splitlines()
        rows = cli("resolve", "--profile", "a.toml", "--facts", "device.json", "--json").json["arguments"]
        count = sum(len(row["options"]) for row in rows)
        assert lines[-1] == f"and {count - MAX_ROWS:,} more; --json has all"
        assert sum("ReferenceNpuBackend" in line for line in lines) == MAX_ROWS


class TestOddPlaces:
    """Streams, terminals and files that are not what a command expects."""

    @pytest.mark.posix
    @pytest.mark.parametrize(
        "command",
        [
            "resolve model.pte --facts device.json",
            "explain ReferenceNpuBackend.core model.pte --facts device.json",
            "run model.pte --input x.npy --facts device.json",
        ],
    )
    def test_a_closed_stderr_is_not_an_error(self, shell: Callable[..., Outcome], command: str) -> None:
        done = shell(f"etconfig {command} 2>&-")
        assert done.status == 0
        assert done.stdout
        assert shell(f"etconfig {command} >&- 2>&-").status == 0

    @pytest.mark.parametrize("interval", ["nan", "inf", "1e300", "-1"])
    def test_an_interval_is_a_number_that_can_be_waited_for(self, cli: Cli, interval: str) -> None:
        done = cli("watch", "model.pte", "--interval", interval, "--count", "1")
        assert done.status == 2
        assert "invalid value for '--interval'" in done.stderr

    def test_tolerances_and_times_are_finite(self, cli: Cli) -> None:
        assert "nan is not a finite number" in cli("verify", "model.pte", "--rtol", "nan").stderr
        assert "inf is not a finite number" in cli("bench", "model.pte", "--time", "inf").stderr

    @pytest.mark.posix
    def test_a_pipe_in_place_of_the_lock_file_is_refused(self, cli: Cli, place: Path) -> None:
        os.mkfifo(place / "etconfig.lock")
        done = cli("resolve", "model.pte", "--facts", "device.json", "--locked")
        assert done.status == 2
        assert "cannot read etconfig.lock: it is not a regular file" in done.stderr
        done = cli("lock", "model.pte", "--facts", "device.json")
        assert (done.status, done.stderr) == (
            2,
            "error: cannot write etconfig.lock: it is not a regular file; remove it\n",
        )

    @pytest.mark.posix
    def test_a_sheet_can_be_written_into_a_pipe(self, shell: Callable[..., Outcome]) -> None:
        done = shell("etconfig facts --facts device.json --save /dev/stdout | cat")
        assert done.status == 0
        assert json.loads(done.stdout)["facts"]["os.name"]["value"] == "linux"
        assert done.stderr.endswith("facts written to /dev/stdout\n")

    def test_a_narrow_terminal_cuts_nothing(self, terminal: Callable[..., str], place: Path) -> None:
        (place / "a.toml").write_text('[profile]\nname = "a"\n[options.ReferenceNpuBackend]\n')
        facts = {"cpu.cache.l2": {"value": 524288}, "cpu.available_cores": {"value": 4}}
        (place / "a.json").write_text(json.dumps({"etconfig_fact_sheet": 1, "facts": facts}))
        arguments = ("resolve", "model.pte", "--profile", "a.toml", "--facts", "a.json")
        narrow = terminal(*arguments, COLUMNS="40").replace("\r\n", "\n")
        assert narrow.startswith(
            "profile a\n\n"
            "METHOD   embed\nBACKEND  ReferenceNpuBackend\nOPTION   core\nVALUE    0\n"
            "FROM     default ReferenceNpuOptions\n\nMETHOD   embed\n"
        )
        assert "VALUE    262144\nFROM     recommendation ReferenceCpuBackend (expr max(" in narrow

    @pytest.mark.parametrize(
        "arguments",
        [
            ("resolve", "model.pte", *ON_DEVICE),
            ("facts", *ON_DEVICE),
            ("backends",),
            ("backends", "ReferenceCpuBackend", *ON_DEVICE),
            ("profiles", "list"),
            ("profiles", "match", *ON_DEVICE),
            ("inspect", "model.pte"),
        ],
        ids=" ".join,
    )
    def test_a_narrow_terminal_shows_the_text_of_a_wide_one(
        self, terminal: Callable[..., str], arguments: tuple[str, ...]
    ) -> None:
        """Words may be wrapped, so what a wide terminal shows is looked for without blanks."""
        shown = [re.sub(r"\x1b\[[0-9;]*m", "", terminal(*arguments, COLUMNS=w)) for w in ("400", "40")]
        letters = [Counter(character for character in text if character.isalnum()) for text in shown]
        assert not letters[0] - letters[1]
        assert "…" not in shown[1]
