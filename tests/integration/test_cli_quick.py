"""Answers without click are the same as with click."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from etconfig.cli.startup.command_group import run
from etconfig.cli.startup.command_list import group_help
from etconfig.cli.startup.main import quick_text

ANSWERED = ["backends", "backends --json", "profiles", "profiles list", "profiles list --json"]


@pytest.fixture(autouse=True)
def _no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.mark.parametrize("line", ANSWERED)
def test_lists_are_the_same_as_those_of_the_command(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = quick_text(line.split())
    assert run(line.split()) == 0
    assert text == capsys.readouterr().out != ""


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_help_is_the_same_as_that_of_the_command_group(
    option: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = quick_text([option])
    monkeypatch.setenv("COLUMNS", "80")
    assert run([option]) == 0
    assert text == group_help() == capsys.readouterr().out


@pytest.mark.parametrize("line", ["", "resolve", "backends ReferenceCpuBackend", "profiles --json", "-h -h"])
def test_everything_else_is_left_to_click(line: str) -> None:
    assert quick_text(line.split()) is None


def test_a_chosen_width_is_left_to_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert quick_text(["--help"]) is None


def test_errors_are_left_to_click(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETCONFIG_PROFILE_PATH", str(tmp_path / "missing") + os.pathsep)
    assert quick_text(["profiles", "list"]) is None


def test_an_empty_list_is_left_to_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETCONFIG_DISABLE_PLUGINS", "*")
    assert quick_text(["backends"]) is None
    assert quick_text(["backends", "--json"]) == "[]\n"
