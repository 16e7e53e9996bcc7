"""Diagnoses of texts that break the grammar: every foreign spelling, then what else is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Fix, Span
from etconfig.expression.expression_source import ExpressionSource
from etconfig.mistakes.expression.foreign_words import Piece, other_readings, respell

_TOO_MUCH = frozenset(("expression-too-large", "invisible-character"))

_MAX_READINGS = 4
"""The most other readings of one expression that are checked; with more, no fix is safe."""

_MAX_TRIED = 16
"""The most fixes of one expression that are tried by themselves; others are not offered."""

ProblemFinder: TypeAlias = Callable[[ExpressionSource], Sequence[Diagnostic]]
"""A function that returns the problems of an expression; empty if it is right."""


@record(frozen=True)
class _RespelledSource(ExpressionSource):
    """An expression after its foreign spellings were replaced, with the quotes as they were written."""

    written: ExpressionSource

    def quoted(self, word: str) -> str:
        """Return a word as a string of an expression, with the quotes that fit into the TOML string."""
        return self.written.quoted(word)


def diagnose(
    source: ExpressionSource, problems: Sequence[Diagnostic], check: ProblemFinder
) -> tuple[Diagnostic, ...]:
    """Return all problems of an expression that breaks the grammar, or has words of another language.

    Args:
        source: The expression.
        problems: Its problems as the parser or the checker reports them.
        check: Finds the problems of the expression that was probably meant.
    """
    is_too_much = any(problem.code in _TOO_MUCH for problem in problems)
    pieces, spellings = ([], []) if is_too_much else respell(source.text)
    if not spellings:
        return tuple(problems)
    text = "".join(piece.text for piece in pieces)
    left = _problems_of(pieces, source, check)
    left = [] if any(problem.code in _TOO_MUCH for problem in left) else left
    fix = None
    if all(problem.fix for problem in left):
        is_certain = not _has_other_reading(source, check)
        spellings = [each._replace(is_safe=each.is_safe and is_certain) for each in spellings]
        fix = _fix_of_all(source, text, left, is_safe=all(each.is_safe for each in spellings))
    has_own_fixes = fix is not None and not left
    found: list[Diagnostic] = []
    for each in spellings:
        if has_own_fixes:
            right = source.in_its_quotes(each.right)
            fix = source.fix(each.start, each.end, right, is_safe=each.is_safe)
        help = f"write {each.right}{each.why}"
        diagnostic = source.diagnostic(each.message, each.start, each.end, help=help)
        found.append(replace(diagnostic, fix=fix))
    for problem in left:
        start = problem.spans[0].column - 1
        first, last = _written_place(pieces, start, start + problem.spans[0].length)
        moved = source.diagnostic(problem.message, first, last, code=problem.code, help=problem.help)
        found.append(replace(moved, fix=fix if problem.fix else None))
    return tuple(sorted(found, key=lambda problem: problem.spans[0].column))


def _problems_of(
    pieces: Sequence[Piece], source: ExpressionSource, check: ProblemFinder
) -> Sequence[Diagnostic]:
    text = "".join(piece.text for piece in pieces)
    place = Span(file="expression", length=max(1, len(text)), text=text)
    return check(_RespelledSource(text, place, source))


def _has_other_reading(source: ExpressionSource, check: ProblemFinder) -> bool:
    """Return True if another language may bind the operators in another way, and that is valid, too."""
    readings = list(islice(other_readings(source.text), _MAX_READINGS + 1))
    return len(readings) > _MAX_READINGS or any(
        not _problems_of(respell(reading)[0], source, check) for reading in readings
    )


def _written_place(pieces: Sequence[Piece], start: int, end: int) -> tuple[int, int]:
    """Return the place, in the text as it is written, of what became `text[start:end]`."""
    places: list[int] = []
    position = 0
    for piece in pieces:
        offset, position = position, position + len(piece.text)
        if position <= start or offset >= max(end, start + 1):
            continue
        is_same = len(piece.text) == piece.end - piece.start
        places.append(piece.start + (max(0, start - offset) if is_same else 0))
        places.append(min(piece.end, piece.start + end - offset) if is_same else piece.end)
    last = pieces[-1].end
    return (min(places), max(places)) if places else (last, last)


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
    fixes = list(dict.fromkeys(problem.fix for problem in problems if problem.fix is not None))
    if not fixes:
        return tuple(problems)

    def left(tried: Sequence[Fix]) -> int:
        text = source.with_edits([edit for fix in tried for edit in fix.edits])
        if text == source.text:
            return len(problems)
        return len(
            check(ExpressionSource(text, Span(file="expression", length=max(1, len(text)), text=text)))
        )

    if all(problem.fix for problem in problems) and left(fixes) == 0:
        return tuple(problems)
    whole = len(source.text.rstrip())
    valid = [
        fix
        for fix in fixes[:_MAX_TRIED]
        if left([fix]) < (1 if fix.span.length >= whole and len(problems) == 1 else len(problems))
    ]
    return tuple(replace(each, fix=each.fix if each.fix in valid else None) for each in problems)


def _fix_of_all(
    source: ExpressionSource, text: str, problems: Sequence[Diagnostic], *, is_safe: bool
) -> Fix | None:
    """Return one fix of the whole expression, whose text without foreign spellings is `text`.

    The fixes of its other problems are made, too.
    """
    left = len(text)
    for problem in sorted(problems, key=lambda problem: problem.spans[0].column, reverse=True):
        fix = problem.fix
        if fix is None or fix.span.column - 1 + fix.span.length > left:
            continue
        left = fix.span.column - 1
        text = text[:left] + fix.replacement + text[left + fix.span.length :]
        is_safe = is_safe and fix.is_safe
    end = len(source.text.rstrip())
    return source.fix(0, end, source.in_its_quotes(text.rstrip()), is_safe=is_safe)
