from __future__ import annotations

import os
from pathlib import Path

import pytest
from profile_texts import (
    REGISTRY,
    note_reads,
    problems_of,
    said,
    write_diamond,
    write_lattice,
    write_profiles,
)

from etconfig.app.installation.installation import Installation
from etconfig.app.validating.validation import Validator
from etconfig.profile.inheritance import ProfileReader, load_chain
from etconfig.profile.library import ProfileLibrary, ProfileSource
from etconfig.profile.selector import ProfileSelector


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

    def test_a_base_of_two_bases_comes_before_both(self, tmp_path: Path) -> None:
        write_profiles(tmp_path, a="", b="extends = ['a']", c="extends = ['a']", d="extends = ['b', 'c']")
        assert names_of_chain(tmp_path, "d") == ["a", "b", "c", "d"]

    def test_each_list_keeps_its_order_in_a_diamond(self, tmp_path: Path) -> None:
        write_profiles(
            tmp_path, a="", x="", b="extends = ['x', 'a']", c="extends = ['a']", d="extends = ['c', 'b']"
        )
        assert names_of_chain(tmp_path, "d") == ["x", "a", "c", "b", "d"]

    def test_a_later_name_wins_over_what_an_earlier_one_shares_with_it(self, tmp_path: Path) -> None:
        """Depth first, `a` would come before `x`, although `c` lists `x` before it."""
        write_profiles(
            tmp_path, a="", x="", b="extends = ['a']", c="extends = ['x', 'a']", d="extends = ['b', 'c']"
        )
        assert names_of_chain(tmp_path, "d") == ["x", "a", "b", "c", "d"]

    def test_each_file_of_a_wide_diamond_is_read_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_diamond(tmp_path, 9)
        read = note_reads(monkeypatch)
        assert len(names_of_chain(tmp_path, "l9")) == 19
        assert len(read) == len(set(read)) == 19


