"""`Installation.with_texts`: texts that an editor has not saved count in place of files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import etconfig
from etconfig.app.validating.validation import Validator

BASE = '[profile]\nname = "acme/base"\n[options.ReferenceNpuBackend]\ncore = 1\n'
BOARD = '[profile]\nname = "acme/board"\nextends = ["acme/base"]\n'


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("acme").mkdir()
    Path("acme/base.toml").write_text(BASE)
    Path("acme/board.toml").write_text(BOARD)
    Path("etconfig.toml").write_text('profile_path = ["."]\nprofile = "acme/board"\n')
    return tmp_path


def problems(name: str, **texts: str) -> list[str]:
    """Return the problems of a file if other texts count; names of files have `__` for `/`."""
    real = {os.path.realpath(f"{key.replace('__', '/')}.toml"): text for key, text in texts.items()}
    installation = etconfig.Installation(".").with_texts(real)
    return [str(each) for each in Validator(installation=installation).problems(Path(name))]


def test_the_unsaved_text_of_a_profile_is_checked(profiles: Path) -> None:
    assert problems("acme/board.toml") == []
    found = problems("acme/board.toml", acme__board=f"{BOARD}[options.ReferenceNpuBackend]\ncoer = 1\n")
    assert found == ["acme/board.toml:5:1: ReferenceNpuBackend has no option 'coer'"]


def test_the_unsaved_text_of_a_base_counts(profiles: Path) -> None:
    found = problems("acme/board.toml", acme__base=BASE.replace("core = 1", "core = 9"))
    assert len(found) == 1
    assert "acme/base.toml:4:8: " in found[0]


def test_the_unsaved_project_file_names_the_profile(profiles: Path) -> None:
    found = problems("etconfig.toml", etconfig='profile_path = ["."]\nprofile = "acme/borad"\n')
    assert found == ["etconfig.toml:2:11: there is no profile 'acme/borad'"]


def test_the_unsaved_text_of_a_file_of_models_counts(profiles: Path) -> None:
    Path("models.toml").write_text("")
    Path("etconfig.toml").write_text('models = ["models.toml"]\n')
    found = problems("etconfig.toml", models='[model.a]\nbackends = ["NoBackend"]\n')
    assert [each.partition(" ")[2] for each in found] == [
        "model 'a': no installed plugin declares the backend 'NoBackend'"
    ]


def test_a_deleted_file_is_checked_as_long_as_its_text_is_there(profiles: Path) -> None:
    Path("acme/board.toml").unlink()
    assert problems("acme/board.toml", acme__board=BOARD) == []
    assert problems("acme/board.toml")[0] == "there is no file 'acme/board.toml'"


def test_a_configuration_has_unsaved_values(profiles: Path) -> None:
    texts = {os.path.realpath("acme/base.toml"): BASE.replace("core = 1", "core = 2")}
    installation = etconfig.Installation(".").with_texts(texts)
    configuration = etconfig.configure(installation=installation)
    assert configuration.explain("ReferenceNpuBackend.core").value == 2
