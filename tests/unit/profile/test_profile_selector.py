"""`ProfileSelector`: profiles that were read once, and the rule of `auto`."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from profile_texts import REGISTRY, problems_of, write_profiles

from etconfig.errors import ProfileError
from etconfig.profile.library import ProfileLibrary, ProfileSource, Provider
from etconfig.profile.selector import ProfileSelector

LINUX = {"os.name": "linux", "cpu.cores": 4}


def library(directory: Path, **texts: str) -> ProfileLibrary:
    return ProfileLibrary((ProfileSource("test", write_profiles(directory, **texts)),), REGISTRY)


@pytest.fixture
def selector(tmp_path: Path) -> ProfileSelector:
    return ProfileSelector(
        library(
            tmp_path,
            any="match = 'true'",
            base="",
            linux="extends = ['any']\nmatch = 'os.name == \"linux\"'",
            big="extends = ['linux']\nmatch = 'os.name == \"linux\" && cpu.cores > 2'",
        )
    )


class TestChoose:
    """`choose` selects by the truth of the conditions, as `auto` does by facts."""

    def test_the_most_derived_of_those_that_match(self, selector: ProfileSelector) -> None:
        chosen = selector.choose({"any": True, "linux": True, "big": None})
        assert chosen.profile.name == "linux"
        assert [match.is_match for match in chosen.matches] == [True, False, False, True]

    def test_it_is_equal_to_the_selection_by_facts_where_results_are(self, selector: ProfileSelector) -> None:
        by_facts = selector.select(LINUX)
        assert selector.choose({"any": True, "linux": True, "big": True}) == by_facts

    def test_without_facts_the_reasons_name_the_condition_only(self, selector: ProfileSelector) -> None:
        matches = {match.profile.name: match.reasons for match in selector.choose({"any": True}).matches}
        assert matches == {
            "any": ("its condition holds",),
            "base": ("it has no condition, so it can only be extended or named",),
            "big": ("its condition does not hold",),
            "linux": ("its condition does not hold",),
        }

    def test_with_facts_they_are_explained(self, selector: ProfileSelector) -> None:
        chosen = selector.choose({"any": True, "linux": True}, {"os.name": "linux"})
        assert chosen.matches[2].reasons == (
            "cpu.cores > 2 is unknown: cpu.cores is not known on this device",
        )

    def test_nothing_that_matches_is_the_error_of_auto(self, selector: ProfileSelector) -> None:
        with pytest.raises(ProfileError, match="no profile matches this device") as caught:
            selector.choose({"linux": False})
        assert caught.value.diagnostics[0].code == "no-matching-profile"

    def test_two_that_match_are_ambiguous(self, tmp_path: Path) -> None:
        selector = ProfileSelector(library(tmp_path, a="match = 'true'", b="match = 'net.is_up'"))
        with pytest.raises(ProfileError, match="profiles 'a' and 'b' match this device"):
            selector.choose({"a": True, "b": True})

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("linus", "there is no profile 'linus' (did you mean 'linux'?)"),
            ("base", "profile 'base' has no condition, so it is never selected"),
        ],
    )
    def test_a_name_without_condition_is_refused(
        self, selector: ProfileSelector, name: str, message: str
    ) -> None:
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            selector.choose({name: True})
        assert str(caught.value) == f"matches: {message}"

    def test_the_fallback_can_be_refused(self, tmp_path: Path) -> None:
        source = ProfileSource("b", write_profiles(tmp_path, any="match = 'true'"), Provider.BUNDLED)
        selector = ProfileSelector(ProfileLibrary((source,), REGISTRY))
        assert selector.choose({"any": True}).is_fallback
        with pytest.raises(ProfileError, match="only 'any' is left"):
            selector.choose({"any": True}, require_match=True)


class TestSelector:
    """A selector names the facts that decide, and keeps what it read."""

    def test_dependencies_are_the_conditions(self, selector: ProfileSelector) -> None:
        needs = selector.dependencies
        assert [each.source for each in needs.conditions] == [
            'os.name == "linux" && cpu.cores > 2',
            'os.name == "linux"',
        ]
        assert needs.facts == {"os.name", "cpu.cores"}
        assert needs.is_complete

    def test_conditions_are_by_name(self, selector: ProfileSelector) -> None:
        assert {name: str(each) for name, each in selector.conditions.items()} == {
            "any": "true",
            "big": 'os.name == "linux" && cpu.cores > 2',
            "linux": 'os.name == "linux"',
        }
        assert [profile.name for profile in selector.profiles] == ["any", "base", "big", "linux"]

    def test_later_changes_of_files_do_not_count(self, tmp_path: Path) -> None:
        selector = ProfileSelector(library(tmp_path, a="match = 'true'"))
        (tmp_path / "a.toml").write_text("broken")
        assert selector.select(LINUX).profile.name == "a"

    def test_every_broken_profile_is_reported(self, tmp_path: Path) -> None:
        broken = library(tmp_path, a="match = 'no.such'", b="match = 'os.name == 1'", c="match = 'true'")
        assert len(problems_of(lambda: ProfileSelector(broken))) == 2

    def test_a_selection_pickles(self, selector: ProfileSelector) -> None:
        selection = selector.select(LINUX)
        copy = pickle.loads(pickle.dumps(selection))
        assert copy.matches == selection.matches
        assert copy.profile == selection.profile
