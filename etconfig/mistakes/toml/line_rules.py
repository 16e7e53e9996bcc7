"""Repairs of one line that is not TOML, by the message and the place of the parser's failure."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping

from etconfig.diagnostics.conflict import CONFLICT_HELP, CONFLICT_MARKS
from etconfig.mistakes.toml.keys import (
    repair_header,
    repair_invalid_statement,
    repair_key_part,
    repair_missing_sign,
)
from etconfig.mistakes.toml.line import MAX_LINE, LineRepair
from etconfig.mistakes.toml.strings import (
    repair_backslash,
    repair_illegal_character,
    repair_unterminated,
)
from etconfig.mistakes.toml.values_in_lines import (
    repair_after_statement,
    repair_invalid_value,
    repair_open_array,
    repair_open_table,
)

_DOUBLE_QUOTES = "\u201c\u201d\u201e\u00ab\u00bb\uff02"
_SINGLE_QUOTES = "\u2018\u2019\u201a\uff07"
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys(_DOUBLE_QUOTES, '"')
    | dict.fromkeys(_SINGLE_QUOTES, "'")
    | dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f\u3000", " ")
    | dict(zip("\uff1d\uff0c\uff0e\uff3b\uff3d", "=,.[]", strict=True))
)
"""Quotes, blanks and signs as word processors and input methods write them, and those of TOML."""
_TYPOGRAPHIC = frozenset(map(chr, _TYPOGRAPHY))


def examine(line: str, at: int, message: str) -> LineRepair | None:
    """Return what is wrong with a line at which the parser failed; None if no more is known than that.

    Args:
        line: The line.
        at: The column of the failure, from 0.
        message: The parser's message.
    """
    if len(line) > MAX_LINE:
        return None
    if line.startswith(CONFLICT_MARKS):
        return LineRepair(0, 7, "the file has a merge conflict", CONFLICT_HELP)
    if line[at : at + 1] == "\r":
        advice = "save the file with line feeds at the ends of lines"
        return LineRepair(at, at + 1, "a line ends with a carriage return only", advice)
    if line[at : at + 1] in _TYPOGRAPHIC:
        return _typography(line, at)
    for start, rule in _RULES.items():
        if message.startswith(start):
            return rule(line, at)
    return None


def _typography(line: str, at: int) -> LineRepair:
    """Replace quotes, blanks and signs that a word processor or a web page has put in."""
    meant = line[at].translate(_TYPOGRAPHY)
    advice = "write plain quotes" if meant in "\"'" else "write a plain character"
    problem = f"U+{ord(line[at]):04X} ({unicodedata.name(line[at])}) has no meaning in TOML"
    return LineRepair(at, at + 1, problem, advice, line.translate(_TYPOGRAPHY), is_safe=True)


_RULES: Mapping[str, Callable[[str, int], LineRepair | None]] = {
    "Invalid value": repair_invalid_value,
    "Expected newline": repair_after_statement,
    "Unescaped": repair_backslash,
    "Invalid hex": repair_backslash,
    "Escaped character": repair_backslash,
    "Unterminated": repair_unterminated,
    "Illegal character": repair_illegal_character,
    "Found invalid character": repair_illegal_character,
    'Expected "\'"': repair_unterminated,
    "Expected '='": repair_missing_sign,
    "Invalid statement": repair_invalid_statement,
    "Expected ']": repair_header,
    "Invalid initial": repair_key_part,
    "Unclosed array": repair_open_array,
    "Unclosed inline": repair_open_table,
}
