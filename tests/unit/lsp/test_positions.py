"""Positions in each encoding, with characters of one to four bytes before the place."""

from __future__ import annotations

import random

import pytest
from lsprotocol.types import Position

from etconfig.diagnostics.span import Span
from etconfig.lsp.protocol_positions import EditorColumns

LINE = "é日😀x = 1"


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 9), ("utf-16", 4), ("utf-32", 3)])
def test_a_column_counts_units(encoding: str, column: int) -> None:
    columns = EditorColumns(encoding)
    assert columns.of(LINE, 3) == column
    assert columns.index(LINE, column) == 3
    span = Span(file="a.toml", line=2, column=4, length=1, text=LINE)
    found = columns.range(span)
    assert (found.start, found.end) == (Position(1, column), Position(1, column + 1))
    assert columns.offset(f"a\n{LINE}\n", found.start) == 5


def test_a_position_inside_a_character_is_before_it() -> None:
    assert EditorColumns("utf-16").index("😀x", 1) == 0
    assert EditorColumns("utf-8").index("日x", 2) == 0


@pytest.mark.parametrize(
    ("position", "offset"),
    [((0, 99), 2), ((1, 0), 4), ((1, 99), 6), ((2, 0), 7), ((9, 9), 7), ((0, 0), 0)],
)
def test_a_position_out_of_bounds_means_the_nearest_place(position: tuple[int, int], offset: int) -> None:
    assert EditorColumns().offset("ab\r\ncd\n", Position(*position)) == offset


def test_only_line_feeds_end_lines() -> None:
    assert EditorColumns().offset("a\u2028b\x0c\n c", Position(1, 1)) == 6


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_an_edit_makes_one_text_of_another(encoding: str) -> None:
    rng, columns = random.Random(2), EditorColumns(encoding)
    for _ in range(500):
        before, after = ("".join(rng.choices("a日😀\n", k=rng.randrange(9))) for _ in range(2))
        edit = columns.edit(before, after)
        start, end = (columns.offset(before, at) for at in (edit.range.start, edit.range.end))
        assert before[:start] + edit.new_text + before[end:] == after


def test_an_edit_does_not_cut_a_line_end() -> None:
    edit = EditorColumns().edit("a\r\nb", "c\r\nb")
    assert (edit.new_text, edit.range.end) == ("c", Position(0, 1))
    edit = EditorColumns().edit("a\nb", "a\r\nb")
    assert EditorColumns().offset("a\nb", edit.range.end) in (1, 2)
