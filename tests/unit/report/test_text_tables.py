"""Tables in a pipe have a bounded width, and lose nothing."""

from __future__ import annotations

from etconfig.report.model import Table
from etconfig.report.text import MAX_WIDTH, table_text


def test_long_cells_continue_on_the_next_lines_and_no_word_is_lost() -> None:
    words = [f"word{number}" for number in range(150)]
    rows = [("name", " ".join(words), " ".join(reversed(words))), ("other", "short", "/a" * 200)]
    lines = table_text(Table(headers=("A", "B", "C"), rows=rows)).splitlines()
    path = "/a" * 200
    assert max(len(line) for line in lines if path not in line) <= MAX_WIDTH
    assert sorted(" ".join(lines).split()) == sorted(
        ["A", "B", "C", "name", "other", "short", path, *words, *words]
    )


def test_a_table_that_fits_has_a_line_for_each_row() -> None:
    rows = [("name", "x" * (MAX_WIDTH - 7)), ("b", "")]
    assert table_text(Table(headers=("A", "B"), rows=rows)).splitlines() == [
        "A     B",
        f"name  {'x' * (MAX_WIDTH - 7)}",
        "b",
    ]


def test_empty_cells_and_many_columns_are_printed() -> None:
    headers = [f"H{number}" for number in range(30)]
    text = table_text(Table(headers=headers, rows=[["a b c" * 10] * 30, [""] * 30]))
    assert text.split()[:30] == headers
    assert text.endswith("\n\n")
