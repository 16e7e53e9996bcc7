"""Mistakes in a line that is not TOML, by the message and the place of the parser's failure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import TypeAlias

from etconfig.base.records import record
from etconfig.diagnostics.source_text import CONFLICT_HELP, CONFLICT_MARKS
from etconfig.mistakes.toml.value_guesses import guess_value, key_text, quoted, shortened

_MAX_LINE = 2_000
"""The most characters of a line that is examined."""
_KEY = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')(?:[ \t]*\.[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*'))*"""
_ASSIGNMENT = re.compile(rf"[ \t]*({_KEY})[ \t]*=[ \t]*", re.ASCII)
_KEY_INSIDE = re.compile(rf"[{{,][ \t]*({_KEY})[ \t]*=[ \t]*$", re.ASCII)
_DRIVE = re.compile(r"[A-Za-z]:\\")
_WRONG_SIGN = re.compile(r"[ \t]*(=>|==+|:=|=:|\+=|->|~=|:)[ \t]*")

_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb\uff02", '"')
    | dict.fromkeys("\u2018\u2019\u201a\uff07", "'")
    | dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f\u3000", " ")
    | dict(zip("\uff1d\uff0c\uff0e\uff3b\uff3d", "=,.[]", strict=True))
)
"""Quotes, blanks and signs as word processors and input methods write them, and as TOML writes them."""


@record(frozen=True)
class LineProblem:
    """A line that is not TOML, and what was probably meant.

    Attributes:
        start: The column of the wrong piece, from 0.
        end: The column just past it.
        problem: What is wrong.
        advice: An instruction.
        line: The line as it was probably meant, or None.
        is_safe: True if nothing else can be meant.
    """

    start: int
    end: int
    problem: str
    advice: str
    line: str | None = None
    is_safe: bool = False


def examine(line: str, at: int, message: str) -> LineProblem | None:
    """Return what is wrong with a line at which the parser failed; None if no more is known than that.

    Args:
        line: The line.
        at: The column of the failure, from 0.
        message: The parser's message.
    """
    if len(line) > _MAX_LINE:
        return None
    if line.startswith(CONFLICT_MARKS):
        return LineProblem(0, 7, "the file has a merge conflict", CONFLICT_HELP)
    if ord(line[at : at + 1] or " ") in _TYPOGRAPHY:
        problem = f"U+{ord(line[at]):04X} ({unicodedata.name(line[at])}) has no meaning in TOML"
        return LineProblem(at, at + 1, problem, "write the plain character", _plain(line, at), is_safe=True)
    for starts, guess, problem, advice in _RULES:
        if message.startswith(starts):
            guessed = None if guess is None else guess(line, at)
            start = max(0, line.rfind("\\", 0, at)) if guess is _backslash else at
            if not line[at:].strip(" \t"):  # something is missing
                start = len(line) - len(line.lstrip())
            return guessed or LineProblem(start, max(at, len(line.rstrip())), problem, advice)
    return None


def _plain(line: str, at: int) -> str:
    """Return the line with a plain character at the failure, and in place of the quote that closes there."""
    right, rest = line[at].translate(_TYPOGRAPHY), line[at + 1 :]
    end = rest.translate(_TYPOGRAPHY).find(right) if right in "\"'" else -1
    return line[:at] + right + (rest if end < 0 else rest[:end] + right + rest[end + 1 :])


def _changed(
    line: str, start: int, end: int, text: str | None, problem: str, advice: str, *, is_safe: bool = True
) -> LineProblem:
    """Return the problem that is solved by `text` in place of the characters from `start` to `end`."""
    repaired = None if text is None else line[:start] + text + line[end:]
    return LineProblem(start, end, problem, advice, repaired, is_safe)


def _value(line: str, at: int) -> LineProblem | None:
    """Return the problem of a value that TOML does not have."""
    assignment = _ASSIGNMENT.match(line)
    if assignment and (sign := re.compile(r"[=>]+").match(line, at)):
        return _changed(line, at, sign.end(), "", "the sign between key and value is =", "write one =")
    end = at
    if assignment and assignment.end() == at:
        comment = re.compile(r"[ \t]*(?:(?<![^ \t])#.*)?$").search(line, at)
        end = comment.start() if comment else len(line)
    elif inner := re.compile(r"[^,\[\]{}#]*").match(line, at):
        end = at + len(inner[0].rstrip())
    key = _KEY_INSIDE.search(line[:at]) or assignment
    problem, advice, text, is_safe = guess_value(line[at:end], key[1] if key else "")
    return _changed(line, at, end, text, problem, advice, is_safe=is_safe)


