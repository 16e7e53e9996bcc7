"""Mistakes in a line that is not TOML, by the message and the place of the parser's failure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping

from etconfig.base.records import record
from etconfig.diagnostics.source_text import CONFLICT_HELP, CONFLICT_MARKS
from etconfig.mistakes.toml.value_guesses import ValueGuess, guess_value, key_text, quoted, shortened

_MAX_LINE = 2_000
"""The most characters of a line that is examined."""
_KEY = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')(?:[ \t]*\.[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*'))*"""
_ASSIGNMENT = re.compile(rf"[ \t]*({_KEY})[ \t]*=[ \t]*", re.ASCII)
_KEY_INSIDE = re.compile(rf"[{{,][ \t]*({_KEY})[ \t]*=[ \t]*$", re.ASCII)
_COMMENT = re.compile(r"(//|;|--)[ \t]*")
_DRIVE = re.compile(r"[A-Za-z]:\\")
_WRONG_SIGN = re.compile(r"[ \t]*(=>|==+|:=|=:|\+=|->|~=|:)[ \t]*")

_DOUBLE_QUOTES = "\u201c\u201d\u201e\u00ab\u00bb\uff02"
_SINGLE_QUOTES = "\u2018\u2019\u201a\uff07"
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys(_DOUBLE_QUOTES, '"')
    | dict.fromkeys(_SINGLE_QUOTES, "'")
    | dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f\u3000", " ")
    | dict(zip("\uff1d\uff0c\uff0e\uff3b\uff3d", "=,.[]", strict=True))
)
"""Quotes, blanks and signs as word processors and input methods write them, and as TOML writes them."""
_TYPOGRAPHIC = frozenset(map(chr, _TYPOGRAPHY))


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
    if line[at : at + 1] in _TYPOGRAPHIC:
        advice = (
            "write plain quotes" if line[at].translate(_TYPOGRAPHY) in "\"'" else "write a plain character"
        )
        problem = f"U+{ord(line[at]):04X} ({unicodedata.name(line[at])}) has no meaning in TOML"
        return LineProblem(at, at + 1, problem, advice, _plain(line, at), is_safe=True)
    return next((rule(line, at) for start, rule in _RULES.items() if message.startswith(start)), None)


def _plain(line: str, at: int) -> str:
    """Return the line with a plain character at the failure, and in place of the quote that closes there."""
    right, rest = line[at].translate(_TYPOGRAPHY), line[at + 1 :]
    end = rest.translate(_TYPOGRAPHY).find(right) if right in "\"'" else -1
    return line[:at] + right + (rest if end < 0 else rest[:end] + right + rest[end + 1 :])


def _changed(
    line: str, start: int, end: int, text: str, problem: str, advice: str, *, is_safe: bool = True
) -> LineProblem:
    """Return the problem that is solved by `text` in place of the characters from `start` to `end`."""
    return LineProblem(start, end, problem, advice, line[:start] + text + line[end:], is_safe)


def _guessed(line: str, start: int, end: int, guess: ValueGuess) -> LineProblem:
    repaired = None if guess.text is None else line[:start] + guess.text + line[end:]
    return LineProblem(start, end, guess.problem, guess.advice, repaired, guess.is_safe)


def _end_of_value(line: str, start: int) -> int:
    """Return the end of an unquoted value: before a comment and the blanks in front of it."""
    if line.startswith("#", start):
        return start
    comment = re.compile(r"(?<![ \t])[ \t]+#|$").search(line, start)
    end = comment.start() if comment else len(line)
    return start + len(line[start:end].rstrip())


def _foreign_comment(line: str, at: int) -> LineProblem | None:
    match = _COMMENT.match(line, at)
    if match is None:
        return None
    problem = f"{match[1]} does not start a comment"
    return _changed(line, at, match.end(), "# ", problem, "write # before a comment")


