from __future__ import annotations

from pathlib import Path

import pytest
from profile_texts import REGISTRY, load_profile, problems_of, said, write_profiles

from etconfig.errors import InternalError
from etconfig.profile import library as library_module
from etconfig.profile.inheritance import load_chain
from etconfig.profile.library import ProfileLibrary, ProfileSource, bundled_profiles
from etconfig.profile.selector import match_profiles


def library(*directories: Path) -> ProfileLibrary:
    sources = tuple(ProfileSource(directory.name, directory) for directory in directories)
    return ProfileLibrary(sources, REGISTRY)


def names_of_chain(profiles: ProfileLibrary, target: str | Path) -> list[str]:
    return [profile.name for profile in load_chain(profiles, target)]


class TestNames:
    """`vendor/device.toml` below a directory of the library is the profile `vendor/device`."""

    def test_names_come_from_all_directories_sorted(self, tmp_path: Path) -> None:
        one = write_profiles(tmp_path / "one", b__z="", a="")
        two = write_profiles(tmp_path / "two", b__a__x="")
        (one / "README.md").write_text("no profile", encoding="utf-8")
        assert library(one, two).names == ("a", "b/a/x", "b/z")

    def test_a_profile_is_loaded_by_its_name(self, tmp_path: Path) -> None:
        profile = load_profile(library(write_profiles(tmp_path, b__z="description = 'd'")), "b/z")
        assert (profile.name, profile.description) == ("b/z", "d")
        assert profile.path == tmp_path / "b/z.toml"

    def test_an_unknown_name_gets_a_suggestion(self, tmp_path: Path) -> None:
        (problem,) = problems_of(lambda: load_profile(library(write_profiles(tmp_path, b__zero="")), "b/zro"))
        assert (problem.code, problem.message, problem.help, problem.spans) == (
            "unknown-profile",
            "there is no profile 'b/zro'",
            "did you mean 'b/zero'?",
            (),
        )

    def test_a_name_unlike_all_others_points_to_the_command_that_lists_them(self, tmp_path: Path) -> None:
        (problem,) = problems_of(lambda: load_profile(library(tmp_path), "b"))
        assert problem.help == "`etconfig profiles list` shows the known ones"

    def test_a_name_in_two_directories_is_an_error_that_names_both(self, tmp_path: Path) -> None:
        one, two = write_profiles(tmp_path / "one", a=""), write_profiles(tmp_path / "two", a="", b="")
        profiles = library(one, two)
        (problem,) = problems_of(lambda: load_profile(profiles, "a"))
        assert problem.code == "duplicate-profile"
        assert problem.message == f"profile 'a' is in {one / 'a.toml'} and in {two / 'a.toml'}"
        assert problem.help == "remove or rename one of them, or give its path"
        assert load_profile(profiles, "b").name == "b"

    def test_a_profile_whose_name_differs_from_its_path_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "a.toml").write_text('profile.name = "b"', encoding="utf-8")
        for target in ("a", tmp_path / "a.toml"):
            (problem,) = problems_of(lambda target=target: load_profile(library(tmp_path), target))
            assert said(problem) == (
                "1:16-18 profile-name-mismatch: this profile is named 'b', but its path gives the name 'a'; "
                'write name = "a", or move the file'
            )

    def test_a_directory_below_that_of_the_profiles_is_named_as_the_mistake(self, tmp_path: Path) -> None:
        inside = write_profiles(tmp_path / "acme", a="").resolve()
        (inside / "a.toml").write_text('profile.name = "acme/a"', encoding="utf-8")
        (problem,) = problems_of(lambda: load_profile(library(inside), "a"))
        assert problem.help == f"make {inside.parent} the directory of profiles, instead of {inside}"

    @pytest.mark.parametrize("name", ["../a", "/etc/passwd", "a\0", ".", ""])
    def test_a_name_never_leads_out_of_the_library(self, tmp_path: Path, name: str) -> None:
        write_profiles(tmp_path, a="")
        inside = write_profiles(tmp_path / "inside", b="")
        (problem,) = problems_of(lambda: load_profile(library(inside), name))
        assert problem.code == "unknown-profile"


class TestPaths:
    """A file given by an explicit path may have any name and extend profiles of the library."""

    @pytest.mark.parametrize("as_text", [True, False])
    def test_a_path_is_a_path_or_ends_in_toml(self, tmp_path: Path, as_text: bool) -> None:
        shelf = write_profiles(tmp_path / "shelf", generic__any="")
        path = write_profiles(tmp_path / "mine", device="extends = ['generic/any']") / "device.toml"
        target = str(path) if as_text else path
        assert names_of_chain(library(shelf), target) == ["generic/any", "device"]

    def test_a_path_into_the_library_means_the_profile_there(self, tmp_path: Path) -> None:
        write_profiles(tmp_path, a="", x__b="extends = ['../a.toml']")
        assert names_of_chain(library(tmp_path), tmp_path / "x/b.toml") == ["a", "x/b"]

    def test_a_path_with_a_null_character_is_an_unknown_profile(self) -> None:
        (problem,) = problems_of(lambda: load_profile(library(), "a\0.toml"))
        assert problem.message == "there is no profile 'a\\x00.toml'"

    def test_a_missing_file_is_unreadable(self, tmp_path: Path) -> None:
        (problem,) = problems_of(lambda: load_profile(library(), tmp_path / "x.toml"))
        assert problem.code == "unreadable-file"


class TestBundledProfiles:
    """Bundled profiles are loaded in the same way as a vendor's."""

    @pytest.fixture
    def bundled(self) -> ProfileLibrary:
        return ProfileLibrary((bundled_profiles(),))

    def test_they_are_found(self, bundled: ProfileLibrary) -> None:
        assert {"generic/any", "generic/linux-x86_64", "generic/linux-arm64"} <= set(bundled.names)

    def test_an_installed_wheel_has_them_inside_the_package(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(library_module, "__file__", str(tmp_path / "etconfig/profile/library.py"))
        (tmp_path / "profiles").mkdir()
        assert bundled_profiles().directory == tmp_path / "profiles"
        (tmp_path / "etconfig/profiles").mkdir(parents=True)
        assert bundled_profiles().directory == tmp_path / "etconfig/profiles"

    def test_an_installation_without_them_is_an_internal_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(library_module, "__file__", str(tmp_path / "etconfig/profile/library.py"))
        with pytest.raises(InternalError, match="etconfig has no bundled profiles; please report it"):
            bundled_profiles()

    def test_each_is_valid_and_has_a_description(self, bundled: ProfileLibrary) -> None:
        for match in match_profiles(bundled, {}):
            assert match.profile.description
            assert load_chain(bundled, match.profile.name)

    @pytest.mark.parametrize(
        ("arch", "name"),
        [
            ("x86_64", "generic/linux-x86_64"),
            ("arm64", "generic/linux-arm64"),
            ("riscv64", "generic/linux"),
        ],
    )
    def test_the_generic_ones_cover_linux(self, bundled: ProfileLibrary, arch: str, name: str) -> None:
        matches = match_profiles(bundled, {"os.name": "linux", "cpu.arch": arch})
        generic = {m.profile.name for m in matches if m.is_match and m.profile.name.startswith("generic/")}
        assert generic == {"generic/any", "generic/linux", name}