def _end_of_line(line: str, at: int) -> LineProblem | None:
    """Return the problem of a sign that ends a line in another language."""
    start = len(line) - len(line[at:].lstrip(" \t"))
    sign = line[start:].rstrip()
    if sign not in (",", ";", ":"):
        return None
    return _changed(line, start, start + 1, "", f"a line does not end with {sign!r}", f"remove {sign!r}")


def _backslash(line: str, at: int) -> LineProblem | None:
    """Return the problem of a path of Windows, whose backslashes TOML takes for escapes."""
    start, end = line.find('"'), line.rfind('"')
    content = line[start + 1 : end]
    if not start < at or set("\"'") & set(content) or not _DRIVE.match(content):
        return None
    text = "'" + content.replace("\\\\", "\\") + "'"
    problem = "a backslash in double quotes is an escape"
    return _changed(line, start, end + 1, text, problem, "write backslashes in single quotes")


def _missing_sign(line: str, at: int) -> LineProblem | None:
    """Return the problem of a key with another sign than = after it, or that needs quotes."""
    sign = _WRONG_SIGN.match(line, at)
    if key := _unquoted_key(line, at):
        return key
    if sign is None or "=" in line[sign.end() :] or not line[sign.end() :].strip():
        return None
    problem, advice = f"{sign[1]} does not set a value", "write = between key and value"
    blank = "" if line[:at].endswith((" ", "\t")) else " "
    return _changed(line, at, sign.end(), f"{blank}= ", problem, advice, is_safe="{" in line[:at])


def _unquoted_key(line: str, at: int) -> LineProblem | None:
    """Quote the parts of a dotted key that have other characters than letters, digits, _ and -."""
    start = len(line) - len(line.lstrip(" \t["))
    end = line.find("]" if "[" in line[:start] else "=", start)
    text = line[start:end].rstrip()
    parts = [part.strip() for part in text.split(".")]
    wrong = next((part for part in parts if key_text(part) != part), None)
    is_operator = re.fullmatch(r"\w+::[\w.]+", text) is not None
    if end < at or not wrong or not all(parts) or set("\"'[]{}=#, \t/>") & set(text):
        return None
    if not is_operator and _WRONG_SIGN.search(text):
        return None
    repaired = quoted(text) if is_operator else ".".join(map(key_text, parts))
    advice = "quote parts with other characters than letters, digits, _ and -, and operators as a whole"
    return _changed(
        line, start, start + len(text), repaired, f"the key {shortened(wrong)} needs quotes", advice
    )


_Rule: TypeAlias = "tuple[tuple[str, ...], Callable[[str, int], LineProblem | None] | None, str, str]"
_RULES: tuple[_Rule, ...] = (
    (("Invalid value",), _value, "a value is missing", "write a value after the ="),
    (
        ("Expected newline",),
        _end_of_line,
        "text follows a value or a header",
        'write one key a line, text in quotes, arrays as [1, 2], expressions as { expr = "..." }, '
        "and comments after #",
    ),
    (
        ("Unescaped", "Invalid hex", "Escaped character"),
        _backslash,
        "this is not an escape in a TOML string",
        "write each backslash twice, or a text with backslashes in single quotes",
    ),
    (
        ("Unterminated", "Illegal character", "Found invalid", 'Expected "\'"'),
        None,
        "a string is not closed, or contains a control character",
        "close it as it is opened; \\ before a quote is an escape, and \\u0001 a control character",
    ),
    (
        ("Expected '='",),
        _missing_sign,
        "a key has no = after it",
        "write KEY = VALUE, with _ in place of blanks, or a header in brackets, as in [options]",
    ),
    (
        ("Invalid statement",),
        _unquoted_key,
        "a line starts neither with a key nor with a header",
        "write KEY = VALUE, [options] or a comment after #; docs/profiles.md shows whole files",
    ),
    (
        ("Expected ']", "Invalid initial"),
        _unquoted_key,
        "a header is not closed, or has other signs than points",
        "write [options.BACKEND] or [[when]], and quote parts with other signs",
    ),
    (
        ("Unclosed array",),
        None,
        "an array is not closed, or lacks a comma before this",
        "separate its elements by commas, and close it with ]",
    ),
    (
        ("Unclosed inline",),
        None,
        "an inline table is not closed, or lacks a comma before this",
        "separate its keys by commas, and close it with } in the same line",
    ),
)
"""The starts of the parser's messages, the guess at what was meant, and what is said without one."""
