from __future__ import annotations

from pathlib import Path

import pytest
from profile_texts import REGISTRY, problems_of, write_profiles

from etconfig.errors import ProfileError
from etconfig.profile.library import ProfileLibrary, ProfileSource, Provider
from etconfig.profile.selector import match_profiles, select_profile

LINUX = {"os.name": "linux", "cpu.cores": 4}


def library(directory: Path, **texts: str) -> ProfileLibrary:
    return ProfileLibrary((ProfileSource("test", write_profiles(directory, **texts)),), REGISTRY)


class TestSelection:
    """Profiles whose `match` holds; the most derived one wins."""

    def test_a_profile_beats_those_that_it_extends_even_indirectly(self, tmp_path: Path) -> None:
        profiles = library(
            tmp_path,
            any="match = 'true'",
            between="extends = ['any']\nmatch = 'os.name == \"macos\"'",
            device="extends = ['between']\nmatch = 'os.name == \"linux\"'",
        )
        selection = select_profile(profiles, LINUX)
        assert selection.profile.name == "device"
        assert [profile.name for profile in selection.chain] == ["any", "between", "device"]

    def test_it_beats_a_base_that_it_extends_by_path(self, tmp_path: Path) -> None:
        profiles = library(tmp_path, a="match = 'true'", x__b="extends = ['../a.toml']\nmatch = 'true'")
        assert select_profile(profiles, LINUX).profile.name == "x/b"

    def test_one_without_a_condition_is_never_selected(self, tmp_path: Path) -> None:
        profiles = library(tmp_path, any="match = 'true'", special="extends = ['any']")
        assert select_profile(profiles, LINUX).profile.name == "any"

    def test_an_unknown_condition_does_not_match(self, tmp_path: Path) -> None:
        profiles = library(tmp_path, a="match = 'true'", b="extends = ['a']\nmatch = 'net.is_up'")
        assert select_profile(profiles, LINUX).profile.name == "a"

    def test_a_condition_that_cannot_be_computed_does_not_match(self, tmp_path: Path) -> None:
        profiles = library(
            tmp_path, a="match = 'true'", b="extends = ['a']\nmatch = '4 / (cpu.cores - 4) > 1'"
        )
        selection = select_profile(profiles, LINUX)
        assert selection.profile.name == "a"
        assert selection.matches[1].reasons == (
            "4 / (cpu.cores - 4) > 1 has no value: 4 / 0 divides by zero",
        )

    def test_hand_set_facts_of_a_profile_do_not_count(self, tmp_path: Path) -> None:
        profiles = library(tmp_path, a="match = 'true'", b="match = 'net.is_up'\n[facts]\n'net.is_up' = true")
        assert select_profile(profiles, LINUX).profile.name == "a"


class TestProviders:
    """Among unrelated profiles, a user's own beats a package's, and a package's beats a bundled one."""

    @staticmethod
    def selected(directory: Path, *providers: Provider) -> tuple[str, tuple[str, ...]]:
        """The selected profile and the outranked ones, of one unrelated profile for each provider."""
        sources = [
            ProfileSource(
                name, write_profiles(directory / name, **{f"of_{name}": "match = 'true'"}), provider
            )
            for name, provider in ((f"{index}{p.name.lower()}", p) for index, p in enumerate(providers))
        ]
        selection = select_profile(ProfileLibrary(tuple(sources), REGISTRY), LINUX)
        return selection.profile.name, tuple(profile.name for profile in selection.outranked)

    @pytest.mark.parametrize(
        ("providers", "winner", "outranked"),
        [
            ((Provider.BUNDLED, Provider.USER), "of_1user", ("of_0bundled",)),
            ((Provider.PACKAGE, Provider.BUNDLED), "of_0package", ("of_1bundled",)),
            (
                (Provider.BUNDLED, Provider.PACKAGE, Provider.USER),
                "of_2user",
                ("of_0bundled", "of_1package"),
            ),
        ],
    )
    def test_the_more_specific_provider_wins(
        self, tmp_path: Path, providers: tuple[Provider, ...], winner: str, outranked: tuple[str, ...]
    ) -> None:
        assert self.selected(tmp_path, *providers) == (winner, outranked)

    def test_two_of_one_provider_are_ambiguous(self, tmp_path: Path) -> None:
        with pytest.raises(ProfileError, match="profiles 'of_0user' and 'of_1user' match this device"):
            self.selected(tmp_path, Provider.USER, Provider.USER, Provider.BUNDLED)

    def test_extending_counts_more_than_the_provider(self, tmp_path: Path) -> None:
        base = ProfileSource("user", write_profiles(tmp_path / "user", base="match = 'true'"), Provider.USER)
        bundled = ProfileSource(
            "bundled",
            write_profiles(tmp_path / "bundled", device="extends = ['base']\nmatch = 'true'"),
            Provider.BUNDLED,
        )
        selection = select_profile(ProfileLibrary((base, bundled), REGISTRY), LINUX)
        assert selection.profile.name == "device"


