"""Escaping of texts that are printed: one notation, nothing that controls a terminal or a CI service."""

from __future__ import annotations

import json

import pytest
from hostile_texts import COMMAND, FORBIDDEN, code_points, hostile_texts

from etconfig.diagnostics.escape import (
    escape_json,
    escape_line,
    escape_lines,
    escape_styled_lines,
    escape_text,
    shorten,
)

TEXTS = [*code_points(64), *hostile_texts(1_000)]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain é 漢 \N{GRINNING FACE}", "plain é 漢 \N{GRINNING FACE}"),
        ("a\nb\tc\r", r"a\u000ab\u0009c\u000d"),
        ("\x1b[2J\x07\x9b\u202e\u2028", r"\u001b[2J\u0007\u009b\u202e\u2028"),
        ("\udc80\U000e0001", r"\udc80\U000e0001"),
        (" ::error::x", r" \u003a:error::x"),
        ("a::b", "a::b"),
        ("a ##[error]b ##vso[x]", r"a \u0023#[error]b \u0023#vso[x]"),
        ("## [heading]", "## [heading]"),
    ],
)
def test_a_line_shows_what_cannot_be_printed(text: str, escaped: str) -> None:
    assert escape_line(text) == escaped


def test_lines_keep_newlines_and_tabs() -> None:
    assert escape_lines("a\n\tb\n ::error::c\r\n") == "a\n\tb\n \\u003a:error::c\\u000d\n"


def test_nothing_forbidden_remains() -> None:
    for text in TEXTS:
        for escaped in (escape_line(text), escape_lines(text)):
            assert not FORBIDDEN.search(escaped)
            assert not COMMAND.search(escaped)
        assert "\n" not in escape_line(text)


def test_json_stays_equal_data() -> None:
    data = {text: text for text in TEXTS}
    escaped = escape_json(json.dumps(data, indent=2, ensure_ascii=False))
    assert json.loads(escaped) == data
    assert not FORBIDDEN.search(escaped)
    assert not COMMAND.search(escaped)


def test_colors_stay_and_nothing_else_does() -> None:
    assert escape_styled_lines("\x1b[1;31merror\x1b[0m: \x1b[2J\n") == "\x1b[1;31merror\x1b[0m: \\u001b[2J\n"
    assert escape_styled_lines("a\n\x1b[1mb\x1b[0m\n::c::d") == "a\n\x1b[1mb\x1b[0m\n\\u003a:c::d"


def test_some_characters_can_be_kept() -> None:
    assert escape_text("::a\r\n\x07", keep="\r\n") == "::a\r\n\\u0007"


def test_a_long_text_is_cut_and_the_rest_counted() -> None:
    assert shorten("a" * 3_000, 10) == "aaaaaaaaaa... (2,990 more characters)"
    assert shorten("a" * 10, 10) == "a" * 10
