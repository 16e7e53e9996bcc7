from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from etconfig.cli.shared.files import named_as_given
from etconfig.cli.shared.input_files import FoundFiles, find_files
from etconfig.diagnostics import Diagnostic, Respelling, Span

FILES = ["b.toml", "a.toml", "sub/c.toml", "sub/deep/d.toml", ".hidden/e.toml", "sub/note.txt", "[x].toml"]


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)


class TestFindFiles:
    """Files, directories and patterns are expanded to files, each once."""

    @pytest.mark.parametrize(
        ("arguments", "found"),
        [
            (["b.toml", "a.toml"], ["b.toml", "a.toml"]),
            (["sub"], ["sub/c.toml", "sub/deep/d.toml"]),
            (["."], ["[x].toml", "a.toml", "b.toml", "sub/c.toml", "sub/deep/d.toml"]),
            (["*.toml"], ["[x].toml", "a.toml", "b.toml"]),
            (["sub/**/*.toml"], ["sub/c.toml", "sub/deep/d.toml"]),
            (["sub/*"], ["sub/c.toml", "sub/note.txt"]),
            (["sub/note.txt"], ["sub/note.txt"]),
            (["[x].toml"], ["[x].toml"]),
            (["a.toml", "*.toml", "./a.toml"], ["a.toml", "[x].toml", "b.toml"]),
        ],
    )
    def test_an_argument_is_expanded(self, arguments: list[str], found: list[str]) -> None:
        paths = [Path(name) for name in found]
        of_directory = frozenset(paths) if Path(arguments[0]).is_dir() else frozenset()
        assert find_files(arguments) == FoundFiles(paths=paths, of_directories=of_directory)

    def test_patterns_may_be_absolute(self, tmp_path: Path) -> None:
        assert find_files([f"{tmp_path}/s*/c.toml"]).paths == [tmp_path / "sub" / "c.toml"]

    def test_a_broken_link_counts_as_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "gone.toml").symlink_to("nowhere")
        assert find_files(["gone.toml"]).paths == [Path("gone.toml")]

    def test_a_directory_that_cannot_be_read_is_reported(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def scan(path: str) -> Iterator[os.DirEntry[str]]:
            if str(path).endswith("deep"):
                raise PermissionError(13, "Permission denied", path)
            return original(path)

        original = os.scandir
        monkeypatch.setattr(os, "scandir", scan)
        found = find_files(["sub"])
        assert found.paths == [Path("sub/c.toml")]
        assert found.missing == ("Directory 'sub/deep' cannot be read: Permission denied",)

    @pytest.mark.parametrize(
        ("argument", "message"),
        [
            ("missing.toml", "File 'missing.toml' does not exist"),
            ("empty", "Directory 'empty' contains no .toml file"),
            ("*.tml", "No file matches '*.tml'"),
        ],
    )
    def test_an_argument_without_files_is_refused_unless_others_have_some(
        self, argument: str, message: str
    ) -> None:
        with pytest.raises(click.BadParameter) as caught:
            find_files([argument])
        assert caught.value.message == message
        found = find_files(["b.toml", argument, "a.toml"])
        assert found == FoundFiles(paths=[Path("b.toml"), Path("a.toml")], missing=(message,))


class TestNamedAsGiven:
    """A problem names a file as the command line does, so that two ways to it give one problem."""

    def test_another_path_of_a_given_file_is_replaced(self, tmp_path: Path) -> None:
        def problem(file: str | Path) -> Diagnostic:
            span = Span(file=str(file), line=1, column=1, length=4, text="coer = 1")
            return Diagnostic(
                code="unknown-option", message="m", spans=(span,), fix=Respelling("coer", "core").at(span)
            )

        files = [Path("b.toml"), Path("sub/c.toml")]
        found = (problem(tmp_path / "b.toml"), problem("b.toml"), problem("sub/../b.toml"), problem("a.toml"))
        assert [*named_as_given(found, files)] == [problem("b.toml")] * 3 + [problem("a.toml")]

    def test_texts_name_it_in_the_same_way(self, tmp_path: Path) -> None:
        def problem(file: str | Path) -> Diagnostic:
            span = Span(file=str(file), line=1, column=1, length=4, text="core = 1")
            return Diagnostic(
                code="shadowed-assignment",
                message=f"replaced by the value at {file}:2:1",
                spans=(span,),
                notes=(f"*: 1, from profile {file}:1:1",),
            )

        found = (problem(tmp_path / "b.toml"), problem("b.toml"))
        assert [*named_as_given(found, [Path("b.toml")])] == [problem("b.toml")] * 2

    def test_a_longer_path_in_a_text_stays(self, tmp_path: Path) -> None:
        given = tmp_path / "b.toml"
        span = Span(file="b.toml", line=1, column=1, length=4, text="core = 1")
        problem = Diagnostic(code="shadowed-assignment", message=f"b.toml:2:1 and {given}:1:1", spans=(span,))
        (renamed,) = named_as_given([problem], [given])
        assert renamed.message == f"{given}:2:1 and {given}:1:1"
