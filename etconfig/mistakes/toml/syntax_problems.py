"""The problems of a text that is not TOML.

A parser stops at its first failure. Where the line can be repaired as it was probably meant, the repaired
text is parsed again: so the next problem is found in the same run, and a fix is only offered if the parser
gets further with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import TypeAlias

import tomli

from etconfig.base.source_characters import string_end
from etconfig.diagnostics import Diagnostic, Fix, Span
from etconfig.diagnostics.source_text import SourceText
from etconfig.errors import DocumentError
from etconfig.mistakes.toml.lines import LineProblem, examine
from etconfig.mistakes.toml.value_guesses import shortened
from etconfig.profile.bounds import check_bounds

_MAX_PROBLEMS = 100
_MAX_REPAIRS_OF_A_LINE = 3
_MAX_PARSED = 2 << 20
"""The most characters that are parsed again in search of further problems."""
_MAX_SHOWN_LINE = 120
"""The most characters of a repaired line that a help line shows."""

_HELP = {
    "Invalid value": 'strings are quoted, as in name = "value"; true and false are lower case',
    "Invalid initial character for a key part": "write a key, as in { name = 1 }, in the line of the brace",
}
_HEADER = re.compile(r"[ \t]*(\[{1,2}[ \t]*([^\[\]]+?)[ \t]*\]{1,2})")
_KEY = re.compile(r"[ \t]*(([^=\[\]{}#\s][^=\[\]{}#\n]*?))[ \t]*=")
_TWICE = ("Cannot overwrite", "Cannot declare", "Cannot mutate", "Cannot redefine")


def failing_offset(text: str) -> int | None:
    """Return the offset at which `text` stops being TOML within the bounds, or None if it is TOML."""
    failure = _failure_of(text.replace("\r\n", "\n"))
    return None if failure is None else failure[0]


def _failure_of(text: str) -> tuple[int, str] | None:
    """Return the offset and the message of the first failure to parse `text`."""
    if text.startswith("\ufeff"):
        return 0, "byte order mark"
    try:
        check_bounds(SourceText("", text))
        tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        return error.pos, error.msg
    except (DocumentError, ValueError, RecursionError):
        return 0, "too large"
    return None


def syntax_problems(source: SourceText, error: tomli.TOMLDecodeError) -> tuple[Diagnostic, ...]:
    """Return the problem at which the parser stopped, and those after it that repairs let it find."""
    return tuple(_SyntaxReader(source).problems((error.pos, error.msg)))


_Failure: TypeAlias = "tuple[int, str] | None"


class _SyntaxReader:
    """Reads a text again and again, each time with one line more repaired; none becomes two.

    Attributes:
        source: The text.
        lines: Its lines, repaired so far.
    """

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.lines = source.text.split("\n")
        self.starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        self.unparsed = _MAX_PARSED
        self.dummies = 0

    def problems(self, failure: _Failure) -> Iterator[Diagnostic]:
        last = -1  # each line is repaired once: the next lines keep their places in the source
        for _ in range(_MAX_PROBLEMS):
            if failure is None:
                return
            number, column = self.place(failure)
            if number <= last:
                return
            last = number
            problem, failure = self.problem(number, column, failure[1])
            yield problem

    def place(self, failure: tuple[int, str]) -> tuple[int, int]:
        """Return the number and the column of a failure, both from 0."""
        offset, message = failure
        text = "\n".join(self.lines)
        if message == 'Expected "\'"':  # reported at the end of the text
            offset = _open_quote(text)
        offset = min(offset, len(text.rstrip("\n")))
        return text.count("\n", 0, offset), offset - text.rfind("\n", 0, offset) - 1

    def problem(self, number: int, column: int, message: str) -> tuple[Diagnostic, _Failure]:
        """Return the problem of a failure, and the next failure if this one could be repaired."""
        line, start = self.lines[number], self.starts[number]
        if message.startswith(_TWICE):
            self.dummies += 1  # the keys below a header go to a table that nobody reads
            other = f"[etconfig-repeated-{self.dummies}]" if _HEADER.match(line) else ""
            return repeated_key(self.source, start, line), self.replaced(number, other)[1]
        found = examine(line, column, message)
        if found is None:
            text = f"invalid TOML: {message[0].lower()}{message[1:]}"
            span = self.source.span(start + column, start + column + 1)
            return _diagnostic(text, (span,), _HELP.get(message)), None
        repaired, is_safe, failure = self.repaired(number, found)
        help, fix = found.advice, None
        if repaired is not None:
            whole = self.source.span(start, start + max(1, len(line)))
            fix = Fix(span=whole, replacement=repaired, is_safe=is_safe)
            if len(repaired) <= _MAX_SHOWN_LINE:
                help = f"{found.advice}: {repaired.strip()}"
        span = self.source.span(start + found.start, start + max(found.end, found.start + 1))
        return _diagnostic(f"invalid TOML: {found.problem}", (span,), help, fix), failure

    def repaired(self, number: int, found: LineProblem | None) -> tuple[str | None, bool, _Failure]:
        """Repair a line as often as needed to get past it; return it, or None if that is impossible."""
        before, is_safe = self.lines[number], True
        for _ in range(_MAX_REPAIRS_OF_A_LINE):
            if found is None or found.line in (None, self.lines[number]):
                break
            line, is_safe = found.line or "", is_safe and found.is_safe
            is_past, failure = self.replaced(number, line)
            if is_past:
                return line, is_safe, failure
            if failure is None or self.place(failure)[0] != number:
                break
            found = examine(line, self.place(failure)[1], failure[1])
        self.lines[number] = before
        return None, False, None

    def replaced(self, number: int, line: str) -> tuple[bool, _Failure]:
        """Replace a line; return whether the parser gets past it, and the next failure."""
        self.lines[number] = line
        text = "\n".join(self.lines)
        self.unparsed -= len(text)
        if self.unparsed < 0:
            return False, None
        failure = _failure_of(text)
        if failure is None or self.place(failure)[0] > number:
            return True, failure
        return failure[1].startswith(_TWICE), failure


def _diagnostic(
    message: str, spans: tuple[Span, ...], help: str | None, fix: Fix | None = None
) -> Diagnostic:
    return Diagnostic(code="invalid-toml", message=message, spans=spans, help=help, fix=fix)


_QUOTE = re.compile("""["'#]""")


