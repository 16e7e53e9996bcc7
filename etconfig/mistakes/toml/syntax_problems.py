"""The problems of a text that is not TOML.

A parser stops at its first failure. Where the line can be repaired as it was probably meant, the repaired
text is parsed again: so the next problem is found in the same run, and a fix is only offered if the parser
gets further with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import tomli

from etconfig.diagnostics import Diagnostic, Fix, Span
from etconfig.diagnostics.source_text import SourceText
from etconfig.errors import DocumentError
from etconfig.mistakes.toml.line import LineRepair
from etconfig.mistakes.toml.line_rules import examine
from etconfig.mistakes.toml.repeated_keys import is_header, repeated_key
from etconfig.mistakes.toml.values_in_lines import end_of_array
from etconfig.profile.bounds import check_bounds
from etconfig.profile.source_text import string_end
from etconfig.records import record

_MAX_PROBLEMS = 100
_MAX_REPAIRS_OF_A_LINE = 6
_MAX_PARSED = 2 << 20
"""The most characters that are parsed again in search of further problems."""
_MAX_SHOWN_LINE = 120
"""The most characters of a repaired line that a help line shows."""

_HELP = {"Invalid value": 'strings are quoted, as in name = "value"; true and false are lower case'}
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


@record(frozen=True)
class _Line:
    """A line of the text as repaired so far: its offset, its text, and the column of the failure."""

    start: int
    text: str
    at: int


class _SyntaxReader:
    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.text = source.text
        self.shift = (
            0  # the growth of the text by the repairs so far, all of which are before the next problem
        )
        self.repaired_end = 0  # each line is repaired once: places in it are those of the source
        self.unparsed = _MAX_PARSED
        self.dummies = 0

    def problems(self, failure: tuple[int, str] | None) -> Iterator[Diagnostic]:
        for _ in range(_MAX_PROBLEMS):
            if failure is None or self.line_at(failure[0]).start < self.repaired_end:
                return
            problem, failure = self.problem(*failure)
            yield problem

    def problem(self, offset: int, message: str) -> tuple[Diagnostic, tuple[int, str] | None]:
        """Return the problem of a failure, and the next failure if this one could be repaired."""
        if message.startswith(_TWICE):
            line = self.line_at(offset)
            problem = repeated_key(self.source, line.start - self.shift, line.text)
            return problem, self.without(line)
        for line, found in self.candidates(offset, message):
            if found is not None and line.start >= self.repaired_end:
                return self.repaired(line, found)
        last = len(self.text.rstrip("\n"))
        at = min(offset, last) - self.shift
        text = f"invalid TOML: {message[0].lower()}{message[1:]}"
        return self.diagnostic(text, self.source.span(at, at + 1), _HELP.get(message)), None

    def candidates(self, offset: int, message: str) -> Iterator[tuple[_Line, LineRepair | None]]:
        """Yield the line of the failure and the line that it may come from, each with its repair."""
        if message == 'Expected "\'"':  # reported at the end of the text
            offset = _open_quote(self.text)
        line = self.line_at(offset)
        yield line, examine(line.text, line.at, message)
        before = self.text[: line.start].rstrip()
        if message == "Unclosed array" and before:
            yield (earlier := self.line_at(len(before))), end_of_array(earlier.text, line.text)

    def line_at(self, offset: int) -> _Line:
        offset = min(offset, len(self.text.rstrip("\n")))
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        return _Line(start, self.text[start : end if end >= 0 else len(self.text)], offset - start)

    def repaired(self, line: _Line, first: LineRepair) -> tuple[Diagnostic, tuple[int, str] | None]:
        """Repair a line as often as needed to get past it."""
        found: LineRepair | None = first
        is_safe, text, start = True, line.text, line.start
        for _ in range(_MAX_REPAIRS_OF_A_LINE):
            if found is None or found.line is None or found.line == text:
                break
            is_safe, text = is_safe and found.is_safe, found.line
            whole = f"{self.text[:start]}{text}{self.text[start + len(line.text) :]}"
            self.unparsed -= len(whole)
            if self.unparsed < 0:
                break
            failure = _failure_of(whole)
            if (
                failure is None
                or failure[0] > start + len(text)
                or (failure[1].startswith(_TWICE) and "\n" not in text)
            ):
                diagnostic = self.line_diagnostic(line, first, text, is_safe)
                self.go_on(whole, line, text)
                return diagnostic, failure
            if failure[0] < start:
                break
            found = examine(text, failure[0] - start, failure[1])
        return self.line_diagnostic(line, first, None, False), None

    def line_diagnostic(self, line: _Line, found: LineRepair, text: str | None, is_safe: bool) -> Diagnostic:
        start = line.start - self.shift
        span = self.source.span(start + found.start, start + max(found.end, found.start + 1))
        help, fix = found.advice, None
        if text is not None:
            fix = _line_fix(self.source, start, line.text, text, is_safe)
            if len(text) <= _MAX_SHOWN_LINE:
                help = f"{found.advice}: {' / '.join(text.strip().splitlines())}"
        return self.diagnostic(f"invalid TOML: {found.problem}", span, help, fix)

    def without(self, line: _Line) -> tuple[int, str] | None:
        """Go on as if a line were not there; its keys go to a table that nobody reads."""
        self.dummies += 1
        text = f"[etconfig-repeated-{self.dummies}]" if is_header(line.text) else ""
        whole = f"{self.text[: line.start]}{text}{self.text[line.start + len(line.text) :]}"
        self.unparsed -= len(whole)
        failure = _failure_of(whole) if self.unparsed >= 0 else None
        if failure is not None and failure[0] <= line.start + len(text):
            return None
        self.go_on(whole, line, text)
        return failure

    def go_on(self, whole: str, line: _Line, text: str) -> None:
        """Continue with a text in which a line has been replaced."""
        self.text, self.shift = whole, self.shift + len(text) - len(line.text)
        self.repaired_end = line.start + len(text)

    @staticmethod
    def diagnostic(message: str, span: Span, help: str | None, fix: Fix | None = None) -> Diagnostic:
        return Diagnostic(code="invalid-toml", message=message, spans=(span,), help=help, fix=fix)


def _line_fix(source: SourceText, start: int, before: str, after: str, is_safe: bool) -> Fix:
    """Return the replacement of the part in which two texts of a line differ, of one character at least."""
    first = 0
    while first < min(len(before), len(after)) and before[first] == after[first]:
        first += 1
    end, new_end = len(before), len(after)
    while min(end, new_end) > first and before[end - 1] == after[new_end - 1]:
        end, new_end = end - 1, new_end - 1
    if end == first and first > 0:
        first -= 1
    elif end == first:
        end, new_end = end + 1, new_end + 1
    return Fix(
        span=source.span(start + first, start + end), replacement=after[first:new_end], is_safe=is_safe
    )


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
