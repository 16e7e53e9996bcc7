"""A line that is not TOML with its repair, and the pieces of lines that rules have in common."""

from __future__ import annotations

import re

from etconfig.mistakes.toml.value_text import ValueGuess
from etconfig.records import record

KEY_PATTERN = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')(?:[ \t]*\.[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*'))*"""
ASSIGNMENT = re.compile(rf"[ \t]*({KEY_PATTERN})[ \t]*=[ \t]*", re.ASCII)
HEADER = re.compile(r"[ \t]*\[{1,2}[^\[\]]*\]{1,2}")
COMMENT = re.compile(r"(//|;|--|/\*|%|rem\b|REM\b)[ \t]*")
MAX_LINE = 2_000
"""The most characters of a line that is examined."""


@record(frozen=True)
class LineRepair:
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


def changed_line(
    line: str, start: int, end: int, text: str, problem: str, advice: str, *, is_safe: bool = False
) -> LineRepair:
    """Return the repair that replaces the characters from `start` to `end` by `text`."""
    return LineRepair(start, end, problem, advice, line[:start] + text + line[end:], is_safe)


def guessed_line(line: str, start: int, end: int, guess: ValueGuess) -> LineRepair:
    """Return the repair that replaces a value by the one that was probably meant."""
    repaired = None if guess.text is None else line[:start] + guess.text + line[end:]
    return LineRepair(start, end, guess.problem, guess.advice, repaired, guess.is_safe)


def end_of_value(line: str, start: int) -> int:
    """Return the end of an unquoted value: before a comment and the blanks in front of it."""
    if line.startswith("#", start):
        return start
    comment = re.compile(r"(?<![ \t])[ \t]+#|$").search(line, start)
    end = comment.start() if comment else len(line)
    return start + len(line[start:end].rstrip())


def comment_repair(line: str, at: int) -> LineRepair:
    """Return the repair of a comment as another language has it, at column `at`."""
    match = COMMENT.match(line, at)
    end = match.end() if match else at
    problem = f"{line[at:end].strip()} does not start a comment"
    return changed_line(line, at, end, "# ", problem, "write # before a comment", is_safe=True)