def _open_quote(text: str) -> int:
    """Return the offset of the first quote that is not closed in its line."""
    position = 0
    while match := _QUOTE.search(text, position):
        line_end = text.find("\n", match.start())
        line_end = len(text) if line_end < 0 else line_end
        if match[0] == "#":
            position = line_end
            continue
        position = string_end(text, match.start())
        if position > line_end and not text.startswith(match[0] * 3, match.start()):
            return match.start()
    return len(text)


def repeated_key(source: SourceText, start: int, line: str) -> Diagnostic:
    """Return the problem of a line at offset `start`, which repeats an earlier key or table."""
    match = _HEADER.match(line) or _KEY.match(line)
    if match is None:  # the last line of a value of several lines
        span = source.span(start, start + len(line))
        return _diagnostic("invalid TOML: a key is written twice", (span,), "remove one of the two")
    is_table, written, name = match.re is _HEADER, match[1], re.escape(match[2])
    before = rf"(\[{{1,2}}[ \t]*{name}[ \t]*\]{{1,2}})" if is_table else rf"([\"']?{name}[\"']?)(?=[ \t]*=)"
    of_table = 0 if is_table else max(0, source.text.rfind("\n[", 0, start))
    earlier = re.compile(rf"^[ \t]*{before}", re.M).search(source.text, of_table, start)
    span = source.span(start + match.start(1), start + match.end(1))
    if earlier is None:
        problem = f"invalid TOML: {shortened(written)} contradicts an earlier key or table"
        return _diagnostic(problem, (span,), "write each key once, as a value or as a table")
    number = source.line_and_column(earlier.start(1))[0]
    problem = f"invalid TOML: {shortened(written)} is written twice, first in line {number}"
    both = "put the keys of both tables into one, or write [[NAME]] in both places"
    spans = (span, source.span(earlier.start(1), earlier.end(1)))
    return _diagnostic(problem, spans, both if is_table else "remove one of the two")
