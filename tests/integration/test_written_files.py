"""No command destroys a file of the user, through any option that writes."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from command_line import ON_DEVICE, Outcome

from etconfig.cli.shared.writing import OutputPath
from etconfig.cli.startup.command_group import etconfig

pytest.importorskip("duckdb")

RUN = ("run", "model.pte", "--input", "x.npy", *ON_DEVICE)
FLEET = ("devices.jsonl", "--profile-path", "old")
MINE = b"a file of the user\n" * 20


@dataclass(frozen=True)
class Writer:
    """A command with an option that writes one file.

    Attributes:
        arguments: The command; `{}` stands for the file.
        file: The file that it writes.
        source: A file that it reads.
    """

    arguments: tuple[str, ...]
    file: str
    source: str

    def to(self, path: str) -> list[str]:
        return [each.replace("{}", path) for each in self.arguments]


WRITERS: dict[tuple[str, str], Writer] = {
    ("run", "output"): Writer((*RUN, "--output", "{}"), "y.npz", "x.npy"),
    ("run", "trace"): Writer((*RUN, "--trace-format=chrome", "--trace", "{}"), "t.json", "model.pte"),
    ("facts", "save"): Writer(("facts", *ON_DEVICE, "--save", "{}"), "sheet.json", "device.json"),
    ("inspect", "picture"): Writer(
        ("inspect", "model.svg", "--memory-plan", "{}"), "memory.svg", "model.svg"
    ),
    ("pack", "output"): Writer(
        ("pack", "model.etbundle", *ON_DEVICE, "-o", "{}"), "out.etbundle", "model.etbundle"
    ),
    ("matrix", "write_expect"): Writer(
        ("matrix", "model.pte", *ON_DEVICE, "--write-expect", "{}"), "expected.toml", "model.pte"
    ),
    ("conformance", "reports"): Writer(
        ("conformance", "ReferenceCpuBackend", "--level=0", "--xfails", "x.xml", "--report", "{}"),
        "r.xml",
        "x.xml",
    ),
    ("test", "junit"): Writer(("test", "model.pte", *ON_DEVICE, "--junit", "{}"), "r.xml", "model.pte"),
    ("test", "page"): Writer(("test", "model.pte", *ON_DEVICE, "--html", "{}"), "p.html", "model.pte"),
    ("fleet test", "page"): Writer(("fleet", "test", *FLEET, "--html", "{}"), "p.html", "devices.jsonl"),
    ("report", "output"): Writer(
        ("report", "model.html", *ON_DEVICE, "--output", "{}"), "r.html", "model.html"
    ),
    ("fleet coverage", "page"): Writer(
        ("fleet", "coverage", *FLEET, "--html", "{}"), "p.html", "devices.jsonl"
    ),
    ("fleet histogram", "page"): Writer(
        ("fleet", "histogram", "ReferenceCpuBackend.num_threads", *FLEET, "--html", "{}"),
        "p.html",
        "devices.jsonl",
    ),
    ("fleet resolve", "page"): Writer(
        ("fleet", "resolve", *FLEET, "-o", "results", "--html", "{}"), "p.html", "devices.jsonl"
    ),
    ("fleet diff", "page"): Writer(
        ("fleet", "diff", "devices.jsonl", "old", "new", "--html", "{}"), "p.html", "devices.jsonl"
    ),
    ("fleet compare", "page"): Writer(
        ("fleet", "compare", *FLEET, "--usage", "used.jsonl", "--html", "{}"), "p.html", "used.jsonl"
    ),
    ("fleet rollout", "page"): Writer(
        ("fleet", "rollout", *FLEET, "--to", "10%", "--html", "{}"), "p.html", "devices.jsonl"
    ),
    ("schema", "output"): Writer(
        ("schema", "ReferenceCpuBackend", "--emit", "cpp", "-o", "{}"), "options.h", "model.pte"
    ),
    ("fleet diff", "moved"): Writer(
        ("fleet", "diff", "devices.jsonl", "old", "new", "--devices", "{}"), "m.parquet", "devices.jsonl"
    ),
}
"""The options that name a file, by command and parameter."""

DIRECTORIES = {
    ("pack", "include"),
    ("conformance", "lower"),
    ("new-backend", "directory"),
    ("fleet resolve", "output"),
    ("fleet compare", "output"),
    ("fleet sample", "output"),
}
"""The options that name a directory, which have tests of their own below or beside their commands."""

BESIDE = {
    ("bench", "output"),
    ("fleet test", "page"),
    ("test", "junit"),
    ("tune", "output"),
    ("tune", "study"),
}
"""The options of commands that measure or test first, which have tests beside their commands."""


def written_by_click() -> Iterator[tuple[str, str]]:
    """Yield each command with each parameter that it writes to, but `--cache` of fleets."""
    context = click.Context(etconfig)
    for name in etconfig.list_commands(context):
        command = etconfig.get_command(context, name)
        assert command is not None
        inside = [(name, command)]
        if isinstance(command, click.Group):
            inside += [(f"{name} {each}", found) for each, found in command.commands.items()]
        for full, each in inside:
            for parameter in each.params:
                if isinstance(parameter.type, OutputPath) and parameter.name != "cache":
                    yield full, str(parameter.name)


def test_every_option_that_writes_is_tried() -> None:
    assert set(written_by_click()) == set(WRITERS) | DIRECTORIES | BESIDE


@pytest.fixture
def inputs(place: Path) -> Path:
    rows = [{"device_id": f"d{n}", "cpu.arch": "arm64", "cpu.available_cores": n} for n in (1, 2)]
    (place / "devices.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, number in (("old", 1), ("new", 2)):
        (place / name).mkdir()
        (place / name / "board.toml").write_text(
            f"[profile]\nname = 'board'\nmatch = 'cpu.arch == \"arm64\"'\n"
            f"[options.ReferenceCpuBackend]\nnum_threads = {number}\n"
        )
    for name in ("model.svg", "model.etbundle", "model.html"):
        shutil.copy("model.pte", name)
    (place / "x.xml").touch()
    used = {"etconfig_usage": 1, "device": "d1", "reason": "matched", "profile": "board"}
    (place / "used.jsonl").write_text(json.dumps(used) + "\n")
    return place


@pytest.mark.posix
@pytest.mark.parametrize("key", WRITERS, ids=" ".join)
class TestOneFile:
    """A file of the user stays as it is; only the command's own output is replaced, whole, with its mode."""

    def test_what_is_not_its_own_is_kept(
        self, cli: Callable[..., Outcome], inputs: Path, key: tuple[str, str]
    ) -> None:
        writer = WRITERS[key]
        suffix = Path(writer.file).suffix
        (inputs / "elsewhere").mkdir()
        (inputs / "links").mkdir()
        (inputs / "links" / f"out{suffix}").symlink_to(f"../elsewhere/mine{suffix}")
        (inputs / "links" / f"new{suffix}").symlink_to(f"../elsewhere/new{suffix}")
        (inputs / "links" / f"read{suffix}").symlink_to(f"../{writer.source}")
        for name in (f"mine{suffix}", f"elsewhere/mine{suffix}"):
            (inputs / name).write_bytes(MINE)
        before = {path: path.read_bytes() for path in inputs.rglob("*") if path.is_file()}
        wrong = []
        for name in (
            writer.source,
            f"mine{suffix}",
            *(f"links/{each}{suffix}" for each in ("out", "new", "read")),
        ):
            done = cli(*writer.to(name))
            if done.status == 0:
                wrong.append(f"{name}: status 0")
            wrong += [f"{name}: {path} changed" for path, old in before.items() if path.read_bytes() != old]
        assert wrong == []
        assert not (inputs / "elsewhere" / f"new{suffix}").exists()
        assert list(inputs.rglob(".etconfig-*.tmp")) == []

    def test_its_own_output_is_replaced(
        self,
        cli: Callable[..., Outcome],
        inputs: Path,
        key: tuple[str, str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        writer = WRITERS[key]
        path = inputs / writer.file
        path.write_bytes(MINE)
        path.chmod(0o640)
        assert cli(*writer.to(writer.file), "--force").status == 0
        first = path.read_bytes()
        assert first != MINE
        assert cli(*writer.to(writer.file)).status == 0
        assert path.stat().st_mode & 0o777 == 0o640
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", full)
            assert cli(*writer.to(writer.file)).status == 2
        os.link(path, inputs / "second name")
        old = path.read_bytes()
        assert cli(*writer.to(writer.file)).status == 2
        assert path.samefile(inputs / "second name")
        assert path.read_bytes() == old
        assert list(inputs.rglob(".etconfig-*.tmp")) == []


def full(_descriptor: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.posix
class TestDirectories:
    """In a directory, only the files of the command change."""

    def test_the_results_of_a_fleet(self, cli: Callable[..., Outcome], inputs: Path) -> None:
        command = ("fleet", "resolve", *FLEET, "-o", "results")
        (inputs / "results" / "parts").mkdir(parents=True)
        (inputs / "results" / "parts" / "mine.txt").write_bytes(MINE)
        (inputs / "victim").write_bytes(MINE)
        assert [cli(*command).status for _ in range(2)] == [0, 0]
        assert not (inputs / "results" / ".etconfig-parts").exists()
        (inputs / "results" / ".etconfig-parts").symlink_to("parts")
        assert cli(*command).status == 2
        (inputs / "results" / ".etconfig-parts").unlink()
        (inputs / "results" / "problems.parquet").unlink()
        (inputs / "results" / "problems.parquet").symlink_to("../victim")
        assert [cli(*command, *more).status for more in ((), ("--force",))] == [2, 2]
        assert (inputs / "victim").read_bytes() == MINE
        assert [path.name for path in (inputs / "results" / "parts").iterdir()] == ["mine.txt"]

    def test_an_inventory_among_the_results_is_not_replaced(
        self, cli: Callable[..., Outcome], inputs: Path
    ) -> None:
        assert cli("fleet", "resolve", *FLEET, "-o", "results").status == 0
        table = inputs / "results" / "assignments.parquet"
        old = table.read_bytes()
        ignored = ("--ignore", "profile", "--ignore", "resolution", "--profile", "generic/any")
        done = cli("fleet", "resolve", table, *ignored, "-o", "results", "--force")
        assert (done.status, table.read_bytes()) == (2, old)
        assert "the command reads it; give another file" in done.stderr

    def test_a_sample(
        self, cli: Callable[..., Outcome], inputs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        command = ("fleet", "sample", *FLEET, "-o", "golden")
        assert cli(*command).status == 0
        (inputs / "golden" / "older.json").write_text('{"etconfig_fact_sheet": 1, "facts": {}}')
        before = {path: path.read_bytes() for path in (inputs / "golden").iterdir()}
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", full)
            assert cli(*command, "--force").status == 2
        assert {path: path.read_bytes() for path in (inputs / "golden").iterdir()} == before
        assert cli("fleet", "sample", "golden", "-o", "golden", "--force").status == 2
        assert {path: path.read_bytes() for path in (inputs / "golden").iterdir()} == before
        assert cli(*command, "--force").status == 0
        assert not (inputs / "golden" / "older.json").exists()

    def test_a_package_is_written_whole_or_not_at_all(
        self, cli: Callable[..., Outcome], inputs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (inputs / "empty").mkdir()
        (inputs / "link").symlink_to("empty")
        before = sorted(inputs.rglob("*"))
        command = ("new-backend", "acme-npu", "--directory")
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", full)
            assert [cli(*command, name).status for name in ("fresh", "empty", "link")] == [2, 2, 2]
        assert cli(*command, "link").status == 2
        assert sorted(inputs.rglob("*")) == before
        assert [cli(*command, name).status for name in ("fresh", "empty")] == [0, 0]
        assert not [path for path in inputs.rglob("*") if path.name.endswith(".tmp")]

    def test_headers_and_a_package(self, cli: Callable[..., Outcome], inputs: Path) -> None:
        mine = inputs / "include" / "etconfig" / "device.h"
        mine.parent.mkdir(parents=True)
        mine.write_bytes(MINE)
        assert cli("pack", "--header", "include").status == 2
        assert [path for path in (inputs / "include").rglob("*") if path.is_file()] == [mine]
        assert cli("new-backend", "acme-npu", "--directory", "include").status == 2
        assert mine.read_bytes() == MINE
        assert cli("pack", "--header", "include", "--force").status == 0
        assert cli("pack", "--header", "include").status == 0
        assert mine.read_bytes() != MINE

    def test_the_copy_of_a_private_inventory_is_private(
        self, cli: Callable[..., Outcome], inputs: Path
    ) -> None:
        command = ("fleet", "validate", "devices.jsonl")
        assert cli(*command).status == 0
        (inputs / "devices.jsonl").chmod(0o600)
        assert cli(*command).status == 0
        (copy,) = (inputs / ".etconfig-fleet").iterdir()
        assert copy.stat().st_mode & 0o077 == 0
        copy.unlink()
        inputs.chmod(0o700)
        (inputs / "devices.jsonl").chmod(0o644)
        (inputs.parent / "cache").mkdir()
        assert cli(*command, "--cache", inputs.parent / "cache").status == 0
        (copy,) = (inputs.parent / "cache").iterdir()
        assert copy.stat().st_mode & 0o077 == 0


@pytest.mark.posix
class TestFix:
    """`--fix` changes the files that it names, all or none."""

    TEXT = b"[profile]\nname = 'b'\n[options.ReferenceCpuBackend]\nnum_thread = 3\n"
    FIX = ("--fix", "--unsafe-fixes")

    def test_a_file_with_several_names_or_elsewhere_is_not_changed(
        self, cli: Callable[..., Outcome], inputs: Path
    ) -> None:
        (inputs / "p").mkdir()
        for name in ("p/a.toml", "p/b.toml", "c.toml"):
            (inputs / name).write_bytes(self.TEXT)
        os.link(inputs / "p" / "b.toml", inputs / "second name")
        assert cli("validate", "p", *self.FIX).status == 2
        (inputs / "second name").unlink()
        (inputs / "p" / "z.toml").symlink_to("../c.toml")
        assert cli("validate", "p", *self.FIX).status == 2
        assert {(inputs / name).read_bytes() for name in ("p/a.toml", "p/b.toml", "c.toml")} == {self.TEXT}

    def test_a_byte_order_mark_hides_nothing(self, cli: Callable[..., Outcome], inputs: Path) -> None:
        (inputs / "a.toml").write_bytes(b"\xef\xbb\xbf" + self.TEXT)
        (inputs / "a.toml").chmod(0o640)
        assert cli("validate", "a.toml", *self.FIX).status == 0
        assert (inputs / "a.toml").read_bytes() == self.TEXT.replace(b"num_thread", b"num_threads")
        assert (inputs / "a.toml").stat().st_mode & 0o777 == 0o640