class TestWork:
    """All chains of a wide hierarchy follow each name in `extends` once, whatever leads to it."""

    LEVELS, WIDTH = 5, 8
    EDGES = (LEVELS - 1) * WIDTH**2

    @pytest.fixture
    def followed(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The names in `extends` that were looked up so far."""
        names: list[str] = []
        find_base = ProfileLibrary.find_base
        monkeypatch.setattr(
            ProfileLibrary,
            "find_base",
            lambda library, reference, *rest: (
                names.append(reference.target),
                find_base(library, reference, *rest),
            )[1],
        )
        return names

    def test_chains_of_one_reader(self, tmp_path: Path, followed: list[str]) -> None:
        write_lattice(tmp_path, self.LEVELS, self.WIDTH)
        reader = ProfileReader(library(tmp_path))
        for _ in range(2):
            for file in reader.library.files:
                reader.chain(file)
        assert len(followed) == self.EDGES

    def test_selection_among_all(self, tmp_path: Path, followed: list[str]) -> None:
        write_lattice(tmp_path, self.LEVELS, self.WIDTH, "match = 'true'")
        selector = ProfileSelector(library(tmp_path))
        assert problems_of(lambda: selector.select({}))[0].code == "ambiguous-profile"
        assert len(followed) == self.EDGES

    @pytest.mark.parametrize("is_broken", [False, True])
    @pytest.mark.parametrize("is_base_first", [False, True])
    def test_validation_of_all(
        self, tmp_path: Path, followed: list[str], is_broken: bool, is_base_first: bool
    ) -> None:
        """A file is walked again after its own turn, and once more to salvage what a broken base leaves."""
        write_lattice(tmp_path, self.LEVELS, self.WIDTH, reference="{}.toml")
        if is_broken:
            write_profiles(tmp_path, **{f"l{self.LEVELS - 1}-0": "unknown = 1"})
        validator = Validator(installation=Installation())
        found = [validator.problems(path) for path in sorted(tmp_path.iterdir(), reverse=is_base_first)]
        assert any(found) is is_broken
        assert len(followed) <= (3 if is_broken else 2) * self.EDGES


class TestFiles:
    """`extends` names profiles, or files inside the same directory tree."""

    def test_a_path_is_relative_to_the_file_that_has_it(self, tmp_path: Path) -> None:
        write_profiles(
            tmp_path, x__a="", y__b="extends = ['../x/a.toml']", y__c="extends = ['x/a', 'b.toml']"
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

    def test_a_long_chain_below_a_base_that_was_visited_before_is_refused(self, tmp_path: Path) -> None:
        write_profiles(
            tmp_path,
            p0="",
            **{f"p{i}": f"extends = ['p{i - 1}']" for i in range(1, 9)},
            q="extends = ['p8']",
            r="extends = ['p8', 'q']",
        )
        path = "r -> q -> " + " -> ".join(f"p{i}" for i in range(8, -1, -1))
        assert refusals(tmp_path, "r") == [
            f"3:12-15 extends-too-deep: more than 10 profiles extend each other: {path}; "
            "extend fewer levels of profiles"
        ]

    def test_a_base_after_one_that_extends_it_is_refused(self, tmp_path: Path) -> None:
        write_profiles(tmp_path, a="", b="extends = ['a']", c="extends = ['b', 'a']")
        assert refusals(tmp_path, "c") == [
            "3:17-19 extends-conflict: no order of what 'c' extends respects every list: "
            "'c' lists 'b' before 'a'; 'b' extends 'a'; "
            "list them in the same order everywhere, each before the profiles that extend it"
        ]

    def test_lists_of_two_orders_are_both_named(self, tmp_path: Path) -> None:
        write_profiles(
            tmp_path, a="", b="", x="extends = ['a', 'b']", y="extends = ['b', 'a']", z="extends = ['x', 'y']"
        )
        (problem,) = problems_of(lambda: load_chain(library(tmp_path), "z"))
        assert problem.message == (
            "no order of what 'z' extends respects every list: 'x' lists 'a' before 'b'; "
            "'y' lists 'b' before 'a'"
        )
        assert problem.help == (
            "list them in the same order everywhere, each before the profiles that extend it"
        )
        assert [(Path(span.file).name, span.column) for span in problem.spans] == [
            ("z.toml", 12), ("x.toml", 17), ("y.toml", 17)
        ]  # fmt: skip

    def test_an_order_that_no_list_states_is_named_by_its_profile(self, tmp_path: Path) -> None:
        write_profiles(
            tmp_path,
            a="",
            b="",
            p="extends = ['a']",
            q="extends = ['b']",
            k="extends = ['q', 'p']",
            m="extends = ['a', 'q']",
            z="extends = ['m', 'k']",
        )
        assert names_of_chain(tmp_path, "k") == ["b", "q", "a", "p", "k"]
        (refusal,) = refusals(tmp_path, "z")
        assert "what 'k' extends puts 'q' before 'a'" in refusal
        assert "'m' lists 'a' before 'q'" in refusal

    def test_one_profile_in_a_list_twice_is_refused(self, tmp_path: Path) -> None:
        write_profiles(tmp_path, a="", b="extends = ['a', 'a']", c="extends = ['a', 'a.toml']")
        assert refusals(tmp_path, "b") == [
            "3:17-19 extends-conflict: `extends` lists 'a' twice; remove one of them"
        ]
        assert refusals(tmp_path, "c") == [
            "3:17-24 extends-conflict: `extends` lists 'a.toml' and 'a', which are one profile; "
            "remove one of them"
        ]

    def test_the_problems_of_all_files_come_together(self, tmp_path: Path) -> None:
        write_profiles(tmp_path, a="extends = ['b', 'c', 'gone']", b="colour = 1", c="match = '1'\n[broken")
        assert refusals(tmp_path, "a") == [
            "3:1-6 unknown-key: [profile] has no key 'colour'; "
            "its keys are name, extends, description, match; "
            "options of a backend belong in [options.BACKEND]",
            "4:1-7 invalid-toml: invalid TOML: a header is not closed, or has other signs than points; "
            "write [options.BACKEND] or [[when]], and quote parts with other signs",
            "3:22-27 unknown-profile: there is no profile 'gone'; "
            "`etconfig profiles list` shows the known ones",
        ]

    @pytest.mark.posix
    def test_an_unreadable_base_is_named(self, tmp_path: Path) -> None:
        write_profiles(tmp_path, a="extends = ['pipe.toml']")
        os.mkfifo(tmp_path / "pipe.toml")
        (problem,) = problems_of(lambda: load_chain(library(tmp_path), "a"))
        assert problem.message == "there is no file 'pipe.toml' in " + str(tmp_path)
