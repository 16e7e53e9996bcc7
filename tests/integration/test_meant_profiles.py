"""A path or a part of a name where the name of a profile belongs: suggested, and fixed in files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome

import etconfig

CLI = Callable[..., Outcome]

PATHS = [
    "phone.toml",
    "app/phone.toml",
    "./app/phone.toml",
    "../app/phone.toml",
    "/home/x/profiles/app/phone.toml",
    "profiles/app/phon.toml",
]
NAMES = ["phone", "app/phon", "profiles/app/phone", "./app/phone", "app/phone.TOML", r"app\\phone"]
WRONG = [*PATHS, *NAMES]


@pytest.fixture
def project(place: Path) -> Path:
    """A directory with the profile `app/phone`."""
    (place / "profiles" / "app").mkdir(parents=True)
    (place / "profiles" / "app" / "phone.toml").write_text('[profile]\nname = "app/phone"\n')
    return place / "etconfig.toml"


@pytest.mark.parametrize("written", WRONG)
class TestWrongNames:
    """The help names the profile; in the project file, `--fix --unsafe-fixes` writes it."""

    def test_of_the_project_file(self, cli: CLI, project: Path, written: str) -> None:
        project.write_text(f'profile_path = ["profiles"]\nprofile = "{written}"\n')
        found = cli("validate", "etconfig.toml")
        assert "error[unknown-profile]: " in found.stdout
        assert f'2 | profile = "{written}"\n' in found.stdout
        assert "  = help: did you mean 'app/phone'?" in found.stdout
        assert "did you mean 'app/phone'?" in cli("resolve").stderr
        assert cli("validate", "--fix", "--unsafe-fixes", "etconfig.toml").status == 0
        assert project.read_text() == 'profile_path = ["profiles"]\nprofile = "app/phone"\n'

    def test_of_the_option(self, cli: CLI, project: Path, written: str) -> None:
        named = written.replace("\\\\", "\\")
        found = cli("resolve", "--profile-path", "profiles", "--profile", named)
        assert found.stderr.startswith("error[unknown-profile]: there is no ")
        assert "  = help: did you mean 'app/phone'?" in found.stderr


def test_a_path_like_no_name_is_a_file_that_cannot_be_read(cli: CLI, project: Path) -> None:
    project.write_text('profile_path = ["profiles"]\nprofile = "zork/missing.toml"\n')
    assert "error[unreadable-file]: cannot read zork/missing.toml" in cli("validate", "etconfig.toml").stdout


def test_a_path_to_a_file_stays_a_path(cli: CLI, project: Path) -> None:
    assert cli("resolve", "--profile", "profiles/app/phone.toml").status == 0
    installation = etconfig.Installation(project.parent, profile_directories=["profiles"])
    assert installation.profiles.find("profiles/app/phone.toml").path == Path("profiles/app/phone.toml")
