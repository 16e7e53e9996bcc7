"""Directories of profiles that cannot be read stop `auto`: the profile of the device might be there."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import ON_DEVICE, Outcome
from plugin_data import write_distribution

from etconfig import Installation
from etconfig.app.installation.project_location import find_project_file
from etconfig.errors import ProfileError
from etconfig.profile.inheritance import load_chain
from etconfig.profile.library import ProfileLibrary, ProfileSource, bundled_profiles
from etconfig.profile.selector import select_profile

CONSEQUENCE = "  = note: the profile that fits a device might be there, so `auto` selects none\n"
PROFILE = '[profile]\nname = "acme/board"\nmatch = \'os.name == "linux"\'\n'
NOBODY = 65534


@pytest.fixture
def profiles(place: Path) -> Path:
    """A directory of profiles with one for the device, and a directory inside."""
    (place / "profiles" / "acme").mkdir(parents=True)
    (place / "profiles" / "acme" / "board.toml").write_text(PROFILE)
    return place / "profiles"


@pytest.fixture
def locked(profiles: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, but `profiles/acme` cannot be listed; for root too, unlike one without permissions."""
    scandir = os.scandir

    def refuse(path: object = ".") -> object:
        if str(path).endswith("acme"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", refuse)
    return profiles / "acme"


class TestWithoutPermission:
    @pytest.mark.parametrize("command", ["resolve", "explain ReferenceCpuBackend.num_threads", "lock"])
    def test_auto_stops(self, command: str, locked: Path, cli: Callable[..., Outcome]) -> None:
        done = cli(*command.split(), *ON_DEVICE, "--profile-path", "profiles")
        assert done.status == 2
        assert done.stderr == (
            "error[unreadable-file]: cannot read the directory of profiles 'profiles/acme': "
            "Permission denied\n"
            f"{CONSEQUENCE}"
            "  = help: make it readable, remove it, or name a profile that lies elsewhere\n"
        )

    def test_profiles_match_stops(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        done = cli("profiles", "match", *ON_DEVICE, "--profile-path", "profiles")
        assert done.status == 2
        assert "cannot read the directory of profiles 'profiles/acme'" in done.stderr

    def test_a_profile_that_is_found_elsewhere_can_be_named(
        self, locked: Path, cli: Callable[..., Outcome]
    ) -> None:
        named = ("--profile-path", "profiles", "--profile", "generic/any")
        assert cli("resolve", *ON_DEVICE, *named).status == 0
        assert cli("profiles", "show", "generic/any", "--profile-path", "profiles").status == 0

    def test_one_that_is_not_found_may_be_there(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        done = cli("resolve", *ON_DEVICE, "--profile-path", "profiles", "--profile", "acme/board")
        assert done.status == 2
        assert "error[unknown-profile]: there is no profile 'acme/board'" in done.stderr
        assert "cannot read the directory of profiles 'profiles/acme'" in done.stderr

    @pytest.mark.parametrize("form", [(), ("--json",)])
    def test_profiles_list_shows_the_others_and_fails(
        self,
        form: tuple[str, ...],
        locked: Path,
        cli: Callable[..., Outcome],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("ETCONFIG_PROFILE_PATH", "profiles")
        for command in (("profiles", "list", *form), ("profiles", *form)[:1]):
            done = cli(*command)
            assert done.status == 1
            assert "generic/any" in done.stdout
            assert "cannot read the directory of profiles 'profiles/acme'" in done.stderr

    def test_doctor_shows_the_same(
        self, locked: Path, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ETCONFIG_PROFILE_PATH", "profiles")
        done = cli("doctor")
        assert done.status == 1
        assert "  error  profiles: cannot read the directory of profiles 'profiles/acme'" in done.stdout

    @pytest.mark.skipif(sys.platform == "win32", reason="permissions work otherwise")
    def test_it_is_so_with_real_permissions(self) -> None:
        root = Path(tempfile.mkdtemp())
        try:
            root.chmod(0o755)
            (root / "acme").mkdir()
            (root / "acme" / "board.toml").write_text(PROFILE)
            (root / "acme").chmod(0)
            library = ProfileLibrary((bundled_profiles(), ProfileSource("mine", root)))
            with unprivileged():
                problems = library.problems
            (root / "acme").chmod(stat.S_IRWXU)
        finally:
            shutil.rmtree(root)
        (problem,) = problems
        assert (
            problem.message == f"cannot read the directory of profiles '{root / 'acme'}': Permission denied"
        )
        with pytest.raises(ProfileError):
            select_profile(library, {"os.name": "linux"})
        assert load_chain(library, "generic/any")


@contextmanager
def unprivileged() -> Iterator[None]:
    """Become another user if this is root, who ignores permissions."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


class TestDirectoriesThatWereNamed:
    @pytest.fixture(autouse=True)
    def _tree(self, place: Path) -> None:
        (place / "file").write_text("")
        (place / "loop").symlink_to("loop")

    @pytest.mark.parametrize(
        ("named", "message"),
        [
            ("missing", "there is no directory of profiles 'missing'"),
            ("file", "expected a directory of profiles, but 'file' is a file"),
            ("file/below", "there is no directory of profiles 'file/below'"),
            ("loop", "cannot read the directory of profiles 'loop': Too many levels of symbolic links"),
        ],
    )
    def test_one_that_cannot_be_used_stops_every_command(
        self, named: str, message: str, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A directory that is named is counted on, also where the profile lies elsewhere."""
        monkeypatch.setenv("ETCONFIG_PROFILE_PATH", named)
        for arguments in (("resolve",), ("resolve", "--profile", "generic/any"), ("profiles", "match")):
            done = cli(*arguments, *ON_DEVICE)
            assert done.status == 2
            assert f"error[unreadable-file]: {message}\n" in done.stderr
        assert cli("doctor").status == 1
        assert message in cli("doctor").stdout


class TestTheDirectoryOfTheUser:
    @pytest.fixture
    def own(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(place / "config"))
        (place / "config" / "etconfig").mkdir(parents=True)
        return place / "config" / "etconfig" / "profiles"

    def test_none_is_no_problem(self, own: Path, cli: Callable[..., Outcome]) -> None:
        assert cli("resolve", *ON_DEVICE).status == 0

    @pytest.mark.parametrize("kind", ["file", "link to nothing", "loop"])
    def test_something_else_stops_auto_alone(self, kind: str, own: Path, cli: Callable[..., Outcome]) -> None:
        if kind == "file":
            own.write_text("")
        else:
            own.symlink_to("gone" if kind == "link to nothing" else own.name)
        done = cli("resolve", *ON_DEVICE)
        assert done.status == 2
        assert "directory of profiles" in done.stderr
        assert str(own) in done.stderr
        assert CONSEQUENCE in done.stderr
        assert "XDG_CONFIG_HOME" in done.stderr
        assert cli("resolve", *ON_DEVICE, "--profile", "generic/any").status == 0
        assert cli("doctor").status == 1


class TestPackages:
    """A directory of an `etconfig.profiles` entry point that is missing or empty."""

    @pytest.fixture
    def site(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
        site = tmp_path / "site"
        write_distribution(site, "boards-1.0.dist-info", "[etconfig.profiles]\nboards = board_files:boards\n")
        (site / "board_files").mkdir()
        (site / "board_files" / "__init__.py").write_text("")
        monkeypatch.syspath_prepend(str(site))
        return site

    @pytest.mark.parametrize("is_empty", [True, False], ids=["empty", "missing"])
    def test_auto_stops(self, is_empty: bool, site: Path, place: Path, cli: Callable[..., Outcome]) -> None:
        if is_empty:
            (site / "board_files" / "boards").mkdir()
            expected = f"boards provides profiles in '{site}/board_files/boards', but there is none"
        else:
            expected = "boards 1.0 provides no profiles: package board_files has no directory boards"
        done = cli("resolve", *ON_DEVICE)
        assert done.status == 2
        assert f"error[broken-plugin]: {expected}\n" in done.stderr
        assert CONSEQUENCE in done.stderr
        assert "help: reinstall boards" in done.stderr
        assert cli("resolve", *ON_DEVICE, "--profile", "generic/any").status == 0
        checked = cli("doctor")
        assert checked.status == 1
        assert f"profiles: {expected}" in checked.stdout

    def test_it_can_be_done_without(self, site: Path, place: Path, cli: Callable[..., Outcome]) -> None:
        (place / "etconfig.toml").write_text('[plugins]\ndeny = ["boards"]\n')
        assert cli("resolve", *ON_DEVICE).status == 0

    def test_python_raises_the_same(self, site: Path, place: Path) -> None:
        library = Installation(place).profiles
        assert [problem.code for problem in library.problems] == ["broken-plugin"]
        with pytest.raises(ProfileError, match=r"boards 1\.0 provides no profiles"):
            select_profile(library, {"os.name": "linux"})


class TestTheProjectFile:
    """A file that may configure etconfig and cannot be read is not passed over."""

    def test_a_pyproject_that_cannot_be_read_is_found(
        self, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """So reading it raises an error that says why."""
        (place / "pyproject.toml").write_text("")

        def refuse(path: Path) -> bytes:
            raise PermissionError(13, "Permission denied", str(path))

        assert find_project_file(place) is None
        monkeypatch.setattr(Path, "read_bytes", refuse)
        assert find_project_file(place) == place / "pyproject.toml"

    def test_one_in_a_directory_without_permission_is_found(
        self, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(path: Path) -> bool:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(Path, "lstat", refuse)
        assert find_project_file(place) == place / "etconfig.toml"

    def test_a_broken_link_and_a_directory_stop_commands(
        self, place: Path, cli: Callable[..., Outcome]
    ) -> None:
        """The defaults would apply in silence instead of the settings that a link was meant to bring."""
        path = place / "etconfig.toml"
        path.symlink_to("shared.toml")
        done = cli("resolve", "--profile", "generic/any")
        assert (done.status, f"cannot read {path}: No such file" in done.stderr) == (2, True)
        path.unlink()
        path.mkdir()
        done = cli("resolve", "--profile", "generic/any")
        assert (done.status, f"cannot read {path}: not a regular file" in done.stderr) == (2, True)


def test_links_to_directories_are_not_followed(profiles: Path, cli: Callable[..., Outcome]) -> None:
    """So a link to a directory above cannot make the listing endless."""
    (profiles / "again").symlink_to(profiles)
    library = ProfileLibrary((ProfileSource("mine", profiles),))
    assert (library.names, library.problems) == (("acme/board",), ())
