"""Hostile file systems: planted links, full disks, the user's own directory."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from command_line import ON_DEVICE, Outcome, error

from etconfig.base.written_files import FileKind
from etconfig.cli.shared.writing import check_can_write
from etconfig.cli.shared.writing import write_file as write_file_of_kind

ANY = FileKind("any file", lambda _path: True)
OLD, NEW = b"old" * 1000, b"new" * 2000
CALLS = ("os.open", "os.fdopen", "os.fsync", "pathlib.Path.chmod", "pathlib.Path.replace")
"""The calls by which a file is replaced."""
LOCK = ("lock", "model.pte", *ON_DEVICE)


def write_file(path: Path, content: bytes, *, is_named: bool = True) -> None:
    write_file_of_kind(path, content, ANY, is_named=is_named)


class TestUserProfiles:
    """`etconfig profiles list` shows the user's own profiles and their files."""

    def test_they_are_listed(
        self, cli: Callable[..., Outcome], place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        profiles = place / "home" / "etconfig" / "profiles"
        profiles.mkdir(parents=True)
        (profiles / "board.toml").write_text('[profile]\nname = "board"\n')
        monkeypatch.setenv("XDG_CONFIG_HOME", str(place / "home"))
        listed = {row["name"]: row["path"] for row in cli("profiles", "list", "--json").json}
        assert listed["board"] == str(profiles / "board.toml")
        assert cli("resolve", "--profile", "board", *ON_DEVICE).status == 0


class TestNewFile:
    """A new file has the usual permissions."""

    def test_its_mode_follows_the_umask(self, tmp_path: Path) -> None:
        (tmp_path / "plain").write_bytes(b"")
        write_file(tmp_path / "file", NEW)
        assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode


class TestProtectedFile:
    """A write-protected file is not replaced, although its directory would allow it."""

    @pytest.mark.parametrize(
        "write", [lambda path: check_can_write(path, ANY), lambda path: write_file(path, NEW)]
    )
    def test_it_is_kept(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]
    ) -> None:
        path = tmp_path / "file"
        path.write_bytes(OLD)
        monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)  # root may write to any file
        with pytest.raises(click.ClickException, match="Permission denied"):
            write(path)
        assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("file", OLD)]


class TestFailures:
    """A full or broken disk leaves the old file and no other one, whichever call fails."""

    @pytest.mark.parametrize("call", CALLS)
    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS])
    def test_a_failure_of_each_call_keeps_the_old_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
    ) -> None:
        path = tmp_path / "file"
        path.write_bytes(OLD)
        with monkeypatch.context() as patch:
            patch.setattr(call, failing(number))
            with pytest.raises(click.ClickException) as caught:
                write_file(path, NEW)
        assert caught.value.message == f"cannot write {path}: {os.strerror(number)}"
        assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("file", OLD)]

    @pytest.mark.parametrize("call", ["write", "flush"])
    def test_a_failure_in_the_middle_of_the_content_keeps_the_old_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
    ) -> None:
        path = tmp_path / "file"
        path.write_bytes(OLD)
        fdopen = os.fdopen

        def broken(descriptor: int, mode: str) -> Any:
            file = fdopen(descriptor, mode)
            return BrokenFile(file, call)

        with monkeypatch.context() as patch:
            patch.setattr("os.fdopen", broken)
            with pytest.raises(click.ClickException, match="No space left on device"):
                write_file(path, NEW)
        assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("file", OLD)]


class BrokenFile:
    """A file of which one method fails."""

    def __init__(self, file: Any, call: str) -> None:
        self.file = file
        setattr(self, call, failing(errno.ENOSPC))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> BrokenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def failing(number: int) -> Callable[..., Any]:
    def fail(*_arguments: object, **_options: object) -> Iterator[None]:
        raise OSError(number, os.strerror(number))

    return fail


class TestPlantedLinks:
    """Planted links are not followed."""

    @pytest.fixture
    def victim(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        victim = tmp_path_factory.mktemp("elsewhere") / "victim"
        victim.write_bytes(OLD)
        return victim

    def test_a_lock_file_is_not_written_through_a_link(
        self, cli: Callable[..., Outcome], place: Path, victim: Path
    ) -> None:
        (place / "etconfig.lock").symlink_to(victim)
        reason = "cannot write etconfig.lock: it is a symbolic link; remove it"
        assert cli(*LOCK) == Outcome(2, "", error(reason))
        assert victim.read_bytes() == OLD
        (place / "etconfig.lock").unlink()
        assert cli(*LOCK).status == 0
        assert not (place / "etconfig.lock").is_symlink()

    def test_a_lock_file_is_not_written_through_a_broken_link(
        self, cli: Callable[..., Outcome], place: Path, victim: Path
    ) -> None:
        victim.unlink()
        (place / "etconfig.lock").symlink_to(victim)
        assert cli(*LOCK).status == 2
        assert not victim.exists()

    def test_a_link_that_is_planted_after_the_check_is_replaced(
        self, tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "etconfig.lock"
        monkeypatch.setattr(Path, "is_symlink", lambda _self: False)  # the check came before the link
        path.symlink_to(victim)
        write_file(path, NEW, is_named=False)
        assert (path.read_bytes(), victim.read_bytes()) == (NEW, OLD)

    def test_a_link_at_the_name_of_the_temporary_file_is_not_followed(
        self, tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The name cannot be guessed; even a guess would not help."""
        monkeypatch.setattr("os.urandom", bytes)
        planted = tmp_path / ".etconfig-0000000000000000.tmp"
        planted.symlink_to(victim)
        with pytest.raises(click.ClickException, match="File exists"):
            write_file(tmp_path / "file", NEW)
        assert victim.read_bytes() == OLD
        assert [file.name for file in tmp_path.iterdir()] == [planted.name]
