"""The position scanner agrees with tomli on every document that tomli accepts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tomli
from effort import scaled
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from etconfig.profile.positions import KeyPath, Position, scan_positions

BLANK = st.sampled_from(["", " ", "\t ", "  "])
LINE_END = st.sampled_from(["\n", "\r\n", ' # comment [x] = "y\n', "\n\n", "\n# 'quoted\n"])
INSIDE = st.sampled_from(["", " ", "\n", '\n  # ] } , "\n\t', "\r\n"])
"""What may stand between the elements of an array; in TOML 1.1 also in an inline table."""

TEXT = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=6)
BARE_KEY = st.text("abcXYZ019_-", min_size=1, max_size=4)


def basic_string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def literal_string(text: str) -> str:
    return "'" + text.replace("'", "") + "'"


def multi_line_basic(text: str) -> str:
    return '"""' + text.replace("\\", "\\\\").replace('"', '\\"') + '\n""\\\n  "#]"""'


def multi_line_literal(text: str) -> str:
    return "'''\n" + text.replace("'", "") + "''" + "\n'''''"


KEY_PART = st.one_of(
    BARE_KEY, TEXT.map(basic_string), TEXT.map(literal_string), st.just(r'"\u00e9\t\"\x41\e"'), st.just('""')
)
KEY = st.builds(
    lambda parts, blank: f"{blank}.{blank}".join(parts), st.lists(KEY_PART, min_size=1, max_size=3), BLANK
)
SCALAR = st.one_of(
    st.sampled_from(
        [
            *("1", "-17", "0x1F", "1_000", "1.5", "-0.0", "6e23", "inf", "-nan", "true", "false"),
            *("1979-05-27 07:32:00", "1979-05-27T07:32:00Z", "1979-05-27", "07:32:00", "07:32"),
            *('""', "''", r'"\e\x41\U0001F600"', '"""a""b"""', '"""""two"""""', "'''''two'''''"),
            '"""\\\n  \\"""" """',
        ]
    ),
    TEXT.map(basic_string),
    TEXT.map(literal_string),
    TEXT.map(multi_line_basic),
    TEXT.map(multi_line_literal),
)


@st.composite
def array(draw: st.DrawFn, value: st.SearchStrategy[str]) -> str:
    items = draw(st.lists(value, max_size=3))
    comma = draw(st.sampled_from(["", ","])) if items else ""
    return "[" + ",".join(draw(INSIDE) + item + draw(INSIDE) for item in items) + comma + draw(INSIDE) + "]"


@st.composite
def inline_table(draw: st.DrawFn, value: st.SearchStrategy[str]) -> str:
    count = draw(st.integers(0, 3))
    pairs = [
        f"k{index}{draw(st.just('.')) + draw(KEY) if draw(st.booleans()) else ''}" for index in range(count)
    ]
    items = [f"{draw(INSIDE)}{pair}{draw(BLANK)}={draw(BLANK)}{draw(value)}{draw(INSIDE)}" for pair in pairs]
    comma = draw(st.sampled_from(["", ","])) if items else ""
    return "{" + ",".join(items) + comma + draw(INSIDE) + "}"


VALUE = st.recursive(SCALAR, lambda value: st.one_of(array(value), inline_table(value)), max_leaves=6)


@st.composite
def document(draw: st.DrawFn) -> str:
    lines = []
    for _ in range(draw(st.integers(0, 7))):
        kind = draw(st.sampled_from(["pair", "pair", "pair", "table", "array of tables"]))
        key = draw(KEY)
        if kind == "pair":
            line = f"{draw(BLANK)}{key}{draw(BLANK)}={draw(BLANK)}{draw(VALUE)}{draw(BLANK)}"
        elif kind == "table":
            line = f"{draw(BLANK)}[{draw(BLANK)}{key}{draw(BLANK)}]{draw(BLANK)}"
        else:
            line = f"[[{draw(BLANK)}{key}{draw(BLANK)}]]{draw(BLANK)}"
        lines.append(line + draw(LINE_END))
    return "".join(lines).removesuffix("\n" if draw(st.booleans()) else "")


def all_paths(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        yield (*path, key), child
        yield from all_paths(child, (*path, key))


def has_own_value(position: Position) -> bool:
    return position.value_start != position.key_start


class TestPositions:
    """A scanner over text that tomli accepted gives the position of every key and value."""

    @given(document())
    @settings(max_examples=scaled(80), deadline=None)
    @example(
        "a = 1\n[[t]]\nb = [[1], {c.d = 2}]\n[t.u]\n[[t.v]]\n[[t]]\n[t.u]\n[[t.v]]\n[[t.v]]\nx = '''\n'''''\n"
    )
    @example('"a b".c . \'d\' = {x = "]", y = [1, # ]\n2,],\n}')
    def test_every_key_and_value_has_a_position_and_nothing_else_has(self, text: str) -> None:
        text = text.replace("\r\n", "\n")
        try:
            data = tomli.loads(text)
        except tomli.TOMLDecodeError:
            assume(False)
        positions = scan_positions(text)
        assert set(positions) == {path for path, _ in all_paths(data)}

    @given(document())
    @settings(max_examples=scaled(80), deadline=None)
    @example("when = 1979-05-27 07:32:00 # at\nnext=1\n")
    def test_the_text_at_a_position_is_the_key_and_the_value(self, text: str) -> None:
        text = text.replace("\r\n", "\n")
        try:
            data = tomli.loads(text)
        except tomli.TOMLDecodeError:
            assume(False)
        positions = scan_positions(text)
        for path, value in all_paths(data):
            position = positions[path]
            written_key = text[position.key_start : position.key_end]
            written_value = text[position.value_start : position.value_end]
            if isinstance(path[-1], int):
                assert not has_own_value(position)
            else:
                assert tomli.loads(f"{written_key} = 1") == {path[-1]: 1}
            if has_own_value(position) or not isinstance(value, (dict, list)):
                assert repr(tomli.loads(f"x = {written_value}")["x"]) == repr(value)
