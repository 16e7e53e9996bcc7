"""Diagnoses of texts that break the grammar: every foreign spelling, then what else is wrong.

This module is imported only for such texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from etconfig.diagnostics import Diagnostic, Fix, Span
from etconfig.errors import ProfileError
from etconfig.mistakes.expression.piece_walk import FactFinder, Spelling
from etconfig.mistakes.expression.pieces import Piece
from etconfig.mistakes.expression.respelling import respell
from etconfig.profile.expression.source import ExpressionSource
from etconfig.records import record

_TOO_MUCH = frozenset(("expression-too-large", "invisible-character"))

_MAX_TRIED = 16
"""The most fixes of one expression that are tried by themselves; others are not offered."""

ProblemFinder: TypeAlias = Callable[[ExpressionSource], Sequence[Diagnostic]]
"""A function that returns the problems of an expression; empty if it is right."""


@record(frozen=True)
class RespelledSource(ExpressionSource):
    """An expression after its foreign spellings were replaced; its diagnostics point to what is written.

    Attributes:
        written: The expression as it is written.
        pieces: Its pieces, with the places from which they come.
    """

    written: ExpressionSource
    pieces: Sequence[Piece]

    def diagnostic(
        self, message: str, start: int, end: int, *, code: str = "invalid-expression", help: str | None = None
    ) -> Diagnostic:
        """Return a diagnostic for what became `text[start:end]`."""
        return self.written.diagnostic(message, *self._written_place(start, end), code=code, help=help)

    def span_of(self, start: int, end: int) -> Span | None:
        """Return the place of what became `text[start:end]`."""
        return self.written.span_of(*self._written_place(start, end))

    def fix(self, start: int, end: int, replacement: str, *, is_safe: bool = False) -> Fix | None:
        """Return the fix, or None if these characters are not written like this."""
        first, last = self._written_place(start, end)
        if self.written.text[first:last] != self.text[start:end]:
            return None
        return self.written.fix(first, last, replacement, is_safe=is_safe)

    def _written_place(self, start: int, end: int) -> tuple[int, int]:
        places: list[int] = []
        position = 0
        for piece in self.pieces:
            text_start = position + len(piece.lead) + len(piece.head)
            position += len(piece.output)
            if position <= start or text_start >= max(end, start + 1):
                continue
            is_written = self.written.text[piece.start : piece.end] == piece.text
            first = piece.start + (max(0, start - text_start) if is_written else 0)
            last = min(piece.end, piece.start + end - text_start) if is_written else piece.end
            places += (min(first, piece.end), max(last, piece.start))
        if not places:
            return len(self.written.text), len(self.written.text)
        return min(places), max(places)


def diagnose(
    source: ExpressionSource, error: ProfileError, check: ProblemFinder, find_fact: FactFinder
) -> tuple[Diagnostic, ...]:
    """Return all problems of an expression that breaks the grammar, or has words of another language.

    Args:
        source: The expression.
        error: The problems as the parser or the checker reports them.
        check: Finds the problems of the expression that was probably meant.
        find_fact: Returns the fact of a name, or None.
    """
    respelled = (
        None
        if _TOO_MUCH & {problem.code for problem in error.diagnostics}
        else respell(source.text, find_fact)
    )
    if respelled is None:
        return error.diagnostics
    text = "".join(piece.output for piece in respelled.pieces).strip()
    spellings = respelled.spellings
    others = check(RespelledSource(text, source.span, source, respelled.pieces))
    fixes: Sequence[Fix | None] = [None] * len(spellings)
    if any(other.code in _TOO_MUCH for other in others):
        others = ()
    elif any(each.replacement is None for each in spellings):
        alone = check(ExpressionSource(text, Span(file="expression", length=len(text), text=text)))
        fix = None if _has_no_meaning(alone) else _fix_of_all(source, text, spellings, alone)
        fixes = [fix] * len(spellings)
        others = [
            replace(other, fix=fix if own.fix else None) for other, own in zip(others, alone, strict=True)
        ]
    elif not _has_no_meaning(others):
        fixes = [_fix_of_one(source, each) for each in spellings]
    spelled = [_diagnostic(source, each, fix) for each, fix in zip(spellings, fixes, strict=True)]
    return tuple(sorted((*spelled, *others), key=lambda problem: problem.spans[0].column))


def with_valid_fixes(
    source: ExpressionSource, problems: Sequence[Diagnostic], check: ProblemFinder
) -> tuple[Diagnostic, ...]:
    """Return the problems with those fixes that leave fewer of them, so that none writes another mistake.

    A fix that replaces the whole expression leaves none.

    Args:
        source: The expression.
        problems: Its problems.
        check: Finds the problems of the expression after a fix.
    """
    fixes = [problem.fix for problem in problems if problem.fix is not None]
    if not fixes:
        return tuple(problems)

    def left(tried: Sequence[Fix]) -> int:
        text = source.with_edits([edit for fix in tried for edit in fix.edits])
        if text == source.text:
            return len(problems)
        return len(
            check(ExpressionSource(text, Span(file="expression", length=max(1, len(text)), text=text)))
        )

    if len(fixes) == len(problems) and left(fixes) == 0:
        return tuple(problems)
    whole = len(source.text.rstrip())
    valid = [
        fix
        for fix in dict.fromkeys(fixes[:_MAX_TRIED])
        if left([fix]) < (1 if fix.span.length >= whole else len(problems))
    ]
    return tuple(replace(each, fix=each.fix if each.fix in valid else None) for each in problems)


def _diagnostic(source: ExpressionSource, spelling: Spelling, fix: Fix | None) -> Diagnostic:
    found = source.diagnostic(spelling.message, spelling.start, spelling.end, help=spelling.help)
    return replace(found, fix=fix)


def _fix_of_one(source: ExpressionSource, spelling: Spelling) -> Fix | None:
    replacement = source.in_its_quotes(spelling.replacement or "")
    return source.fix(spelling.start, spelling.end, replacement, is_safe=spelling.is_safe)


def _has_no_meaning(problems: Sequence[Diagnostic]) -> bool:
    """True if an expression still breaks the grammar after its foreign spellings were replaced."""
    return any(problem.code == "invalid-expression" and problem.fix is None for problem in problems)


def _fix_of_all(
    source: ExpressionSource, text: str, spellings: Sequence[Spelling], problems: Sequence[Diagnostic]
) -> Fix | None:
    """Return one fix of the whole expression, since the spellings change more than their places.

    Args:
        source: The expression as it is written.
        text: The expression without the foreign spellings.
        spellings: The spellings.
        problems: The problems of `text`, whose fixes are made too.
    """
    is_safe = all(spelling.is_safe for spelling in spellings)
    left = len(text)
    for problem in sorted(problems, key=lambda problem: problem.spans[0].column, reverse=True):
        fix = problem.fix
        if fix is None or fix.span.column - 1 + fix.span.length > left:
            continue
        left = fix.span.column - 1
        text = text[:left] + fix.replacement + text[left + fix.span.length :]
        is_safe = is_safe and fix.is_safe
    return source.fix(0, len(source.text.rstrip()), source.in_its_quotes(text), is_safe=is_safe)
