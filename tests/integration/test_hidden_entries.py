"""Hidden entries of a directory are neither profiles nor sheets for any command; ConfigMaps work."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from command_line import DEVICE, ON_DEVICE, Outcome

import etconfig

PROFILE = '[profile]\nname = "acme/b"\nmatch = "true"\n[options.ReferenceCpuBackend]\nnum_threads = 3\n'
SHEET = json.dumps(
    {"etconfig_fact_sheet": 1, "facts": {name: {"value": each} for name, each in DEVICE.items()}}
)
BROKEN = "\0\5\26\7"
HIDDEN: dict[str, tuple[str, str | None]] = {
    "..2026_11_28/{}": ("copy", None),
    ".git/{}": ("copy", None),
    "acme/.ipynb_checkpoints/{}": ("copy", None),
    "acme/.old/deep/{}": ("broken", None),
    ".svn.toml/x/{}": ("copy", None),
    "acme/.#{}": ("link", "me@host.1:2"),
    "acme/._{}": ("broken", None),
    ".{}": ("copy", None),
    "acme/.link": ("link", "."),
    ".outside": ("link", ".."),
}
"""Names below a directory, where `{}` is the name of a file, and what they are."""
FLEET = (("fleet", "coverage", "sheets"),) if find_spec("duckdb") else ()
COMMANDS = (
    ("validate", "profiles", "--program", "model.pte"),
    ("profiles", "list", "--profile-path", "profiles"),
    ("profiles", "match", "--profile-path", "profiles", *ON_DEVICE),
    ("resolve", "model.pte", "--profile-path", "profiles", "--facts", "sheets", "--json"),
    ("lock", "model.pte", "--profile-path", "profiles", "--facts", "sheets"),
    ("lock", "--check", "model.pte", "--profile-path", "profiles", "--facts", "sheets"),
    ("matrix", "model.pte", "--profile-path", "profiles", "--facts", "sheets"),
    ("pack", "model.pte", "--profile-path", "profiles", "-o", "x.etbundle"),
)


def _outcomes(cli: Callable[..., Outcome]) -> list[Outcome]:
    shutil.rmtree(".etconfig-fleet", ignore_errors=True)
    return [cli(*command) for command in (*COMMANDS, *FLEET)]


@pytest.fixture
def tree(place: Path) -> Path:
    """A directory with one profile, and one with one sheet."""
    for folder, suffix, text in (("profiles", "toml", PROFILE), ("sheets", "json", SHEET)):
        (place / folder / "acme").mkdir(parents=True)
        (place / folder / f"acme/b.{suffix}").write_text(text)
    return place


def _hide(top: Path, name: str, what: str, target: str | None) -> None:
    file = next(top.glob("acme/b.*"))
    path = top / name.format(file.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if what == "link" and target is not None:
        path.symlink_to(target)
    else:
        path.write_text(BROKEN if what == "broken" else file.read_text())


def test_no_command_sees_them(cli: Callable[..., Outcome], tree: Path) -> None:
    before = _outcomes(cli)
    assert {outcome.status for outcome in before} == {0}, before
    for name, (what, target) in HIDDEN.items():
        for folder in ("profiles", "sheets"):
            _hide(tree / folder, name, what, target)
    commands = [*COMMANDS, *FLEET]
    after = _outcomes(cli)
    wrong = [each for each in zip(commands, before, after, strict=True) if each[1] != each[2]]
    assert not wrong


def test_a_profile_of_the_user_beside_files_of_another_is_trusted(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tree / "home/etconfig/profiles"
    shutil.copytree(tree / "profiles", own)
    (own / ".git").mkdir(mode=0o777)
    (own / ".git").chmod(0o777)
    environ = {"XDG_CONFIG_HOME": str(tree / "home")}
    assert "acme/b" in etconfig.Installation(environ=environ, search_path=()).profiles.names


def _mount(top: Path, version: str, nested: bool, text: str) -> None:
    """Write a version of a mounted ConfigMap as Kubernetes does: it renames a link."""
    new = top / f"..2026_{version}"
    name = "acme/b" if nested else "b"
    suffix = "toml" if top.name == "profiles" else "json"
    (new / name).parent.mkdir(parents=True)
    (new / f"{name}.{suffix}").write_text(text)
    old = os.path.realpath(top / "..data")
    (top / "..data_tmp").symlink_to(new.name)
    (top / "..data_tmp").replace(top / "..data")
    entry = top / ("acme" if nested else f"b.{suffix}")
    if not entry.is_symlink():
        entry.symlink_to(f"..data/{entry.name}")
    if old != str(top / "..data"):
        shutil.rmtree(old)


@pytest.mark.posix
def test_mounted_configmaps_are_read_and_read_again(cli: Callable[..., Outcome], place: Path) -> None:
    wrong = []
    for nested in (False, True):
        name = "acme/b" if nested else "b"
        text = PROFILE.replace("acme/b", name)
        for top in (place / "profiles", place / "sheets"):
            shutil.rmtree(top, ignore_errors=True)
            top.mkdir()
            _mount(top, "1", nested, text if top.name == "profiles" else SHEET)
        outcomes = _outcomes(cli)
        wrong += [(nested, each) for each in outcomes if each.status != 0]
        found = cli("profiles", "list", "--profile-path", "profiles").stdout
        if found.count(f" profiles/{name}.toml\n") != 1:
            wrong.append((nested, found))
        installation = etconfig.Installation(profile_directories=["profiles"])
        program = etconfig.load_program("model.pte", installation=installation)
        for version, threads in (("2", 5), ("3", 6), ("4", 7), ("5", 8)):
            _mount(place / "profiles", version, nested, text.replace("= 3", f"= {threads}"))
            facts = etconfig.FactSheet.from_values(DEVICE, "test")
            installation = installation.refreshed()
            resolution = etconfig.resolve(program, facts=facts, installation=installation)
            options = resolution.arguments("forward")["ReferenceCpuBackend"]
            if options.num_threads != threads:
                wrong.append((nested, version, options))
    assert not wrong


@pytest.mark.posix
def test_a_profile_in_a_configmap_extends_another_one_by_path(
    cli: Callable[..., Outcome], place: Path
) -> None:
    top = place / "profiles"
    top.mkdir()
    _mount(top, "1", False, PROFILE.replace("acme/b", "b"))
    (top / "..data/c.toml").write_text('[profile]\nname = "c"\nextends = ["b.toml"]\n')
    (top / "c.toml").symlink_to("..data/c.toml")
    done = cli("validate", "profiles")
    assert done.status == 0, done


@pytest.mark.posix
def test_links_to_directories_that_are_not_hidden_are_not_followed(
    cli: Callable[..., Outcome], tree: Path
) -> None:
    before = cli("profiles", "list", "--profile-path", "profiles")
    (tree / "outside/.data").mkdir(parents=True)
    (tree / "outside/.data/c.toml").write_text(PROFILE)
    (tree / "profiles/again").symlink_to("acme")
    (tree / "profiles/loop").symlink_to(".")
    (tree / "profiles/outside").symlink_to("../outside/.data")
    (tree / "profiles/.x").mkdir()
    (tree / "profiles/.x/up").symlink_to("..")
    (tree / "profiles/into").symlink_to(".x")
    assert cli("profiles", "list", "--profile-path", "profiles") == before
