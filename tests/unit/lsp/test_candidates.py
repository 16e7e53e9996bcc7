"""Completion leaves a good document good, whatever is chosen wherever."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli

from etconfig.errors import ConfigError
from etconfig.expression import parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.lsp.candidates import EditorWord, candidates
from etconfig.lsp.session import Session

PROFILE = """\
#:schema etconfig
[profile]
name = "acme/board"  # a comment
extends = ["generic/linux-arm64", 'acme/base']
match = 'os.name == "linux" && cpu.arch in ["arm64", "arm"]'

[facts]
"cpu.performance_cores" = 4

[options.ReferenceCpuBackend]
num_threads = { expr = "min(cpu.available_cores - 1, 4)" }
# etconfig: allow unusual-value because it is new
accumulate = "fp64"

[methods."embed*".options.ReferenceNpuBackend]
core = 1

[[when]]
if = "device.model.startsWith('x') || has(cpu.quota_cores)"
options.ReferenceNpuBackend.power_mode = "low"
"""

PROJECT = """\
profile = "auto"
require_match = true
profile_path = ["acme"]
devices = ["raspberry-pi/pi-5", "sheet.json"]

[rules]
unusual-value = "off"

[budget]
threads = { expr = "cpu.logical_cores" }

[[test]]
name = "a"
where = 'os.name == "linux"'
assert = 'ReferenceNpuBackend.power_mode == "low" && size(cpu.features) > 2'
methods = ["forward"]
"""

DOCUMENTS = {"acme/board.toml": PROFILE, "etconfig.toml": PROJECT}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    (tmp_path / "acme").mkdir()
    return Session(tmp_path, {}, None)


def inserted(text: str, offset: int, word: EditorWord) -> str:
    before, behind = text[: offset - len(word.replaces)], text[offset + len(word.rest) :]
    is_new_key = before.rpartition("\n")[2].strip() == "" and behind[:1] in ("", "\r", "\n")
    return f"{before}{word.text}{' = 1' if is_new_key else ''}{behind}"


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_chosen_word_leaves_it_toml(session: Session, tmp_path: Path, name: str, line_end: str) -> None:
    text = DOCUMENTS[name].replace("\n", line_end)
    broken, count = set(), 0
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset] == "\r":
            continue
        found = list(candidates(session, tmp_path / name, text, offset))
        for word in found[:4] + found[-4:]:
            count += 1
            after = inserted(text, offset, word)
            failure = _failure(after)
            if failure and not failure.startswith("Cannot "):  # a table has a key twice
                broken.add((text[:offset].rpartition("\n")[2] + "|", word.text))
    assert sorted(broken)[:10] == []
    assert count > 1000


def _failure(text: str) -> str:
    try:
        tomli.loads(text.replace("\r\n", "\n"))
    except tomli.TOMLDecodeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "expression", [PROFILE.split("'")[3], 'os.name == "linux" ', "cpu.logical_cores > 2"]
)
def test_a_chosen_word_never_doubles_an_operand(session: Session, tmp_path: Path, expression: str) -> None:
    head = "[profile]\nname = 'a'\nmatch = '"
    text = f"{head}{expression}'\n"
    for length in range(len(expression) + 1):
        for word in candidates(session, tmp_path / "a.toml", text, len(head) + length):
            after = inserted(text, len(head) + length, word)[len(head) : -2]
            if word.text == "os.name":
                assert "expected the end" not in _problem(after), after


def _problem(expression: str) -> str:
    try:
        parse_expression(expression, BUILTIN_FACTS)
    except ConfigError as error:
        return str(error)
    return ""
