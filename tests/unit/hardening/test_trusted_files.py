"""Files that are found rather than named: the project file, and the user's own profiles."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from profile_texts import load_profile, problems_of, write_profiles

from etconfig.app.installation.installation import PROFILE_PATH_VARIABLE, PROJECT_VARIABLE, Installation
from etconfig.app.installation.trust import check_trusted
from etconfig.diagnostics import Diagnostic
from etconfig.profile.library import Provider

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes do not tell who may write there")
needs_root = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root may give files away"
)
STRANGER = 4321


@pytest.fixture
def user_profiles(tmp_path: Path) -> Path:
    """The user's own directory of profiles, with one profile."""
    return write_profiles(tmp_path / "home" / "etconfig" / "profiles", mine__board="")


def installation(tmp_path: Path, directory: Path | None = None, **variables: str) -> Installation:
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "home"), **variables}
    return Installation(directory, environ=environ, search_path=())


def sole_problem(read: Callable[[], object]) -> Diagnostic:
    (problem,) = problems_of(read)
    assert problem.code == "untrusted-file"
    return problem


class TestUserProfiles:
    """The profiles of the user are found without being named if the directory exists."""

    def test_they_are_found_and_are_those_of_a_user(self, tmp_path: Path, user_profiles: Path) -> None:
        library = installation(tmp_path).profiles
        file = library.find("mine/board")
        assert (file.path, file.provider) == (user_profiles / "mine" / "board.toml", Provider.USER)
        assert load_profile(library, "mine/board").name == "mine/board"

    def test_a_missing_directory_is_not_a_problem(self, tmp_path: Path) -> None:
        assert "generic/any" in installation(tmp_path).profiles.names

    def test_without_a_home_none_are_looked_for(self) -> None:
        (bundled,) = Installation(environ={}, search_path=()).profiles.sources
        assert bundled.provider is Provider.BUNDLED

    def test_the_environment_of_the_process_counts_unless_another_is_given(
        self, tmp_path: Path, user_profiles: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
        assert "mine/board" in Installation(search_path=()).profiles.names
        assert "mine/board" not in Installation(environ={}, search_path=()).profiles.names

    def test_naming_the_directory_too_does_not_count_it_twice(
        self, tmp_path: Path, user_profiles: Path
    ) -> None:
        named = installation(tmp_path, **{PROFILE_PATH_VARIABLE: str(user_profiles)})
        assert named.profiles.find("mine/board").path == user_profiles / "mine" / "board.toml"


class TestWritableByEverybody:
    """A file that everybody can write is refused unless it was named."""

    @pytest.mark.posix
    @pytest.mark.parametrize("name", [".", "mine", "mine/board.toml"])
    def test_a_profile_of_the_user(self, tmp_path: Path, user_profiles: Path, name: str) -> None:
        path = user_profiles / name
        path.chmod(path.stat().st_mode | 0o002)
        problem = sole_problem(lambda: installation(tmp_path).profiles)
        assert problem.message == f"{path} can be written by every user"
        assert problem.help == f"check its contents, then `chmod o-w {path}`"
        assert problem.spans[0].file == str(path)
        named = installation(tmp_path, **{PROFILE_PATH_VARIABLE: str(user_profiles)})
        assert "mine/board" in named.profiles.names

    @pytest.mark.posix
    @pytest.mark.parametrize(
        ("name", "text"),
        [("etconfig.toml", 'profile = "generic/any"\n'), ("pyproject.toml", "[tool.etconfig]\n")],
    )
    def test_a_project_file(self, tmp_path: Path, name: str, text: str) -> None:
        path = tmp_path / name
        path.write_text(text)
        path.chmod(0o666)
        below = tmp_path / "below"
        below.mkdir()
        problem = sole_problem(lambda: installation(tmp_path, below).project)
        assert problem.message == f"{path} can be written by every user"
        sole_problem(lambda: installation(tmp_path, below).index)
        assert installation(tmp_path, below, **{PROJECT_VARIABLE: str(path)}).project is not None
        path.chmod(0o664)
        assert installation(tmp_path, below).project is not None

    @pytest.mark.posix
    def test_a_pyproject_without_a_table_of_etconfig_is_ignored(self, tmp_path: Path) -> None:
        path = tmp_path / "pyproject.toml"
        path.write_text("[tool.other]\n")
        path.chmod(0o666)
        assert installation(tmp_path, tmp_path).project is None

    @pytest.mark.posix
    def test_the_path_is_shown_as_short_as_it_can_be(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        path = tmp_path / "etconfig.toml"
        path.touch()
        path.chmod(0o666)
        problem = sole_problem(lambda: installation(tmp_path, tmp_path).project)
        assert problem.message == "etconfig.toml can be written by every user"


class TestOwnedBySomebodyElse:
    """A file that belongs to neither this user nor root is refused unless it was named."""

    @pytest.mark.posix
    @needs_root
    def test_a_project_file(self, tmp_path: Path) -> None:
        path = tmp_path / "etconfig.toml"
        path.touch()
        os.chown(path, STRANGER, -1)
        problem = sole_problem(lambda: installation(tmp_path, tmp_path).project)
        assert problem.message == f"{path} belongs to another user (uid {STRANGER})"
        assert problem.help == (
            f"if you trust its contents, `chown` it to yourself, or name it: {PROJECT_VARIABLE}={path}"
        )
        assert installation(tmp_path, tmp_path, **{PROJECT_VARIABLE: str(path)}).project is not None

    @needs_root
    def test_a_link_that_somebody_planted(self, tmp_path: Path) -> None:
        (tmp_path / "real.toml").touch()
        link = tmp_path / "etconfig.toml"
        link.symlink_to("real.toml")
        os.chown(link, STRANGER, -1, follow_symlinks=False)
        problem = sole_problem(lambda: installation(tmp_path, tmp_path).project)
        assert problem.message == f"{link} belongs to another user (uid {STRANGER})"

    @needs_root
    def test_all_profiles_of_the_user_are_reported_together(
        self, tmp_path: Path, user_profiles: Path
    ) -> None:
        write_profiles(user_profiles, other="")
        for name in ("other.toml", "mine/board.toml"):
            os.chown(user_profiles / name, STRANGER, -1)
        problems = problems_of(lambda: installation(tmp_path).profiles)
        assert [problem.help for problem in problems] == [
            "if you trust its contents, `chown` it to yourself, "
            f"or name the directory: {PROFILE_PATH_VARIABLE}={user_profiles}"
        ] * 2

    @pytest.mark.posix
    def test_the_owner_is_compared_with_the_user_who_runs_etconfig(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Root's files are trusted by all; a user's only by that user."""
        path = tmp_path / "etconfig.toml"
        path.touch()
        monkeypatch.setattr("os.geteuid", lambda: STRANGER)
        if path.stat().st_uid == 0:
            check_trusted([path], "name it")
        else:
            sole_problem(lambda: check_trusted([path], "name it"))

    def test_a_broken_link_is_reported_on_reading(self, tmp_path: Path) -> None:
        (tmp_path / "a.toml").symlink_to("gone")
        check_trusted([tmp_path / "a.toml", tmp_path / "absent"], "name it")
