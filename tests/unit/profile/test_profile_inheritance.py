from __future__ import annotations

import os
from pathlib import Path

import pytest
from profile_texts import REGISTRY, note_reads, problems_of, said, write_diamond, write_profiles

from etconfig.profile import ProfileLibrary, ProfileSource, load_chain


def library(directory: Path) -> ProfileLibrary:
    return ProfileLibrary((ProfileSource("test", directory),), REGISTRY)


def names_of_chain(directory: Path, target: str) -> list[str]:
    return [profile.name for profile in load_chain(library(directory), target)]


def refusals(directory: Path, target: str | Path) -> list[str]:
    return [said(problem) for problem in problems_of(lambda: load_chain(library(directory), target))]


class TestOrder:
    """The chain is base first; a profile comes after all that it extends, and only once."""

    def test_bases_come_in_the_order_in_which_they_are_named(self, tmp_path: Path) -> None:
        write_profiles(tmp_path, a="", b="extends = ['a']", c="", d="extends = ['c', 'b']")
        assert names_of_chain(tmp_path, "d") == ["c", "a", "b", "d"]

    def test_a_base_that_is_reached_twice_comes_once_where_it_comes_first(self, tmp_path: Path) -> None:
        write_profiles(
            tmp_path, a="", b="extends = ['a']", c="extends = ['a']", d="extends = ['b', 'c', 'a']"
        )
        assert names_of_chain(tmp_path, "d") == ["a", "b", "c", "d"]

    def test_each_file_of_a_wide_diamond_is_read_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_diamond(tmp_path, 9)
        read = note_reads(monkeypatch)
        assert len(names_of_chain(tmp_path, "l9")) == 19
        assert len(read) == len(set(read)) == 19


class TestFiles:
    """`extends` names profiles, or files inside the same directory tree."""

    def test_a_path_is_relative_to_the_file_that_has_it(self, tmp_path: Path) -> None:
        write_profiles(
            tmp_path, x__a="", y__b="extends = ['../x/a.toml']", y__c="extends = ['b.toml', 'x/a']"
        )
        assert names_of_chain(tmp_path, "y/c") == ["x/a", "y/b", "y/c"]

    def test_a_file_given_by_path_reaches_its_own_directory(self, tmp_path: Path) -> None:
        write_profiles(tmp_path / "mine", a="", b="extends = ['./a.toml']")
        assert names_of_chain(tmp_path / "empty", str(tmp_path / "mine/b.toml")) == ["a", "b"]

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ("../a.toml", "'../a.toml' leads outside {root}"),
            ("../root/../a.toml", "'../root/../a.toml' leads outside {root}"),
            ("x/../../a.toml", "'x/../../a.toml' leads outside {root}"),
            ("{outside}/a.toml", "'{outside}/a.toml' is an absolute path"),
            ("link.toml", "'link.toml' leads outside {root}"),
            ("dir/a.toml", "'dir/a.toml' leads outside {root}"),
            ("up/root/../a.toml", "'up/root/../a.toml' leads outside {root}"),
        ],
    )
    def test_no_path_leaves_the_tree(self, tmp_path: Path, target: str, message: str) -> None:
        write_profiles(tmp_path, a="")
        root = tmp_path / "root"
        names = {"root": root, "outside": tmp_path}
        write_profiles(root, b=f"extends = ['{target.format(**names)}']")
        (root / "x").mkdir()
        (root / "link.toml").symlink_to(tmp_path / "a.toml")
        (root / "dir").symlink_to(tmp_path, target_is_directory=True)
        (root / "up").symlink_to(tmp_path, target_is_directory=True)
        (problem,) = problems_of(lambda: load_chain(library(root), "b"))
        assert problem.code == "extends-outside-tree"
        assert problem.message == message.format(**names)
        assert problem.help == f"extend files below {root} by a relative path, or profiles by name"
        assert (problem.spans[0].line, problem.spans[0].column) == (3, 12)

    def test_a_path_without_a_file_is_an_unknown_profile(self, tmp_path: Path) -> None:
        write_profiles(tmp_path, a="extends = ['x.toml']")
        assert refusals(tmp_path, "a") == [
            f"3:12-19 unknown-profile: there is no file 'x.toml' in {tmp_path}; None"
        ]

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ("loop.toml", "there is no file 'loop.toml' in {root}"),
            ("a\\u0000.toml", "'a\\x00.toml' is not a usable path: "),
            (f"{'n' * 5000}.toml", f"'{'n' * 5000}.toml' is not a usable path: "),
        ],
        ids=["loop", "null", "long"],
    )
    def test_a_path_that_the_system_refuses_is_an_unknown_profile(
        self, tmp_path: Path, target: str, message: str
    ) -> None:
        write_profiles(tmp_path, a=f'extends = ["{target}"]')
        (tmp_path / "loop.toml").symlink_to("loop.toml")
        (problem,) = problems_of(lambda: load_chain(library(tmp_path), "a"))
        assert problem.code == "unknown-profile"
        assert problem.message.startswith(message.format(root=tmp_path))


class TestProblems:
    """Cycles, too long chains and missing bases are reported where they are written, all in one run."""

    @pytest.mark.parametrize("length", [1, 2, 3, 10])
    def test_a_cycle_is_reported_with_its_path(self, tmp_path: Path, length: int) -> None:
        write_profiles(tmp_path, **{f"p{i}": f"extends = ['p{(i + 1) % length}']" for i in range(length)})
        path = " -> ".join([*(f"p{i}" for i in range(length)), "p0"])
        assert refusals(tmp_path, "p0") == [
            f"3:12-15 extends-cycle: profile 'p0' extends itself: {path}; remove one of these from `extends`"
        ]

    def test_a_cycle_further_down_has_only_its_own_members(self, tmp_path: Path) -> None:
        write_profiles(tmp_path, a="extends = ['b']", b="extends = ['c']", c="extends = ['b']")
        assert refusals(tmp_path, "a") == [
            "3:12-14 extends-cycle: profile 'b' extends itself: b -> c -> b; "
            "remove one of these from `extends`"
        ]

    def test_a_chain_of_more_than_ten_profiles_is_refused(self, tmp_path: Path) -> None:
        write_profiles(tmp_path, p0="", **{f"p{i}": f"extends = ['p{i - 1}']" for i in range(1, 60)})
        assert len(names_of_chain(tmp_path, "p9")) == 10
        path = " -> ".join(f"p{i}" for i in range(10, -1, -1))
        assert refusals(tmp_path, "p10") == [
            f"3:12-15 extends-too-deep: more than 10 profiles extend each other: {path}; "
            "extend fewer levels of profiles"
        ]

    def test_the_problems_of_all_files_come_together(self, tmp_path: Path) -> None:
        write_profiles(tmp_path, a="extends = ['b', 'c', 'gone']", b="colour = 1", c="match = '1'\n[broken")
        assert refusals(tmp_path, "a") == [
            "3:1-6 unknown-key: [profile] has no key 'colour'; "
            "its keys are name, extends, description, match",
            "4:8-8 invalid-toml: invalid TOML: expected ']' at the end of a table declaration; None",
            "3:22-27 unknown-profile: there is no profile 'gone'; "
            "`etconfig profiles list` shows the known ones",
        ]

    def test_an_unreadable_base_is_named(self, tmp_path: Path) -> None:
        write_profiles(tmp_path, a="extends = ['pipe.toml']")
        os.mkfifo(tmp_path / "pipe.toml")
        (problem,) = problems_of(lambda: load_chain(library(tmp_path), "a"))
        assert problem.message == "there is no file 'pipe.toml' in " + str(tmp_path)