def _value(line: str, at: int) -> LineProblem | None:
    """Return the problem of a value that TOML does not have."""
    assignment = _ASSIGNMENT.match(line)
    if assignment and (sign := re.compile(r"[=>]+").match(line, at)):
        return _changed(line, at, sign.end(), "", "the sign between key and value is =", "write one =")
    if assignment and assignment.end() == at:
        end = _end_of_value(line, at)
        return _guessed(line, at, max(end, at), guess_value(line[at:end], assignment[1]))
    inner = re.compile(r"[^,\[\]{}#]*").match(line, at)
    word = inner[0].rstrip() if inner else ""
    key = _KEY_INSIDE.search(line[:at]) or assignment
    return _guessed(line, at, at + len(word), guess_value(word, key[1] if key else "")) if word else None


def _after_statement(line: str, at: int) -> LineProblem | None:
    """Return the problem of text after a header or a value."""
    rest_start = len(line) - len(line[at:].lstrip(" \t"))
    rest = line[rest_start:]
    if not rest.strip():  # a carriage return
        return None
    if rest.rstrip() in (",", ";", ":"):
        problem, advice = f"a line does not end with {rest[0]!r}", f"remove {rest[0]!r}"
        return _changed(line, rest_start, rest_start + 1, "", problem, advice)
    assignment = _ASSIGNMENT.match(line)
    is_more = _ASSIGNMENT.match(rest.lstrip(",; \t")) or _COMMENT.match(rest)
    if assignment and not is_more and line[assignment.end()] not in "\"'[{":
        start, end = assignment.end(), _end_of_value(line, assignment.end())
        return _guessed(line, start, end, guess_value(line[start:end], assignment[1]))
    problem = f"text follows a {'value' if assignment else 'header'}"
    advice = "write a comment after #, each key in a line of its own, and several values as an array"
    return LineProblem(rest_start, len(line), problem, advice)


def _backslash(line: str, at: int) -> LineProblem:
    """Return the problem of a backslash that TOML takes for an escape, as in a path of Windows."""
    backslash = line.rfind("\\", 0, max(at, 1))
    problem = f"{line[backslash : backslash + 2]} is not an escape in a TOML string"
    start, end = line.find('"'), line.rfind('"')
    content = line[start + 1 : end]
    if not start < backslash < end or set("\"'") & set(content) or not _DRIVE.match(content):
        advice = "write each backslash twice, or a text with backslashes in single quotes"
        return LineProblem(max(backslash, 0), max(at, 1), problem, advice)
    text = "'" + content.replace("\\\\", "\\") + "'"
    return _changed(line, start, end + 1, text, problem, "write backslashes in single quotes")


def _open_string(line: str, at: int) -> LineProblem | None:
    """Return the problem of a string that is not closed, or that contains a control character."""
    if at < len(line) and (line[at] < " " or line[at] == "\x7f"):
        problem = f"a string contains the control character U+{ord(line[at]):04X}"
        return LineProblem(at, at + 1, problem, f"remove it, or write \\u{ord(line[at]):04X}")
    assignment = _ASSIGNMENT.match(line)
    start = max(line.rfind('"'), line.rfind("'")) if assignment is None else assignment.end()
    advice = "close it as it is opened; \\ before a quote is an escape"
    end = _end_of_value(line, start)
    return LineProblem(start, end, "a string has no closing quote", advice) if start >= 0 else None


def _missing_sign(line: str, at: int) -> LineProblem | None:
    """Return the problem of a key without = after it."""
    before, start = line[:at], len(line) - len(line.lstrip())
    if before.lstrip().startswith("-"):
        return _other_language(line, at, "YAML")
    sign = _WRONG_SIGN.match(line, at)
    equals = line.find("=", at)
    if equals > at and re.match(r"\s*(?!\w+::)\w[^\s=.]*[:@][^\s=:]+\.[^\s=]+\s*=", line):
        advice = "write [methods.METHOD.options.BACKEND] or [instances.NAME.options.BACKEND] above the option"
        return LineProblem(at, at + 1, "an option path is not a key of a file", advice)
    if equals > at and (key := _unquoted_key(line, start, len(line[:equals].rstrip()))):
        return key
    if sign and line[sign.end() :].strip():
        problem, advice = f"{sign[1]} does not set a value", "write = between key and value"
        blank = "" if before.endswith((" ", "\t")) else " "
        return _changed(
            line, at, sign.end(), f"{blank}= ", problem, advice, is_safe=before.count("{") > before.count("}")
        )
    if sign or not line[at:].strip():
        word = before.strip()
        advice = f"write KEY = VALUE, or a header in brackets, as in [{word if sign else 'options'}]"
        return LineProblem(start, len(line), "a key has no value", advice)
    advice = "put = between key and value, and write names with _ instead of blanks"
    return LineProblem(start, len(line), "a key has no = after it", advice)


