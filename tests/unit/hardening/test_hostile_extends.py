"""`extends` in the hands of somebody who wants files that are not theirs, or endless work."""

from __future__ import annotations

from pathlib import Path

import pytest
from profile_texts import REGISTRY, note_reads, problems_of, write_diamond, write_profiles

from etconfig.profile import inheritance
from etconfig.profile.inheritance import load_chain
from etconfig.profile.library import ProfileLibrary, ProfileSource

OUTSIDE = (
    "../secret.toml",
    "./../secret.toml",
    ".././secret.toml",
    "..//secret.toml",
    "sub/../../secret.toml",
    "sub/./.././../secret.toml",
    "sub/deep/../../../secret.toml",
    "../tree/../secret.toml",
    "../../{parent}/secret.toml",
    "../sibling/secret.toml",
    "../tree-2/secret.toml",
    "{outside}/secret.toml",
    "/{outside}/secret.toml",
    "//{outside}/secret.toml",
    "{root}/../secret.toml",
    "{root}/own.toml",
    "/etc/passwd.toml",
    "/proc/self/environ.toml",
    "/dev/stdin.toml",
    "link.toml",
    "sub/link.toml",
    "link-to-link.toml",
    "dir/secret.toml",
    "sub/dir/secret.toml",
    "dir/../secret.toml",
    "dir/tree/../secret.toml",
    "up/../secret.toml",
    "sub/up/../secret.toml",
    "dir/sibling/secret.toml",
    "dir/sibling/../secret.toml",
    "absolute.toml",
    "self/../secret.toml",
)
"""Paths that lead outside of the directory tree `root`, some by links in it."""

NOWHERE = (
    "~/secret.toml",
    "~root/secret.toml",
    "$HOME/secret.toml",
    "${{HOME}}/secret.toml",
    "%2e%2e/secret.toml",
    "..%2fsecret.toml",
    "..\\\\secret.toml",
    "..\\\\..\\\\secret.toml",
    "C:\\\\secret.toml",
    "file://{outside}/secret.toml",
    "http://localhost/secret.toml",
    "\\u2024\\u2024/secret.toml",
    "\\uff0e\\uff0e/secret.toml",
    "..\\u2215secret.toml",
    "../secret.toml\\u0000.toml",
    "*.toml",
    "loop.toml",
    "fifo-that-is-not-there.toml",
)
"""Paths that somebody could take for one that leads outside, and that lead nowhere."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree of profiles with links that lead out of it; `secret` is outside."""
    for directory in (tmp_path, tmp_path / "sibling", tmp_path / "tree-2"):
        write_profiles(directory, secret="")
    root = write_profiles(tmp_path / "tree", own="", sub__own="", sub__deep__own="")
    for directory in (root, root / "sub"):
        (directory / "link.toml").symlink_to(tmp_path / "secret.toml")
        (directory / "dir").symlink_to(tmp_path, target_is_directory=True)
        (directory / "up").symlink_to(tmp_path / "sibling", target_is_directory=True)
    (root / "link-to-link.toml").symlink_to("link.toml")
    (root / "absolute.toml").symlink_to("/etc/passwd")
    (root / "self").symlink_to(root, target_is_directory=True)
    (root / "loop.toml").symlink_to("loop.toml")
    return root


def library(directory: Path) -> ProfileLibrary:
    return ProfileLibrary((ProfileSource("test", directory),), REGISTRY)


class TestEscapes:
    """None of 50 ways to leave the tree of a profile works: no byte outside of it is read."""

    @pytest.mark.parametrize("target", [*OUTSIDE, *NOWHERE])
    def test_no_file_outside_is_read(self, root: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
        outside = root.parent
        text = target.format(outside=outside, root=root, parent=outside.name)
        write_profiles(root, evil=f'extends = ["{text}"]')
        read = note_reads(monkeypatch)
        (problem,) = problems_of(lambda: load_chain(library(root), root / "evil.toml"))
        assert read == [root / "evil.toml"]
        assert problem.code == ("extends-outside-tree" if target in OUTSIDE else "unknown-profile")
        assert problem.spans[0].line == 3


class TestEndlessWork:
    """Cycles and diamonds are walked once."""

    @pytest.mark.parametrize("length", range(1, 51))
    def test_a_cycle_shows_its_path_or_that_it_is_too_deep(self, tmp_path: Path, length: int) -> None:
        write_profiles(tmp_path, **{f"p{i}": f"extends = ['p{(i + 1) % length}']" for i in range(length)})
        (problem,) = problems_of(lambda: load_chain(library(tmp_path), "p0"))
        names = [f"p{i}" for i in range(length)]
        if length <= inheritance.MAX_CHAIN_LENGTH:
            path = " -> ".join([*names, "p0"])
            assert problem.message == f"profile 'p0' extends itself: {path}"
        else:
            path = " -> ".join(names[: inheritance.MAX_CHAIN_LENGTH + 1])
            assert problem.message == f"more than 10 profiles extend each other: {path}"

    def test_each_file_of_a_diamond_of_twenty_levels_is_read_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A million paths lead through it; the bound on chains is lifted to reach this depth."""
        monkeypatch.setattr(inheritance, "MAX_CHAIN_LENGTH", 30)
        write_diamond(tmp_path, 20)
        read = note_reads(monkeypatch)
        assert len(load_chain(library(tmp_path), "l20")) == 41
        assert len(read) == len(set(read)) == 41
