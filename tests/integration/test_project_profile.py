"""The profile that a project file names, and the one that `auto` would select: commands name both."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import ON_DEVICE, Outcome

import etconfig
from etconfig import Installation


@pytest.fixture
def project(place: Path) -> Path:
    """The project file, which names a profile that `auto` would not select."""
    path = place / "etconfig.toml"
    path.write_text('profile = "generic/linux"\n')
    return path


def findings(cli: Callable[..., Outcome]) -> dict[str, dict[str, str]]:
    return {each["subject"]: each for each in cli("doctor", "--json").json}


class TestProfilesMatch:
    def test_it_names_both(self, project: Path, cli: Callable[..., Outcome]) -> None:
        done = cli("profiles", "match", *ON_DEVICE)
        named = f"{project}:1:11 names generic/linux; auto would select generic/linux-x86_64\n"
        assert done.stdout.endswith(named)
        data = cli("profiles", "match", *ON_DEVICE, "--json").json
        assert data["selected"] == "generic/linux-x86_64"
        place = f"{project}:1:11"
        assert data["project"] == {"profile": "generic/linux", "place": place, "problem": None}

    def test_without_a_named_profile_auto_selects(self, project: Path, cli: Callable[..., Outcome]) -> None:
        for text in ('profile = "auto"\n', ""):
            project.write_text(text)
            done = cli("profiles", "match", *ON_DEVICE)
            assert done.stdout.endswith("\nauto selects generic/linux-x86_64\n")
            assert cli("profiles", "match", *ON_DEVICE, "--json").json["project"] is None

    def test_a_named_profile_that_is_missing_fails(self, project: Path, cli: Callable[..., Outcome]) -> None:
        project.write_text('profile = "generic/linx"\n')
        done = cli("profiles", "match", *ON_DEVICE)
        assert done.status == 1
        assert f"{project}:1:11: there is no profile 'generic/linx'" in done.stdout
        assert "auto would select generic/linux-x86_64" in done.stdout
        data = cli("profiles", "match", *ON_DEVICE, "--json").json
        assert "there is no profile" in data["project"]["problem"]


class TestDoctor:
    def test_it_names_both(self, project: Path, cli: Callable[..., Outcome]) -> None:
        found = findings(cli)
        assert found["profile"] == {
            "subject": "profile",
            "status": "ok",
            "detail": f"generic/linux, named by {project}:1:11",
            "help": None,
        }
        assert ", auto would select " in found["profiles"]["detail"]

    @pytest.mark.parametrize("target", ["generic/linx", "missing.toml"])
    def test_a_missing_profile_is_an_error_at_its_line(
        self, target: str, project: Path, cli: Callable[..., Outcome]
    ) -> None:
        project.write_text(f'profile = "{target}"\n')
        assert cli("doctor").status == 1
        assert findings(cli)["profile"]["status"] == "error"
        assert f"{project}:1:11" in findings(cli)["profile"]["detail"]

    @pytest.mark.parametrize(
        "text", ["profile = \n", "profil = 1\n", '[facts]\n"cpu.cores" = 1\n', "[plugins]\nallow = 1\n"]
    )
    def test_a_wrong_project_file_is_an_error(
        self, text: str, project: Path, cli: Callable[..., Outcome]
    ) -> None:
        project.write_text(text)
        assert cli("doctor").status == 1
        found = findings(cli)
        assert found["project file"]["status"] == "error"
        assert f"{project}:" in found["project file"]["detail"]
        assert [name for name, each in found.items() if each["status"] == "error"] == ["project file"]


class TestResolve:
    def test_it_names_the_place_of_the_choice(self, project: Path, cli: Callable[..., Outcome]) -> None:
        done = cli("resolve", *ON_DEVICE)
        assert done.stdout.startswith(f"profile generic/linux, named by {project}:1:11\n")
        assert cli("resolve", *ON_DEVICE, "--json").json["selected_by"] == f"{project}:1:11"

    def test_auto_and_a_name_are_distinguished(self, project: Path, cli: Callable[..., Outcome]) -> None:
        automatic = cli("resolve", *ON_DEVICE, "--profile", "auto", "--json").json
        assert (automatic["profile"], automatic["selected_by"]) == ("generic/linux-x86_64", "auto")
        named = cli("resolve", *ON_DEVICE, "--profile", "generic/any", "--json").json
        assert (named["profile"], named["selected_by"]) == ("generic/any", None)
        assert cli("resolve", *ON_DEVICE, "--profile", "generic/any").stdout.startswith(
            "profile generic/any\n"
        )

    def test_a_missing_file_is_reported_at_the_line_that_names_it(
        self, project: Path, cli: Callable[..., Outcome]
    ) -> None:
        project.write_text('profile = "missing.toml"\n')
        done = cli("resolve", *ON_DEVICE)
        assert done.status == 2
        assert f"error[unreadable-file]: cannot read {project.parent / 'missing.toml'}" in done.stderr
        assert f" --> {project}:1:11\n" in done.stderr


def test_python_names_the_place_too(project: Path) -> None:
    installation = Installation(project.parent)
    facts = etconfig.load_fact_sheet(Path("device.json"))
    resolution = etconfig.resolve(facts=facts, installation=installation)
    assert (resolution.profile, resolution.selected_by) == ("generic/linux", f"{project}:1:11")
    assert pickle.loads(pickle.dumps(resolution)).selected_by == f"{project}:1:11"
    automatic = etconfig.resolve(facts=facts, installation=installation, profile="auto")
    assert automatic.selected_by == "auto"
    assert etconfig.resolve(facts=facts, installation=installation, profile="generic/any").selected_by is None
