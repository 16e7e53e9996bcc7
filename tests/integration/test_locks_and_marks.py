"""Locks in one order, marks of merge conflicts, and keys that JSON repeats."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path

from command_line import ON_DEVICE, Outcome

import etconfig
from etconfig.errors import OptionError
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, OptionTable, option


def test_a_lock_is_the_same_in_every_order(cli: Callable[..., Outcome], place: Path) -> None:
    shutil.copy("model.pte", "other.pte")
    sheet = json.loads((place / "device.json").read_text())
    for name, cores in (("a", 2), ("b", 8)):
        sheet["facts"]["cpu.available_cores"]["value"] = cores
        (place / f"{name}.json").write_text(json.dumps(sheet))
    written = set()
    for programs in itertools.permutations(("model.pte", "other.pte")):
        for devices in itertools.permutations(("--facts=a.json", "--facts=b.json", "--device=pi-5")):
            assert cli("lock", *programs, *devices).status == 0
            assert cli("lock", *reversed(programs), *reversed(devices), "--check").status == 0
            written.add((place / "etconfig.lock").read_text())
    assert len(written) == 1


def test_a_merge_conflict_is_called_so_in_every_file(cli: Callable[..., Outcome], place: Path) -> None:
    (place / "p.toml").write_text('[profile]\nname = "p"\n')
    cli("lock", "model.pte", *ON_DEVICE)
    (place / "saved.json").write_text(cli("resolve", "model.pte", *ON_DEVICE, "--json").stdout)
    readers = {
        "etconfig.lock": ("lock", "model.pte", *ON_DEVICE, "--check"),
        "device.json": ("resolve", "model.pte", *ON_DEVICE),
        "saved.json": ("diff", "saved.json", "saved.json"),
        "p.toml": ("validate", "p.toml"),
    }
    marks = ("<<<<<<< HEAD\n", "||||||| 1a2b3c\n", "=======\n", ">>>>>>> branch\n")
    wrong = []
    for name, command in readers.items():
        whole = (place / name).read_text().rstrip("\n") + "\n"
        lines = whole.splitlines(keepends=True)
        middle = len(lines) // 2
        for mark in marks:
            for at in {0, middle, len(lines)}:
                (place / name).write_text("".join([*lines[:at], mark, *lines[at:]]))
                done = cli(*command)
                text = done.stdout + done.stderr
                place_of = f"{name}:{at + 1}:1"
                if "the file has a merge conflict" not in text or place_of not in text or done.status == 0:
                    wrong.append((name, mark, at, done))
        (place / name).write_text(whole)
    assert not wrong


def test_repeated_keys_are_errors(cli: Callable[..., Outcome], place: Path) -> None:
    cli("lock", "model.pte", *ON_DEVICE)
    whole = (place / "etconfig.lock").read_text()
    wrong = []
    for before, after in (
        ('"etconfig_lock": 1', '"etconfig_lock": 1, "etconfig_lock": 1'),
        ('"name": ', '"name": "x", "name": '),
        ('"plugins": {', '"plugins": {}, "plugins": {'),
    ):
        assert before in whole
        (place / "etconfig.lock").write_text(whole.replace(before, after, 1))
        done = cli("lock", "model.pte", *ON_DEVICE, "--check")
        if done.status != 2 or "is repeated" not in done.stderr:
            wrong.append((after, done))
    for text in (
        '{"a": 1, "a": 2}',
        '{"b": {}, "a": 3, "a": 3}',
        '{"a": 1, "\\u0061": 1}',
        '{"a": 1, "a": 1',
    ):
        for option_name in ("sizes", "lists", "table"):
            value = f"[{text}]" if option_name == "lists" else text
            try:
                _resolve(f"Tabled.{option_name}={value}")
            except OptionError as error:
                told = "expected each key of a table once, given 'a' twice" in str(error)
                if told != text.endswith("}"):
                    wrong.append((option_name, text, str(error)))
            else:
                wrong.append((option_name, text, "accepted"))
    assert not wrong


class Table(OptionTable):
    """A table with options of its own."""

    a: int = option(1, applies="load", doc="A number.")


class Tabled(BackendOptions):
    """Options that are tables."""

    sizes: dict[str, int] = option({}, applies="load", doc="Sizes by name.")
    lists: list[dict[str, int]] = option([], applies="load", doc="Several of them.")
    table: Table | None = option(None, applies="load", doc="A table.")


def _resolve(text: str) -> object:
    spec = BackendSpec(id="Tabled", doc="Doc.", options=Tabled, api=ApiRange(min=1, built=1))
    installation = etconfig.Installation(environ={}, search_path=()).with_backends({"Tabled": spec})
    return etconfig.resolve(
        facts=etconfig.FactSheet.empty(), overrides=[text], installation=installation, models={"m": "Tabled"}
    )