def _unquoted_key(line: str, start: int, end: int) -> LineProblem | None:
    """Quote the parts of a dotted key that have other characters than letters, digits, _ and -."""
    text = line[start:end]
    parts = [part.strip() for part in text.split(".")]
    if not all(parts):
        return LineProblem(start, end, "a part of a key is empty", "remove the extra point")
    wrong = next((part for part in parts if key_text(part) != part), None)
    if wrong is None or set("\"'[]{}=#, \t") & set(text) or (_WRONG_SIGN.search(text) and "::" not in text):
        return None
    repaired = quoted(text) if re.fullmatch(r"\w+::[\w.]+", text) else ".".join(map(key_text, parts))
    advice = "quote parts with other characters than letters, digits, _ and -, and operators as a whole"
    return _changed(line, start, end, repaired, f"the key {shortened(wrong)} needs quotes", advice)


def _statement(line: str, at: int) -> LineProblem | None:
    """Return the problem of a line that begins neither with a key nor with a header."""
    if line[at : at + 1] == "=":
        return LineProblem(at, at + 1, "a value has no key", "write a key before the =")
    if line.startswith("{", at):
        return _other_language(line, at, "JSON")
    sign = line.find("=", at)
    key = _unquoted_key(line, at, len(line[:sign].rstrip())) if sign > at else None
    return _foreign_comment(line, at) or key


def _other_language(line: str, at: int, language: str) -> LineProblem:
    start = len(line) - len(line.lstrip())
    advice = 'write [profile] and name = "vendor/device"; docs/profiles.md shows whole files'
    return LineProblem(start, max(at, start + 1), f"this looks like {language}, not TOML", advice)


def _header(line: str, at: int) -> LineProblem | None:
    """Return the problem of a header without a bracket, a name or quotes, or with other signs than points."""
    start = len(line) - len(line.lstrip())
    if not line.startswith("[", start):
        sign = line.find("=", at)
        return _unquoted_key(line, start, len(line[:sign].rstrip())) if sign > 0 else None
    brackets = ("[[", "]]") if line.startswith("[[", start) else ("[", "]")
    inner_start = start + len(brackets[0])
    end = _end_of_value(line, start)
    inner = line[inner_start:end].rstrip("]").rstrip()
    if not inner.strip():
        return LineProblem(
            start, max(at, start + 1), "a header has no name", "write the name of a table in it"
        )
    if (at >= end or line[at] == "]") and not set("\"'") & set(inner):
        text = f"{brackets[0]}{inner}{brackets[1]}"
        problem = "a header has no closing bracket" if at >= end else "a header lacks a closing bracket"
        return _changed(line, start, end, text, problem, "close it")
    if re.search(r"[ \t/:>]", inner) and not set("\"'") & set(inner):
        problem = "a header has other signs than points"
        return LineProblem(start, end, problem, "join its parts by points, and quote those with other signs")
    return _unquoted_key(line, inner_start, inner_start + len(inner))


def _open_array(line: str, at: int) -> LineProblem:
    advice = "separate its elements by commas, and close it with ]"
    return LineProblem(at, at + 1, "an array is not closed, or lacks a comma before this", advice)


def _open_table(line: str, at: int) -> LineProblem:
    advice = "separate its keys by commas, and close it with } in the same line"
    return LineProblem(at, at + 1, "an inline table is not closed, or lacks a comma before this", advice)


_RULES: Mapping[str, Callable[[str, int], LineProblem | None]] = {
    "Invalid value": _value,
    "Expected newline": _after_statement,
    **dict.fromkeys(("Unescaped", "Invalid hex", "Escaped character"), _backslash),
    **dict.fromkeys(("Unterminated", "Illegal character", "Found invalid", 'Expected "\'"'), _open_string),
    "Expected '='": _missing_sign,
    "Invalid statement": _statement,
    **dict.fromkeys(("Expected ']", "Invalid initial"), _header),
    "Unclosed array": _open_array,
    "Unclosed inline": _open_table,
}
