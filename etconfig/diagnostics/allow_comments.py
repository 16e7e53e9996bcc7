"""Comments that allow findings: `# etconfig: allow CODE, CODE because REASON`.

A comment allows its codes in its line; a line with nothing else stands for the next line that has something.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path

from etconfig.base.records import record
from etconfig.base.source_characters import string_end
from etconfig.diagnostics.codes import CODES
from etconfig.diagnostics.diagnostic import Diagnostic, Severity
from etconfig.diagnostics.fix import Fix, guessed_fix
from etconfig.diagnostics.rules import ALWAYS_ERRORS
from etconfig.diagnostics.source_text import SourceText
from etconfig.diagnostics.span import Span
from etconfig.diagnostics.suggest import did_you_mean, nearest

_QUOTE_OR_COMMENT = re.compile("[\"'#]")
_ORDER = re.compile(r"#[ \t]*etconfig:[ \t]*(?P<order>\w+)(?P<rest>[^\n]*)")
_CODE = re.compile(r"[^\s,]+")
_REASON = re.compile(r"[ \t]because\b")
_MAX_BYTES = 1 << 20
"""The most bytes of a file that are searched, which is the size of the largest document."""
_MAX_PROBLEMS = 4_000
"""The most wrong codes, and the most unused ones, of a file that are reported."""
_HELP = "write: # etconfig: allow CODE because REASON"


@record(frozen=True)
class AllowComment:
    """One code that a comment allows.

    Attributes:
        code: The code.
        line: The line of the findings that it allows.
        span: The place of the code in the comment.
    """

    code: str
    line: int
    span: Span


def allow_comments(source: SourceText) -> tuple[list[AllowComment], list[Diagnostic]]:
    """Return what the comments of a TOML text allow, valid or not, and the problems of these comments."""
    found: list[AllowComment] = []
    problems: list[Diagnostic] = []
    if "etconfig:" not in source.text:
        return found, problems
    lines = source.text.split("\n")
    about = _subjects(lines)
    for start in (*_comment_starts(source.text), len(source.text)):
        if len(problems) > _MAX_PROBLEMS:
            message = f"comments allow more than {_MAX_PROBLEMS} wrong codes; the rest was not read"
            return found, [
                *problems,
                _problem(message, problems[-1].spans[0], "`etconfig rules` lists the codes"),
            ]
        order = _ORDER.match(source.text, start)
        if order is None:
            continue
        if order["order"] != "allow":
            is_meant = not CODES.keys().isdisjoint(_CODE.findall(order["rest"]))
            if is_meant or nearest(order["order"], ("allow",)) is not None:
                span = source.span(order.start("order"), order.end("order"))
                fix = guessed_fix(order["order"], "allow", ("allow",), span)
                problems.append(_problem(f"a comment of etconfig says {order['order']!r}", span, _HELP, fix))
            continue
        reason = _REASON.search(source.text, order.start("rest"), order.end("rest"))
        codes = [*_CODE.finditer(source.text, order.start("rest"), reason.start() if reason else order.end())]
        if not codes:
            problems.append(_problem("a comment allows no code", source.span(start, order.end()), _HELP))
        line, column = source.line_and_column(start)
        line = line if lines[line - 1][: column - 1].strip() else about[line - 1]
        for code in codes:
            span = source.span(code.start(), code.end())
            wrong = code_problem(code[0], span)
            problems += [] if wrong is None else [wrong]
            found += [AllowComment(code[0], line, span)] if wrong is None else []
            if len(problems) > _MAX_PROBLEMS:
                break
    return found, problems


def code_problem(code: str, span: Span) -> Diagnostic | None:
    """Return what is wrong with a code whose level somebody changes, or None."""
    if code not in CODES:
        help = did_you_mean(code, CODES) or "`etconfig rules` lists the codes"
        fix = guessed_fix(code, nearest(code, CODES), CODES, span)
        return _problem(f"no finding has the code {code!r}", span, help, fix)
    if code in ALWAYS_ERRORS:
        return _problem(
            f"{code} is always an error", span, "leave out the code, and repair what the error names"
        )
    return None


def _problem(message: str, span: Span, help: str, fix: Fix | None = None) -> Diagnostic:
    return Diagnostic(code="invalid-rule", message=message, spans=(span,), help=help, fix=fix)


def _comment_starts(text: str) -> Iterator[int]:
    at = 0
    while match := _QUOTE_OR_COMMENT.search(text, at):
        at = match.start()
        line_end = text.find("\n", at)
        line_end = len(text) if line_end < 0 else line_end
        if match[0] == "#":
            yield at
            at = line_end
        else:
            is_long = text.startswith(match[0] * 3, at)
            at = string_end(text, at) if is_long else min(string_end(text, at), line_end)


def _subjects(lines: Sequence[str]) -> Sequence[int]:
    """Return the line that each line is about: itself, or the next one if it is only a comment."""
    found = [*range(1, len(lines) + 1)]
    for at in range(len(lines) - 2, -1, -1):
        if lines[at].lstrip()[:1] in ("", "#"):
            found[at] = found[at + 1]
    return found


class Allowances:
    """The findings that comments of files allow, and which comments were of use.

    Args:
        read: Returns the text of a file; None if it cannot be read.
    """

    def __init__(self, read: Callable[[Path], str | None] | None = None) -> None:
        self.paths: dict[str, Path] = {}
        """The paths of files whose names in findings are others, such as `<stdin>`."""
        self.cut_short: set[str] = set()
        """The files of which not everything was checked, so that comments are not called unused."""
        self._read = text_of if read is None else read
        self._files: dict[str, _Comments] = {}

    def allows(self, problem: Diagnostic) -> bool:
        """Return True if a comment allows a finding at its first place; the comment is of use then."""
        if not problem.spans or problem.spans[0].text is None or problem.code in ALWAYS_ERRORS:
            return False
        comments = self._of_file(problem.spans[0].file)
        key = problem.code, problem.spans[0].line
        comments.used.add(key)
        return key in comments.allowing

    def forget(self) -> None:
        """Forget what files contain: their comments are read again."""
        self._files.clear()

    def problems(self, file: str) -> Sequence[Diagnostic]:
        """Return the problems of the comments of a file."""
        return self._of_file(file).problems

    def unused(self, file: str, unchecked: Collection[str] = ()) -> Iterator[Diagnostic]:
        """Yield a warning for each code that a comment of a file allows in vain, if it was looked for."""
        comments = self._of_file(file)
        every = [] if file in self.cut_short else comments.all
        unused = (each for each in every if (each.code, each.line) not in comments.used)
        for each in islice(unused, _MAX_PROBLEMS):
            if each.code not in unchecked:
                yield Diagnostic(
                    code="unused-allowance",
                    message=f"the comment allows {each.code}, which is not found in line {each.line}",
                    spans=(each.span,),
                    severity=Severity.WARNING,
                    help="remove the code, or move the comment to the line that it is about",
                )

    def _of_file(self, file: str) -> _Comments:
        if file not in self._files:
            is_toml = file in self.paths or file.endswith(".toml")
            text = self._read(self.paths.get(file, Path(file))) if is_toml else None
            found, problems = ([], []) if text is None else allow_comments(SourceText(file, text))
            self._files[file] = _Comments(found, problems)
        return self._files[file]


class _Comments:
    """The comments of a file, and the codes and lines of all findings in it."""

    def __init__(self, found: Sequence[AllowComment], problems: Sequence[Diagnostic]) -> None:
        self.all, self.problems = found, problems
        self.allowing = {(each.code, each.line) for each in found}
        self.used: set[tuple[str, int]] = set()


def text_of(path: Path) -> str | None:
    """Return the text of a file; None if it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123  (a copy of standard input has another name)
            content = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError):
        return None
    return content.decode("utf-8", "replace").replace("\r\n", "\n")
