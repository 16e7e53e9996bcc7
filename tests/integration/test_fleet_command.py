"""`etconfig fleet`, as a release engineer uses it."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line import Outcome, error

from etconfig.base.packages import how_to_install
from etconfig.expression import parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS

Cli = Callable[..., Outcome]

IDENTITY = "-c user.name=A -c user.email=a@example.org"

needs_duckdb = pytest.mark.skipif(find_spec("duckdb") is None, reason="needs the extra etconfig[fleet]")


def test_without_the_extra_it_says_how_to_install_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etconfig.fleet.inventory.database.is_installed", lambda: False)
    done = cli("fleet", "coverage", "devices.parquet")
    assert (done.status, done.stdout) == (2, "")
    install = how_to_install("'etconfig[fleet]'")
    message = f"etconfig fleet needs DuckDB, which is not installed: {install}"
    assert done.stderr == error(message)


def test_its_help_needs_no_extra(cli: Cli) -> None:
    assert "Check every value of every device" in cli("fleet", "validate", "--help").stdout


@pytest.fixture
def fleet(place: Path) -> Path:
    """The current directory, with 200 devices in two files, and profiles."""
    import duckdb
    from fleet_devices import random_devices, write_devices, write_profiles

    devices = random_devices(Random(2), 200)
    connection = duckdb.connect()
    (place / "fleet").mkdir()
    write_devices(connection, place / "fleet" / "a.parquet", devices[:120])
    write_devices(connection, place / "fleet" / "b.parquet", devices[120:], start=120)
    write_profiles(place / "profiles")
    return place


PROFILES = ("--profile-path", "profiles")


def rows_of(path: Path, order: str = "ALL") -> list[tuple[Any, ...]]:
    import duckdb

    return list(duckdb.connect().execute(f"SELECT * FROM '{path}' ORDER BY {order}").fetchall())


@needs_duckdb
class TestFleet:
    """The commands of the group, on real files."""

    def test_resolve_writes_three_tables(self, cli: Cli, fleet: Path) -> None:
        done = cli(
            "fleet", "resolve", "fleet/*.parquet", "--program", "model.pte", *PROFILES, "-o", "out", "--json"
        )
        assert done.status == 0, done.stderr
        data = done.json
        assert data["devices"] == 200
        assignments = rows_of(fleet / "out" / "assignments.parquet")
        assert [row[0] for row in assignments] == sorted(f"device-{n}" for n in range(200))
        resolutions = rows_of(fleet / "out" / "resolutions.parquet")
        assert {row[2] for row in assignments} - {None} == {row[0] for row in resolutions}
        assert all(json.loads(row[5]) is not None for row in resolutions)
        problems = rows_of(fleet / "out" / "problems.parquet", "devices DESC")
        assert sum(row[3] for row in problems) == 200 - data["resolved"] > 0
        assert sorted(each.name for each in (fleet / "out").iterdir()) == [
            "assignments.parquet",
            "problems.parquet",
            "resolutions.parquet",
        ]

    @pytest.mark.parametrize("name", ["assignments.parquet", "problems.parquet"])
    def test_a_table_of_another_program_is_not_replaced(self, cli: Cli, fleet: Path, name: str) -> None:
        (fleet / "out").mkdir()
        other = fleet / "out" / name
        resolve = ("fleet", "resolve", "fleet", *PROFILES, "-o", "out")
        shutil.copy(fleet / "fleet" / "a.parquet", other)
        before = other.read_bytes()
        for content in (before, b"nothing"):
            other.write_bytes(content)
            done = cli(*resolve)
            message = (
                f"cannot write out/{name}: it is there, and not a table that `etconfig fleet` has written"
            )
            assert done == Outcome(2, "", error(f"{message}; give another file, or --force"))
            assert other.read_bytes() == content
        assert cli(*resolve, "--force").status == 0
        assert cli(*resolve).status == 0  # its own

    def test_coverage_names_what_nobody_gets(self, cli: Cli, fleet: Path) -> None:
        done = cli("fleet", "coverage", "fleet", "--program", "model.pte", *PROFILES, "--html", "report.html")
        assert done.status == 0
        assert "several profiles match" in done.stdout
        assert "Profiles that match no device:" in done.stdout
        assert "raspberry-pi/pi-5" in done.stdout
        assert "device-" not in done.stdout  # names of devices are not for reports
        page = (fleet / "report.html").read_text()
        assert '<th scope="col">DEVICES</th>' in page
        assert "device-" not in page.replace("width=device-width", "")

    def test_names_of_devices_are_shown_on_request(self, cli: Cli, fleet: Path) -> None:
        assert "device-" in cli("fleet", "coverage", "fleet", *PROFILES, "--show-ids").stdout

    def test_missing_coverage_fails(self, cli: Cli, fleet: Path) -> None:
        done = cli("fleet", "coverage", "fleet", *PROFILES, "--require-coverage", "100%")
        assert done.status == 1
        assert "of 200 devices get no options" in done.stderr
        assert cli("fleet", "coverage", "fleet", *PROFILES, "--require-coverage", "1%").status == 0
        refused = cli("fleet", "coverage", "fleet", *PROFILES, "--require-coverage", "150%")
        assert refused.status == 2
        assert "'150%' is not a share" in refused.stderr

    def test_coverage_counts_the_devices_whose_memory_suffices(self, cli: Cli, place: Path) -> None:
        import duckdb
        from fleet_devices import write_devices

        known: list[dict[str, object]] = [
            {"memory.available": size} for size in (100_000, 2_000_000, 3_000_000)
        ]
        write_devices(duckdb.connect(), place / "fleet.parquet", [*known, {}])
        arguments = ("fleet", "coverage", "fleet.parquet", "--program", "model.pte")
        assert cli(*arguments, "--fits").stdout.split("\n\n")[1] == (
            "Memory:\n"
            "PROGRAMS                        DEVICES  SHARE\n"
            "fit                             2        50 %\n"
            "need more than there is         1        25 %\n"
            "nothing is known of the memory  1        25 %"
        )
        counted = {"fits": 2, "too_little": 1, "unknown": 1, "share": 0.5}
        assert cli(*arguments, "--fits", "--json").json["memory"] == counted
        assert "memory" not in cli(*arguments, "--json").json

    def test_the_memory_is_not_estimated_on_workers(self, cli: Cli) -> None:
        done = cli("fleet", "coverage", "fleet.parquet", "--fits", "--on", "dask://localhost:8786")
        assert done.status == 2
        assert "programs do not travel to workers: leave out --fits or --on" in done.stderr

    def test_a_histogram_counts_the_values_of_an_option(self, cli: Cli, fleet: Path) -> None:
        option = "ReferenceCpuBackend.num_threads"
        done = cli("fleet", "histogram", option, "fleet", "--program", "model.pte", *PROFILES, "--json")
        counts = done.json["options"][f"forward:{option}"]
        covered = cli("fleet", "coverage", "fleet", "--program", "model.pte", *PROFILES, "--json").json
        assert sum(counts.values()) == covered["resolved"]
        assert cli("fleet", "histogram", "NoBackend.x", "fleet", *PROFILES).status == 2

    def test_explain_tells_the_story_of_one_device(self, cli: Cli, fleet: Path) -> None:
        (device, profile, *_), *_ = [
            row for row in self._assignments(cli, fleet) if row[1] == "acme/phone" and row[2] is not None
        ]
        done = cli("fleet", "explain", device, "fleet", "--program", "model.pte", *PROFILES)
        assert done.status == 0, done.stderr
        assert done.stdout.startswith(f"profile {profile}\n")
        assert "forward:ReferenceCpuBackend.num_threads = " in done.stdout
        unknown = cli("fleet", "explain", "nobody", "fleet", *PROFILES)
        assert unknown.stderr == error("no device is called 'nobody' in these inventories")

    def _assignments(self, cli: Cli, fleet: Path) -> list[tuple[Any, ...]]:
        cli("fleet", "resolve", "fleet", "--program", "model.pte", *PROFILES, "-o", "out")
        return rows_of(fleet / "out" / "assignments.parquet")

    def test_a_sample_stands_for_all_results(self, cli: Cli, fleet: Path) -> None:
        assert (
            cli(
                "fleet",
                "sample",
                "fleet",
                *PROFILES,
                "--program",
                "model.pte",
                "-o",
                "golden",
                "--by",
                "result",
            ).status
            == 0
        )
        sheets = sorted((fleet / "golden").glob("*.json"))
        assert [path.name for path in sheets] == [f"{n:04d}.json" for n in range(1, len(sheets) + 1)]
        assert not any("device-" in path.read_text() for path in sheets)
        results = {row[1:] for row in self._assignments(cli, fleet)}
        sampled = cli("fleet", "resolve", "golden", "--program", "model.pte", *PROFILES, "-o", "again")
        assert sampled.status == 0, sampled.stderr
        assert {row[1:] for row in rows_of(fleet / "again" / "assignments.parquet")} == results

    def test_a_diff_of_two_revisions_counts_devices(self, cli: Cli, fleet: Path) -> None:
        def git(*words: str) -> None:
            subprocess.run(["git", *IDENTITY.split(), *words], cwd=fleet, check=True, capture_output=True)

        git("init", "-q")
        git("add", "profiles")
        git("commit", "-qm", "profiles")
        phone = fleet / "profiles" / "acme" / "phone.toml"
        phone.write_text(phone.read_text().replace("< 0.15 &&", "< 0.3 &&"))
        words = ("fleet", "diff", "fleet", "HEAD", ".", "--program", "model.pte", *PROFILES)
        done = cli(*words, "--json")
        assert done.status == 0, done.stderr
        assert done.json["changed"] == sum(row["devices"] for row in done.json["changes"]) > 0
        assert cli(*words, "--max-changed", "0%").status == 1
        assert cli(*words, "--max-changed", "100%").status == 0
        same = cli("fleet", "diff", "fleet", "HEAD", "HEAD", *PROFILES, "--json")
        assert same.json["changed"] == 0
        refused = cli("fleet", "diff", "fleet", "no-such", ".", *PROFILES)
        assert refused.status == 2
        assert refused.stderr == error(
            "'no-such' is neither a directory nor a revision of git here: git knows no such revision"
        )

    def test_every_example_of_the_help_runs(self, cli: Cli, fleet: Path, shell: Cli) -> None:
        from etconfig.cli.commands.fleet import command

        for name in ("devices.parquet", "inventory/a.parquet"):
            (fleet / name).parent.mkdir(exist_ok=True)
            shutil.copy(fleet / "fleet" / "a.parquet", fleet / name)
        (fleet / "devices.jsonl").write_text('{"device_id": "a", "cpu.available_cores": 4}\n')
        (fleet / "usage").mkdir()
        (fleet / "usage" / "a.jsonl").write_text('{"etconfig_usage": 1, "reason": "fixed"}\n')
        for name in ("profiles-old", "profiles-new"):
            shutil.copytree(fleet / "profiles", fleet / name)
        for line in ("git init -q -b main", "git add profiles", f"git {IDENTITY} commit -qm profiles"):
            assert shell(line).status == 0
        texts = [command.help or "", *(each.help or "" for each in command.commands.values())]
        examples = {
            line for text in texts for line in re.findall(r"^ *(etconfig fleet .*)$", text, re.MULTILINE)
        }
        assert len(examples) > 10
        for example in sorted(examples):
            done = shell(example)
            assert done.status == 0, f"{example}\n{done.stderr}"

    def test_findings_of_validate_fail(self, cli: Cli, fleet: Path) -> None:
        assert cli("fleet", "validate", "fleet").status == 0
        (fleet / "bad.jsonl").write_text('{"device_id": "a", "power.battery_level": 87}\n')
        done = cli("fleet", "validate", "bad.jsonl", "--json")
        assert done.status == 1
        assert [row["problem"] for row in done.json["findings"]] == ["expected at most 1, in fraction"]

    def test_more_rows_are_named_on_request(self, cli: Cli, fleet: Path) -> None:
        lines = "".join(f'{{"device_id": "{n % 6}", "power.battery_level": 87}}\n' for n in range(12))
        (fleet / "bad.jsonl").write_text(lines)
        for given, count in (
            ((), 3),
            (("--rows", "5"), 5),
            (("--rows", "2000"), 12),
            (("--rows", "all"), 12),
        ):
            done = cli("fleet", "validate", "bad.jsonl", "--json", *given)
            repeated, wrong = done.json["findings"]
            assert wrong["rows"] == [*range(1, count + 1)]
            assert repeated["rows"] == [*range(7, 13)][:count]
            assert repeated["earlier"] == [*range(1, 7)][:count]
        assert "7 (as 1), 8 (as 2), 9 (as 3)" in cli("fleet", "validate", "bad.jsonl").stdout
        for rows in ("0", "-1", "many", "9" * 20):
            refused = cli("fleet", "validate", "bad.jsonl", "--rows", rows)
            assert refused.status == 2
            assert "is neither a number from 1 to 1000000000 nor 'all'" in refused.stderr

    def test_an_inventory_without_devices_is_a_finding(self, cli: Cli, fleet: Path) -> None:
        (fleet / "none.jsonl").write_text("\n")
        (fleet / "sheets").mkdir()
        for name in ("none.jsonl", "sheets"):
            done = cli("fleet", "validate", name)
            assert done.status == 1
            assert f"error[invalid-fact-sheet]: there are no devices in {name}\n" in done.stdout
            assert done.stderr == "0 devices checked: 1 finding\n"
        assert cli("fleet", "validate", "none.jsonl", "fleet").status == 0

    def test_a_file_that_cannot_be_read_has_one_status(self, cli: Cli, fleet: Path) -> None:
        (fleet / "cut.parquet").write_bytes(b"nothing")
        (fleet / "bad.jsonl").write_text('{"device_id": "a", "power.battery_level": 87}\n')
        for names in (("cut.parquet",), ("missing.parquet",), ("bad.jsonl", "cut.parquet")):
            done = cli("fleet", "validate", *names)
            assert done.status == 2
            assert f"error[unreadable-file]: cannot read {names[-1]}" in done.stdout + done.stderr
        assert (
            "expected at most 1, in fraction" in cli("fleet", "validate", "bad.jsonl", "cut.parquet").stdout
        )

    @pytest.mark.parametrize("command", ["validate", "coverage"])
    def test_a_full_disk_of_the_cache_is_not_blamed_on_the_inventory(
        self, cli: Cli, fleet: Path, monkeypatch: pytest.MonkeyPatch, command: str
    ) -> None:
        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        (fleet / "a.jsonl").write_text('{"device_id": "a", "os.name": "linux"}\n')
        monkeypatch.setattr("etconfig.fleet.inventory.conversion.convert_lines", full)
        done = cli("fleet", command, "a.jsonl", "--cache", "there")
        text = done.stdout + done.stderr
        assert done.status == 2
        reason = os.strerror(errno.ENOSPC)
        assert f"it is converted to Parquet in there, which cannot be written: {reason}\n" in text
        assert "help: give another directory with --cache\n" in text

    def test_a_file_that_duckdb_cannot_write_is_not_blamed_on_the_inventory(
        self, cli: Cli, fleet: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def failing(database: Any, path: Path, target: Path, *_: object) -> None:
            target.mkdir()
            database.rows(f"COPY (SELECT 1) TO '{target / 'x' / 'y'}' (FORMAT parquet)")

        (fleet / "a.jsonl").write_text('{"device_id": "a", "os.name": "linux"}\n')
        monkeypatch.setattr("etconfig.fleet.inventory.conversion.convert_lines", failing)
        monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)
        done = cli("fleet", "validate", "a.jsonl", "--cache", ".")
        assert done.status == 2
        assert "it is converted to Parquet in ., which cannot be written: " in done.stdout

    def test_names_of_devices_are_in_no_finding(self, cli: Cli, fleet: Path) -> None:
        (fleet / "ids.jsonl").write_text(
            '{"device_id": "secret\\n7"}\n{"device_id": "a", "device.id": "own\\t8"}\n'
        )
        for arguments in ((), ("--json",)):
            done = cli("fleet", "validate", "ids.jsonl", *arguments)
            assert done.status == 1
            assert "expected a string of printable characters" in done.stdout
            assert not re.search("secret|own", done.stdout + done.stderr)

    def test_an_empty_fleet_is_not_covered(self, cli: Cli, fleet: Path) -> None:
        (fleet / "none.jsonl").write_text("")
        done = cli("fleet", "coverage", "none.jsonl", "--require-coverage", "100%")
        assert (done.status, done.stderr) == (1, "there are no devices, so none gets options\n")
        assert cli("fleet", "coverage", "none.jsonl").status == 0

    def test_a_name_of_several_rows_is_explained_with_a_warning(self, cli: Cli, fleet: Path) -> None:
        line = '{{"device_id": "a", "os.name": "{}", "cpu.arch": "arm64"}}\n'
        for name, system in (("one", "macos"), ("two", "android")):
            (fleet / f"{name}.jsonl").write_text(line.format(system))
        done = cli("fleet", "explain", "a", "one.jsonl", "two.jsonl")
        assert done.stderr == "warning: 2 rows are called 'a'; this is the first of them\n"
        assert done.stdout.startswith("profile generic/macos\n")

    def test_sheets_of_two_samples_are_never_together(self, cli: Cli, fleet: Path) -> None:
        sample = ("fleet", "sample", "fleet", *PROFILES, "-o", "golden", "--by")
        assert cli(*sample, "group").status == 0
        before = {path: path.read_bytes() for path in (fleet / "golden").iterdir()}
        refused = Outcome(
            2,
            "",
            error(
                f"golden has {len(before)} sheets, such as 0001.json; "
                "give another directory, or --force to replace all of them"
            ),
        )
        for by in ("group", "result"):
            assert cli(*sample, by) == refused
        assert {path: path.read_bytes() for path in (fleet / "golden").iterdir()} == before
        assert cli(*sample, "result", "--force").status == 0
        assert cli(*sample[:-2], "fresh", "--by", "result").status == 0
        sheets = {
            name: {path.name: path.read_bytes() for path in (fleet / name).iterdir()}
            for name in ("golden", "fresh")
        }
        assert sheets["golden"] == sheets["fresh"]
        assert len(sheets["golden"]) < len(before)

    @pytest.mark.parametrize("text", ["{}", "[1]", "{", "\ufeff{}"])
    def test_what_is_no_sheet_is_never_replaced(self, cli: Cli, fleet: Path, text: str) -> None:
        sample = ("fleet", "sample", "fleet", *PROFILES, "-o", "golden")
        assert cli(*sample).status == 0
        (fleet / "golden" / "package.json").write_text(text)
        before = {path: path.read_bytes() for path in (fleet / "golden").iterdir()}
        message = "golden/package.json is not a fact sheet, and is not replaced; give another directory"
        assert cli(*sample, "--force") == Outcome(2, "", error(message))
        assert {path: path.read_bytes() for path in (fleet / "golden").iterdir()} == before

    def test_each_device_of_a_sample_has_a_file(self, cli: Cli, fleet: Path) -> None:
        names = ["a/b", "a_b", "A_B", "../" + "x" * 300, "../" + "x" * 300 + "y"]
        systems = ["linux", "android", "macos", "windows", "ios"]
        (fleet / "ids.jsonl").write_text(
            "".join(
                json.dumps({"device_id": name, "os.name": system}) + "\n"
                for name, system in zip(names, systems, strict=True)
            )
        )
        done = cli("fleet", "sample", "ids.jsonl", "--show-ids", "-o", "golden")
        assert done.status == 0, done.stderr
        written = list((fleet / "golden").glob("*.json"))
        found = {json.loads(path.read_text())["facts"]["device.id"]["value"] for path in written}
        assert found == set(names)

    def test_two_runs_do_not_write_to_one_directory(self, cli: Cli, fleet: Path) -> None:
        fcntl = pytest.importorskip("fcntl")
        resolve = ("fleet", "resolve", "fleet", *PROFILES, "-o", "out")
        assert cli(*resolve).status == 0
        descriptor = os.open(fleet / "out", os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            done = cli(*resolve)
        finally:
            os.close(descriptor)
        assert done.status == 2
        assert done.stderr == error(
            "out: another run writes its results there; wait for its end, or give another directory"
        )
        assert cli(*resolve).status == 0

    def test_ctrl_c_says_how_many_files_are_finished(
        self, cli: Cli, fleet: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from etconfig.fleet.running import resumable_run

        decide, calls = resumable_run.decide_part, []

        def interrupted(*arguments: Any) -> Any:
            calls.append(arguments)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return decide(*arguments)

        monkeypatch.setattr(resumable_run, "decide_part", interrupted)
        resolve = ("fleet", "resolve", "fleet", *PROFILES, "-o", "out")
        message = "interrupted: 1 of 2 files is finished; the same command continues from there"
        assert cli(*resolve) == Outcome(130, "", f"\n{message}\n")
        assert cli(*resolve).status == 0
        assert len(calls) == 3  # the finished file is not resolved again
        assert len(rows_of(fleet / "out" / "assignments.parquet")) == 200

    def test_a_damaged_page_of_a_file_is_an_error_without_a_traceback(self, cli: Cli, fleet: Path) -> None:
        import duckdb

        rows = "SELECT 'device-' || (i * 7919 % 30011) AS device_id FROM range(20000) t(i)"
        duckdb.execute(f"COPY ({rows}) TO '{fleet / 'cut.parquet'}'")
        content = bytearray((fleet / "cut.parquet").read_bytes())
        content[len(content) // 3 : len(content) // 3 + 2000] = b"\xff" * 2000
        (fleet / "cut.parquet").write_bytes(content)
        for command in ("validate", "coverage"):
            done = cli("fleet", command, "cut.parquet")
            assert done.status == 2
            assert done.stderr.startswith('error: Invalid Input Error: Failed to read file "cut.parquet"')

    def test_too_little_memory_is_an_error_that_says_what_to_do(self, cli: Cli, fleet: Path) -> None:
        import duckdb

        rows = "SELECT 'device-' || i AS device_id, 'linux' AS \"os.name\" FROM range(200000) t(i)"
        duckdb.execute(f"COPY ({rows}) TO '{fleet / 'many.parquet'}'")
        done = cli("fleet", "validate", "many.parquet", "--memory", "1MB")
        assert done.status == 2
        assert done.stderr.startswith("error: Out of Memory Error: ")
        assert done.stderr.rstrip().endswith("; give DuckDB more with --memory")

    def test_the_help_shows_the_range_of_shares(self, cli: Cli, fleet: Path) -> None:
        text = cli("fleet", "diff", "--help").stdout
        assert "[0<=x<=1]" in text
        assert "None" not in text

    def test_devices_of_several_files_are_counted(self, cli: Cli, fleet: Path) -> None:
        shutil.copy(fleet / "fleet" / "a.parquet", fleet / "again.parquet")
        done = cli("fleet", "validate", "fleet", "again.parquet")
        assert (done.status, done.stdout) == (1, "120 devices are in several files; name each device once\n")
        for name, device in (("x", "device-1"), ("y", "other")):
            (fleet / f"{name}.jsonl").write_text(f'{{"device_id": "{device}"}}\n{{"device_id": ""}}\n')
        done = cli("fleet", "validate", "fleet", "x.jsonl", "y.jsonl")
        assert "1 device is in several files; name each device once\n" in done.stdout
        assert "the device has no name" in cli("fleet", "coverage", "x.jsonl").stdout.partition("Problems")[0]

    def test_memory_must_be_an_amount(self, cli: Cli, fleet: Path) -> None:
        done = cli("fleet", "validate", "fleet", "--memory", "much")
        assert done.status == 2
        assert "'much' is not an amount of memory, such as 512MiB or 2GiB" in done.stderr


@needs_duckdb
class TestLines:
    """Inventories as lines of JSON, with mistakes."""

    def test_a_wrong_value_matters_only_in_a_fact_that_decides(self, cli: Cli, place: Path) -> None:
        (place / "profiles").mkdir()
        (place / "profiles" / "board.toml").write_text(
            '[profile]\nname = "board"\nmatch = \'os.name == "linux"\'\n'
        )
        wrong = ({"gpu.count": "1"}, {"os.name": 1}, {"gpu.counts": 1}, {})
        lines = [{"device_id": f"d{n}", "os.name": "linux", **facts} for n, facts in enumerate(wrong)]
        (place / "a.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        data = cli("fleet", "resolve", "a.jsonl", *PROFILES, "-o", "out", "--json").json
        assert (data["devices"], data["resolved"]) == (4, 2)
        assert sorted(row[1] for row in rows_of(place / "out" / "problems.parquet")) == [
            "no fact is called 'gpu.counts'",
            "os.name: expected a string",
        ]

    def test_broken_lines_and_sheets_are_counted_as_such(self, cli: Cli, place: Path) -> None:
        """They are not devices without a name."""
        good, nameless = '{"device_id": "a", "os.name": "linux"}', '{"os.name": "linux"}'
        (place / "a.jsonl").write_text(f'{good}\n{{"device_id": "b",\n[1]\n{nameless}\n')
        data = cli("fleet", "resolve", "a.jsonl", "-o", "out", "--json").json
        assert data["causes"] == {"broken-line": 2, "unnamed-device": 1}
        assert [row[:4] for row in rows_of(place / "out" / "problems.parquet")] == [
            ("broken-line", "the line is not a JSON object", None, 2),
            ("unnamed-device", "the device has no name", None, 1),
        ]
        (place / "fleet").mkdir()
        (place / "fleet" / "a.json").write_text('{"facts": ')
        text = cli("fleet", "coverage", "fleet").stdout
        assert re.search(r"^the line or sheet is not a JSON object +1 +100 %$", text, re.MULTILINE)
        assert re.search(r"^broken-line +the sheet is not a JSON object +1$", text, re.MULTILINE)
        assert "the sheet is not a JSON object" in cli("fleet", "validate", "fleet").stdout

    def test_one_device_is_not_several(self, cli: Cli, place: Path) -> None:
        (place / "a.jsonl").write_text('{"device_id": "a", "os.name": "linux"}\n')
        assert cli("fleet", "validate", "a.jsonl").stderr == "1 device checked: 0 findings\n"
        done = cli("fleet", "resolve", "a.jsonl", "-o", "out")
        assert done.stderr == "1 device, 1 resolution written to out\n"
        (place / "etconfig.toml").touch()
        done = cli("fleet", "diff", "a.jsonl", ".", ".")
        note, done_line = done.stderr.splitlines()
        assert note == "note: no side has profiles of its own, so only project files are compared"
        assert f"{done_line}\n" == "0 of 1 device changes (0 %); 0 get another profile\n"
        (place / "b.jsonl").write_text('{"device_id": "b"}\n[]\n[]\n[]\n')
        done = cli("fleet", "coverage", "a.jsonl", "b.jsonl", "--require-coverage", "100%")
        assert done.stderr == "3 of 5 devices get no options, but --require-coverage is 100%\n"
        (place / "b.jsonl").write_text("[]\n")
        done = cli("fleet", "coverage", "a.jsonl", "b.jsonl", "--require-coverage", "99.5%")
        assert done.stderr == "1 of 2 devices gets no options, but --require-coverage is 99.5%\n"

    def test_a_directory_names_the_sheets_and_the_values(self, cli: Cli, place: Path) -> None:
        (place / "fleet").mkdir()
        (place / "fleet" / "a.json").write_text('{"facts": {"gpu.count": {"value": "1"}}}')
        done = cli("fleet", "validate", "fleet")
        assert done.status == 1
        assert re.search(r"^FACT +PROBLEM +DEVICES +FIRST SHEETS +VALUES\n", done.stdout)
        assert re.search(r'gpu.count +expected an int of at most 64 bits +1 +a.json +"1"', done.stdout)
        (finding,) = cli("fleet", "validate", "fleet", "--json").json["findings"]
        assert (finding["sheets"], finding["values"]) == (["a.json"], ['"1"'])


@needs_duckdb
class TestSides:
    """`fleet diff` compares profiles or project files, or fails: a gate that reads nothing is never green."""

    MISSING = "name the directory of profiles with --profile-path, or as profile_path in the project file"

    def _commit(self, fleet: Path, *paths: str) -> None:
        for words in (("init", "-q"), ("add", *paths), (*IDENTITY.split(), "commit", "-qm", "all")):
            subprocess.run(["git", *words], cwd=fleet, check=True, capture_output=True)

    def test_profiles_that_no_side_reads_are_an_error(self, cli: Cli, fleet: Path) -> None:
        (fleet / "etconfig.toml").touch()
        self._commit(fleet, "profiles", "etconfig.toml")
        done = cli("fleet", "diff", "fleet", "HEAD", ".", "--max-changed", "1%")
        problem = "no side reads profiles of its own, but . has profiles/acme/any.toml"
        assert done == Outcome(2, "", error(f"{problem}; {self.MISSING}"))

    @pytest.mark.parametrize("way", ["project", "variable", "option"])
    def test_directories_of_profiles_are_those_of_each_side(
        self, cli: Cli, fleet: Path, way: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if way == "project":
            (fleet / "etconfig.toml").write_text('profile_path = ["profiles"]\n')
        if way == "variable":
            monkeypatch.setenv("ETCONFIG_PROFILE_PATH", "profiles")
        (fleet / "etconfig.toml").touch()
        self._commit(fleet, "profiles", "etconfig.toml")
        phone = fleet / "profiles" / "acme" / "phone.toml"
        phone.write_text(phone.read_text().replace("< 0.15 &&", "< 0.3 &&"))
        options = PROFILES if way == "option" else ()
        done = cli("fleet", "diff", "fleet", "HEAD", ".", *options, "--max-changed", "0%")
        assert done.status == 1
        assert done.stderr.endswith("more devices change than --max-changed 0% allows\n")

    def test_directories_without_profiles_are_an_error(self, cli: Cli, fleet: Path) -> None:
        (fleet / "old").mkdir()
        done = cli("fleet", "diff", "fleet", "old", "profiles")
        message = "old has no profiles and no project file; name a directory of profiles"
        assert done == Outcome(2, "", error(message))
        shutil.rmtree(fleet / "profiles")
        done = cli("fleet", "diff", "fleet", ".", ".")
        assert done == Outcome(2, "", error(f"no profiles and no project file in .; {self.MISSING}"))

    def test_a_side_that_has_no_profiles_yet_is_noted(self, cli: Cli, fleet: Path) -> None:
        (fleet / "etconfig.toml").touch()
        self._commit(fleet, "etconfig.toml")
        done = cli("fleet", "diff", "fleet", "HEAD", ".", *PROFILES)
        assert done.status == 0
        assert done.stderr.startswith("note: HEAD has no profiles of its own\n")


@needs_duckdb
class TestMovedDevices:
    """`fleet diff --devices` lists who is in a rollout."""

    def test_the_file_lists_each_change_of_each_device(self, cli: Cli, fleet: Path) -> None:
        for name, threads in (("before", 1), ("after", 2)):
            (fleet / name / "acme").mkdir(parents=True)
            (fleet / name / "acme" / "all.toml").write_text(
                '[profile]\nname = "acme/all"\nmatch = "true"\n'
                "[options.ReferenceCpuBackend]\nnum_threads = 1\n"
                "[[when]]\nif = 'bucket(device.id, \"wave\") < 0.25'\n"
                f"[when.options.ReferenceCpuBackend]\nnum_threads = {threads}\n"
            )
        words = ("fleet", "diff", "fleet", "before", "after", "--profile", "acme/all")
        done = cli(*words, "--devices", "moved.parquet", "--json")
        assert done.status == 0, done.stderr
        rows = rows_of(fleet / "moved.parquet")
        names = sorted(f"device-{n}" for n in range(200))
        condition = parse_expression('bucket(device.id, "wave") < 0.25', BUILTIN_FACTS)
        inside = [name for name in names if condition.evaluate({"device.id": name}) is True]
        assert 0 < len(inside) < 200
        option = "*:ReferenceCpuBackend.num_threads"
        assert rows == [(name, option, "1", "2") for name in inside]
        assert done.json["changed"] == len(inside)
        assert cli(*words[:3], "before", "before", *words[5:], "--devices", "moved.parquet").status == 0
        assert rows_of(fleet / "moved.parquet") == []

    def test_it_replaces_no_inventory(self, cli: Cli, fleet: Path) -> None:
        words = ("fleet", "diff", "fleet/a.parquet", "profiles", "profiles")
        done = cli(*words, "--devices", "fleet/a.parquet")
        assert (done.status, len(rows_of(fleet / "fleet" / "a.parquet"))) == (2, 120)


@needs_duckdb
def test_a_terminal_shows_the_progress_of_a_single_file(
    place: Path, terminal: Callable[..., str], tmp_path: Path
) -> None:
    rows = (
        {"device_id": f"d{n}", "cpu.arch": "arm64", "cpu.available_cores": n % 64 + 1} for n in range(20_000)
    )
    (place / "big.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ("fleet", "coverage", "big.jsonl", "--profile", "generic/any", "--threads", "1")
    shown = terminal(*command)
    assert "1/1 big.jsonl: 20,000 devices" in shown
    assert re.search(r"of this step|\r +\r", shown)  # removed at the end
    quiet = terminal(*command, "--quiet")
    assert not re.search(r"1/1|of this step|\r +\r", quiet)