class TestReasons:
    """Each profile has the reasons why it matches or not, clause by clause."""

    def test_the_reasons_are_the_deciding_clauses(self, tmp_path: Path) -> None:
        profiles = library(
            tmp_path,
            a="match = 'os.name == \"linux\" && cpu.cores > 2'",
            b="match = 'os.name == \"macos\" && cpu.cores > 2 && net.is_up'",
            c="",
        )
        matches = match_profiles(profiles, LINUX)
        assert [(match.profile.name, match.is_match) for match in matches] == [
            ("a", True),
            ("b", False),
            ("c", False),
        ]
        assert [match.reasons for match in matches] == [
            ('os.name == "linux" holds: os.name is "linux"', "cpu.cores > 2 holds: cpu.cores is 4"),
            (
                'os.name == "macos" does not hold: os.name is "linux"',
                "net.is_up is unknown: net.is_up is not known on this device",
            ),
            ("it has no condition, so it can only be extended or named",),
        ]


class TestProblems:
    """No winner is an error, and so are two unrelated ones, which are named."""

    def test_two_unrelated_winners_are_named_with_their_places(self, tmp_path: Path) -> None:
        profiles = library(
            tmp_path,
            any="match = 'true'",
            a="extends = ['any']\nmatch = 'true'",
            b="extends = ['any']\nmatch = 'true'",
        )
        (problem,) = problems_of(lambda: select_profile(profiles, LINUX))
        assert problem.code == "ambiguous-profile"
        assert problem.message == "profiles 'a' and 'b' match this device, and none extends the others"
        assert problem.help == ("name one with --profile, let one extend the others, or narrow a condition")
        assert [(span.file, span.line, span.column) for span in problem.spans] == [
            (str(tmp_path / "a.toml"), 2, 8),
            (str(tmp_path / "b.toml"), 2, 8),
        ]

    def test_no_match_has_the_reasons_as_notes(self, tmp_path: Path) -> None:
        profiles = library(tmp_path, a="match = 'os.name == \"macos\"'", b="")
        (problem,) = problems_of(lambda: select_profile(profiles, LINUX))
        assert problem.code == "no-matching-profile"
        assert problem.message == "no profile matches this device"
        assert problem.help == "name one with --profile, or add one whose condition holds here"
        assert problem.notes == (
            'a: os.name == "macos" does not hold: os.name is "linux"',
            "b: it has no condition, so it can only be extended or named",
        )

    def test_a_broken_profile_stops_the_selection_with_all_problems(self, tmp_path: Path) -> None:
        profiles = library(tmp_path, a="match = 'true'", b="match = 'x.y'", c="colour = 1")
        problems = problems_of(lambda: select_profile(profiles, LINUX))
        assert [problem.code for problem in problems] == ["unknown-fact", "unknown-key"]
