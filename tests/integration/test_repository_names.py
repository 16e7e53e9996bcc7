"""Annotations, SARIF and the matrix name files from the root of the repository, as code hosts do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome

WRONG = "[options.ReferenceCpuBackend]\nnum_thread = 1\n"
PROFILE = f'[profile]\nname = "board"\nmatch = "true"\n{WRONG}'


def _files(done: Outcome, form: str) -> set[str]:
    """Return the files that an output names."""
    if form == "sarif":
        found = done.json["runs"][0]["results"]
        locations = [place for each in found for place in each["locations"]]
        return {each["physicalLocation"]["artifactLocation"]["uri"] for each in locations}
    return set(re.findall(r"^::error file=([^,]*),", done.stdout, re.MULTILINE))


def _mark(root: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "directory":
        (root / ".git").mkdir()
    elif kind == "file of a worktree":
        (root / ".git").write_text("gitdir: elsewhere\n")
    elif kind == "workspace":
        monkeypatch.setenv("GITHUB_WORKSPACE", str(root))


def test_every_form_names_files_from_the_root(
    cli: Callable[..., Outcome], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    wrong = []
    for kind in ("directory", "file of a worktree", "workspace"):
        root = place / kind.replace(" ", "-")
        here = root / "models/phone"
        (here / "profiles").mkdir(parents=True)
        (here / "profiles/board.toml").write_text(PROFILE)
        (root / "models/etconfig.toml").write_text(WRONG)
        (root / "models/device.json").write_text((place / "device.json").read_text())
        with monkeypatch.context() as patch:
            _mark(root, kind, patch)
            patch.chdir(here)
            facts, directory = ("--facts", "../device.json"), ("--profile-path", "profiles")
            for files in (("profiles",), (str(here / "profiles"),), ("../phone/profiles/board.toml",)):
                for form in ("github", "sarif"):
                    done = cli("validate", *files, "--format", form)
                    if _files(done, form) != {"models/phone/profiles/board.toml"}:
                        wrong.append((kind, files, done))
            done = cli("validate", "../etconfig.toml", "--format", "github")
            if _files(done, "github") != {"models/etconfig.toml"}:
                wrong.append((kind, "project", done))
            done = cli("matrix", *facts, *directory, "--format", "github")
            if not _files(done, "github") <= {"models/etconfig.toml", "models/phone/profiles/board.toml"}:
                wrong.append((kind, "matrix", done))
            for form in ("markdown", "html"):
                done = cli("matrix", *facts, *directory, "--format", form)
                if str(place) in done.stdout or "models/etconfig.toml:2" not in done.stdout:
                    wrong.append((kind, form, done))
    assert not wrong


def test_files_outside_are_short_on_a_page_and_whole_in_tools(
    cli: Callable[..., Outcome], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = place / "repository"
    (here / ".git").mkdir(parents=True)
    (place / "shared").mkdir()
    (place / "shared/board.toml").write_text(PROFILE)
    monkeypatch.chdir(here)
    directory = ("--profile-path", place / "shared")
    done = cli("matrix", "--facts", "../device.json", *directory, "--format", "markdown")
    assert "shared/board.toml:5" in done.stdout
    assert str(place) not in done.stdout
    found = cli("validate", place / "shared", "--format", "sarif")
    assert _files(found, "sarif") == {(place / "shared/board.toml").as_uri()}


def test_other_forms_name_files_as_they_were_given(cli: Callable[..., Outcome], place: Path) -> None:
    (place / ".git").mkdir()
    (place / "a.toml").write_text(PROFILE)
    assert json.loads(cli("validate", "a.toml", "--format", "json").stdout)[0]["spans"][0]["file"] == "a.toml"
    assert cli("validate", "./a.toml", "--format", "concise").stdout.startswith("a.toml:5:1: ")
