"""`validate` reports profiles that `auto` can never select beside others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import ROOT, Outcome
from plugin_data import write_distribution

import etconfig
from etconfig import Installation

LINUX = 'os.name == "linux"'
FAST = 'os.name == "linux" && cpu.available_cores >= 4'


def write(root: Path, name: str, match: str | None, extends: str | None = None) -> Path:
    path = root / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["[profile]", f'name = "{name}"']
    lines += [] if match is None else [f"match = '{match}'"]
    lines += [] if extends is None else [f'extends = ["{extends}"]']
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def warnings(place: Path, cli: Callable[..., Outcome]) -> Callable[..., list[str]]:
    """Validate files; return the messages of the warnings."""

    def run(*arguments: str | Path) -> list[str]:
        found = cli("validate", *arguments, "--format", "json").json
        assert {each["code"] for each in found} <= {"unselectable-profile"}
        for each in found:
            fails = each["message"].startswith("auto fails")
            assert each["severity"] == ("error" if fails else "warning")
        return sorted(each["message"] for each in found)

    return run


FAILS_FOR_A = (
    "auto fails instead of selecting 'acme/a': 'acme/b' matches wherever it does, "
    "and neither extends the other"
)
NEVER_A = "auto never selects 'acme/a': 'acme/b' matches wherever it does, and "


class TestOneDirectory:
    def test_a_profile_that_extends_it_and_matches_wherever_it_does_wins(
        self, place: Path, warnings: Callable[..., list[str]]
    ) -> None:
        write(place / "profiles", "acme/a", FAST)
        write(place / "profiles", "acme/b", LINUX, extends="acme/a")
        assert warnings("profiles") == [f"{NEVER_A}extends it"]

    def test_that_is_how_profiles_are_meant_if_the_narrower_one_extends(
        self, place: Path, warnings: Callable[..., list[str]]
    ) -> None:
        write(place / "profiles", "acme/a", LINUX)
        write(place / "profiles", "acme/b", FAST, extends="acme/a")
        assert warnings("profiles") == []

    def test_sizes_may_be_written_as_products(self, place: Path, warnings: Callable[..., list[str]]) -> None:
        write(place / "profiles", "acme/a", "memory.total >= 16 * 1024 * 1024 * 1024")
        write(place / "profiles", "acme/b", "memory.total >= 8 * 1024 * 1024 * 1024", extends="acme/a")
        assert warnings("profiles") == [f"{NEVER_A}extends it"]

    def test_a_product_that_may_have_no_value_is_no_reason(
        self, place: Path, warnings: Callable[..., list[str]]
    ) -> None:
        write(place / "profiles", "acme/a", "memory.total >= 16")
        write(place / "profiles", "acme/c", "memory.total * 2 >= 8", extends="acme/a")
        assert warnings("profiles") == []

    def test_two_of_one_kind_are_ambiguous_wherever_the_narrower_one_matches(
        self, place: Path, warnings: Callable[..., list[str]], cli: Callable[..., Outcome]
    ) -> None:
        write(place / "profiles", "acme/a", FAST)
        write(place / "profiles", "acme/b", LINUX)
        assert warnings("profiles") == [FAILS_FOR_A]
        done = cli("profiles", "match", "--profile-path", "profiles", "--facts", "device.json")
        assert "profiles 'acme/a' and 'acme/b' match this device" in done.stdout
        write(place / "profiles", "acme/b", FAST)
        other = FAILS_FOR_A.replace("/a", "/x").replace("/b", "/a").replace("/x", "/b")
        assert warnings("profiles") == [FAILS_FOR_A, other]
        assert cli("validate", "profiles").status == 1

    def test_one_that_extends_both_settles_it(
        self, place: Path, warnings: Callable[..., list[str]], cli: Callable[..., Outcome]
    ) -> None:
        write(place / "profiles", "acme/a", FAST)
        write(place / "profiles", "acme/b", FAST)
        both = write(place / "profiles", "acme/c", FAST)
        both.write_text(both.read_text() + 'extends = ["acme/a", "acme/b"]\n')
        assert len(warnings("profiles")) == 2
        assert cli("validate", "profiles").status == 0

    def test_a_profile_without_match_wins_over_none(
        self, place: Path, warnings: Callable[..., list[str]]
    ) -> None:
        write(place / "profiles", "acme/a", FAST)
        write(place / "profiles", "acme/b", None, extends="acme/a")
        assert warnings("profiles") == []

    def test_overlapping_conditions_are_no_reason(
        self, place: Path, warnings: Callable[..., list[str]]
    ) -> None:
        write(place / "profiles", "acme/a", LINUX)
        write(place / "profiles", "acme/b", "cpu.available_cores >= 4")
        assert warnings("profiles") == []

    def test_files_of_two_directories_do_not_compete(
        self, place: Path, warnings: Callable[..., list[str]]
    ) -> None:
        write(place / "one", "acme/a", FAST)
        write(place / "two", "acme/b", LINUX)
        assert warnings("one", "two") == []

    def test_a_file_that_does_not_lie_where_its_name_says_is_never_found(
        self, place: Path, warnings: Callable[..., list[str]], cli: Callable[..., Outcome]
    ) -> None:
        write(place / "profiles", "acme/a", FAST).rename(place / "profiles" / "other.toml")
        write(place / "profiles", "acme/b", LINUX)
        (misplaced,) = cli("validate", "profiles", "--format", "json").json
        assert (misplaced["code"], misplaced["severity"]) == ("profile-name-mismatch", "warning")
        assert misplaced["message"] == (
            "this profile is named 'acme/a', but its path gives the name 'profiles/other'"
        )
        assert warnings("profiles/other.toml", "profiles/acme/b.toml") == []


class TestTheProfilePath:
    def test_files_on_it_compete_though_only_one_is_checked(
        self, place: Path, warnings: Callable[..., list[str]]
    ) -> None:
        path = write(place / "one", "acme/a", FAST)
        write(place / "two", "acme/b", LINUX)
        both = ("--profile-path", "one", "--profile-path", "two")
        assert warnings(path, *both) == [FAILS_FOR_A]
        assert warnings("two", *both) == []

    def test_a_bundled_profile_never_wins_over_one_of_the_user(
        self, place: Path, warnings: Callable[..., list[str]]
    ) -> None:
        path = write(place / "one", "acme/a", FAST)
        assert warnings(path, "--profile-path", "one") == []

    def test_one_of_a_package_does_not_either(
        self, place: Path, warnings: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """But one of the user wins over that of the package wherever it matches."""
        site = place / "site"
        write_distribution(site, "boards-1.0.dist-info", "[etconfig.profiles]\nb = board_files:boards\n")
        (site / "board_files").mkdir()
        (site / "board_files" / "__init__.py").write_text("")
        packaged = write(site / "board_files" / "boards", "acme/a", FAST)
        own = write(place / "own", "acme/b", LINUX)
        monkeypatch.syspath_prepend(str(site))
        assert warnings(own, "--profile-path", "own") == []
        reason = "comes from a source that is preferred"
        assert warnings(packaged, "--profile-path", "own") == [f"{NEVER_A}{reason}"]

    def test_a_profile_that_cannot_be_read_is_left_out(
        self, place: Path, warnings: Callable[..., list[str]]
    ) -> None:
        path = write(place / "one", "acme/a", FAST)
        write(place / "one", "acme/b", LINUX)
        (place / "one" / "broken.toml").write_text("[")
        assert warnings(path, "--profile-path", "one") == [FAILS_FOR_A]


def test_both_conditions_are_shown(place: Path, cli: Callable[..., Outcome]) -> None:
    write(place / "profiles", "acme/a", FAST)
    write(place / "profiles", "acme/b", LINUX, extends="acme/a")
    done = cli("validate", "profiles")
    assert (done.status, done.stderr) == (0, "2 files checked: 0 errors, 1 warning\n")
    assert " --> profiles/acme/a.toml:3:9\n" in done.stdout
    assert " --> profiles/acme/b.toml:3:9\n" in done.stdout
    assert "help: narrow the condition of 'acme/b', or remove `match` from 'acme/a'" in done.stdout


def test_python_reports_the_same(place: Path) -> None:
    path = write(place / "one", "acme/a", FAST)
    write(place / "one", "acme/b", LINUX)
    installation = Installation(place, profile_directories=[place / "one"])
    (problem,) = etconfig.validate_file(path, installation)
    assert problem.code == "unselectable-profile"
    assert problem.is_error


def test_every_bundled_profile_can_be_selected(cli: Callable[..., Outcome]) -> None:
    done = cli("validate", ROOT / "profiles", "--format", "json")
    assert json.loads(done.stdout) == []
