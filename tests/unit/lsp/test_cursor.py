"""The place of a cursor in a document that is being written."""

from __future__ import annotations

import random

import pytest

from etconfig.lsp.edited_place import cursor_at, word_at

HEAD = '[profile]\nname = "acme/board"\n'

PLACES = {
    "|": ((), "key", ""),
    "pro|": ((), "key", "pro"),
    "[pro|": ((), "header", "pro"),
    "[|": ((), "header", ""),
    "[[whe|": ((), "header", "whe"),
    "[options.|": (("options",), "header", ""),
    "[options.Ref|": (("options",), "header", "Ref"),
    '[methods."embed*".opt|': (("methods", "embed*"), "header", "opt"),
    "[options.|]\n[facts]\n": (("options",), "header", ""),
    f"{HEAD}ext|": (("profile",), "key", "ext"),
    f"{HEAD}extends = |": (("profile", "extends"), "value", ""),
    f"{HEAD}extends = [|": (("profile", "extends"), "value", ""),
    f'{HEAD}extends = ["gen|': (("profile", "extends"), "text", "gen"),
    f'{HEAD}extends = [\n  "a/b", # first\n  "gen|"]\n': (("profile", "extends"), "text", "gen"),
    f"{HEAD}match = 'os.na|": (("profile", "match"), "text", "os.na"),
    f'{HEAD}match = "os.name == \\"and|': (("profile", "match"), "text", 'os.name == "and'),
    f"{HEAD}match = '''\nos.name == |'''": (("profile", "match"), "text", "\nos.name == "),
    f'{HEAD}match = "a # not a comment|': (("profile", "match"), "text", "a # not a comment"),
    f"{HEAD}# com|": (("profile",), "comment", "# com"),
    "[profile] # com|": (("profile",), "comment", "# com"),
    "[profile]|": (("profile",), "end", ""),
    "[[when]] |": (("when",), "end", ""),
    '[methods."em|': (("methods",), "header", "em"),
    '[methods."embed"|': (("methods", "embed"), "end", ""),
    "[options |": (("options",), "end", ""),
    f'{HEAD}extends = ["gen"|]\n': (("profile", "extends"), "end", ""),
    f'{HEAD}extends = ["gen" |]\n': (("profile", "extends"), "end", ""),
    f'{HEAD}extends = ["gen", |]\n': (("profile", "extends"), "value", ""),
    f'{HEAD}extends = ["gen"]|': (("profile", "extends"), "end", ""),
    f"{HEAD}match = 'a'|": (("profile", "match"), "end", ""),
    '[facts]\n"cpu.x"|': (("facts", "cpu.x"), "end", ""),
    "[options.B]\ncore |": (("options", "B", "core"), "end", ""),
    "[options.B]\ncore = 1 |": (("options", "B", "core"), "end", ""),
    "[options.B]\ncore = 2.5|": (("options", "B", "core"), "value", "2.5"),
    "[options.B]\ncore = { expr = '1' }|": (("options", "B", "core"), "end", ""),
    "[options.B]\ncore = { expr = '1'|": (("options", "B", "core", "expr"), "end", ""),
    "[options.B]\ncore = { expr |": (("options", "B", "core", "expr"), "end", ""),
    "[options.B]\ncore = { ex|": (("options", "B", "core"), "key", "ex"),
    '[options.B]\ncore = { expr = "cp|" }': (("options", "B", "core", "expr"), "text", "cp"),
    "[options.B]\ncore = { expr = '1' }\npow|": (("options", "B"), "key", "pow"),
    "[options.B]\ncore = { expr = '1'\npow|": (("options", "B"), "key", "pow"),
    "[options.B]\ncore = [1, 2\npow|": (("options", "B"), "key", "pow"),
    "[options.B]\ncore =\npow|": (("options", "B"), "key", "pow"),
    "[options.B]\na = 1\nmode = hi|": (("options", "B", "mode"), "value", "hi"),
    "options.B.co|": (("options", "B"), "key", "co"),
    "options.B.|": (("options", "B"), "key", ""),
    'options . "B" . co|': (("options", "B"), "key", "co"),
    "options = { B = { co|": (("options", "B"), "key", "co"),
    '[facts]\n"cpu.|': (("facts",), "key", "cpu."),
    '[facts]\n"cpu.x" = |': (("facts", "cpu.x"), "value", ""),
    "[[when]]\nif = 'a'\n[when.options.B]\nco|": (("when", "options", "B"), "key", "co"),
    "a = [\n  [1, 2],\n  [3|": (("a",), "value", "3"),
    "[a]\n😀 = '日本|": (("a", "😀"), "text", "日本"),
}


@pytest.mark.parametrize("marked", PLACES)
def test_the_place_of_a_cursor(marked: str) -> None:
    offset = marked.index("|")
    cursor = cursor_at(marked.replace("|", ""), offset)
    assert (cursor.path, cursor.kind, cursor.prefix) == PLACES[marked]


def test_a_word_is_read_to_its_end() -> None:
    assert word_at("[options.B]\npower_mode = 1", 14).prefix == "power_mode"
    assert word_at("[profile]\nextends = ['generic/any']", 24).prefix == "generic/any"


def test_no_text_is_too_wrong() -> None:
    rng = random.Random(1)
    pieces = ["[", "]", "{", "}", '"', "'", '"""', "=", ".", ",", "\n", "#", "a", "when", " ", "\\", "é", "1"]
    for _ in range(2000):
        text = "".join(rng.choices(pieces, k=rng.randrange(40)))
        cursor_at(text, rng.randrange(len(text) + 1))


def test_long_lines_take_little_time() -> None:
    for text in (
        "[" + "a" * 100_000 + "!",
        "[" + "a." * 50_000 + "=",
        '"' * 100_001,
        "a = [" * 20_000,
        "[[" * 50_000,
    ):
        cursor_at(text, len(text))
