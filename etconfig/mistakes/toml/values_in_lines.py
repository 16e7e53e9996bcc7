"""Repairs of values, of arrays and inline tables, and of text after them."""

from __future__ import annotations

import re

from etconfig.mistakes.toml.line import (
    ASSIGNMENT,
    COMMENT,
    HEADER,
    KEY_PATTERN,
    MAX_LINE,
    LineRepair,
    changed_line,
    comment_repair,
    end_of_value,
    guessed_line,
)
from etconfig.mistakes.toml.value_text import guess_value, quoted


def repair_invalid_value(line: str, at: int) -> LineRepair | None:
    """Write a value that TOML does not have as it was probably meant."""
    assignment = ASSIGNMENT.match(line)
    if assignment and line.startswith(("=", ">"), at):
        sign = re.compile(r"[=>]+").match(line, at)
        end = sign.end() if sign else at + 1
        return changed_line(
            line, at, end, "", "the sign between key and value is =", "write one =", is_safe=True
        )
    if assignment and assignment.end() == at:
        end = end_of_value(line, at)
        return guessed_line(line, at, max(end, at), guess_value(line[at:end], assignment[1]))
    key = assignment[1] if assignment else ""
    inner = re.compile(r"[^,\[\]{}#]*").match(line, at)
    word = inner[0].rstrip() if inner else ""
    if not word:
        return None
    return guessed_line(line, at, at + len(word), guess_value(word, _inner_key(line[:at]) or key))


def _inner_key(before: str) -> str | None:
    """Return the key of an inline table whose value comes after `before`."""
    match = re.search(rf"[{{,][ \t]*({KEY_PATTERN})[ \t]*=[ \t]*$", before, re.ASCII)
    return match[1] if match else None


def repair_after_statement(line: str, at: int) -> LineRepair | None:
    """Repair text after a header or a value: a sign, a comment of another language, or a second statement."""
    rest_start = len(line) - len(line[at:].lstrip(" \t"))
    at = len(line[:at].rstrip(" \t"))
    rest = line[rest_start:]
    if rest.rstrip() in (",", ";", ":"):
        problem, advice = f"a line does not end with {rest[0]!r}", f"remove {rest[0]!r}"
        return changed_line(line, rest_start, rest_start + 1, "", problem, advice, is_safe=True)
    if COMMENT.match(rest) and (rest_start > at or rest[0] in ";/"):
        return comment_repair(line, rest_start)
    header = HEADER.match(line)
    if header is None:
        assignment = ASSIGNMENT.match(line)
        return _after_value(line, at, rest_start, assignment) if assignment else None
    following = line[rest_start:].lstrip("{:; \t")
    if header.end() < at or (not following and rest[:1] not in "{:;"):
        return None
    advice = "write what follows a header in a line of its own" if following else "remove it"
    text = f"\n{following}" if following else ""
    return changed_line(line, at, len(line), text, "a line has a header and more", advice)


def _after_value(line: str, at: int, rest_start: int, assignment: re.Match[str]) -> LineRepair | None:
    start, end = assignment.end(), end_of_value(line, assignment.end())
    separator = re.compile(r"[,;]?[ \t]*").match(line, rest_start)
    following = separator.end() if separator else rest_start
    value = line[start:end]
    if ASSIGNMENT.match(line, following) and following > at:
        problem, advice = "a line sets two keys", "write each key in a line of its own"
        return changed_line(line, at, following, "\n", problem, advice)
    if value[0] in "\"'":
        quote = value[0]
        if value[-1] == quote and line[rest_start] not in "\"'" and value.count(quote) > 2:
            problem = f"a string contains its own quote {quote}"
            return changed_line(line, start, end, quoted(value[1:-1]), problem, "quote it otherwise")
        return LineRepair(rest_start, end, "text follows a string", "write one string, or an array of them")
    if value[0] in "[{":
        return None
    return guessed_line(line, start, end, guess_value(value, assignment[1]))


def repair_open_array(line: str, at: int) -> LineRepair | None:
    """Write the commas or the closing bracket that an array lacks."""
    assignment = ASSIGNMENT.match(line)
    if assignment is None or line[assignment.end() : assignment.end() + 1] != "[":
        return None
    start, end = assignment.end(), end_of_value(line, assignment.end())
    text = line[start:end]
    if not text.endswith("]"):
        closed = text.rstrip(",; \t")
        return changed_line(line, start, end, f"{closed}]", "an array has no closing bracket", "close it")
    items = re.findall(r"""[^\s,;"']+|"[^"]*"|'[^']*'""", text[1:-1])
    repaired = f"[{', '.join(items)}]"
    return changed_line(
        line, start, end, repaired, "an array lacks commas", "separate its elements by commas"
    )


def end_of_array(line: str, following: str) -> LineRepair | None:
    """Return the repair of a line after which an array lacks its closing bracket or a comma.

    Args:
        line: The line.
        following: The line at which the parser failed.
    """
    end = end_of_value(line, 0)
    if len(line) > MAX_LINE or line[:end].endswith("]"):
        return None
    if ASSIGNMENT.match(following) or HEADER.match(following):
        problem = "an array has no closing bracket"
        return LineRepair(max(end - 1, 0), end, problem, "close it", f"{line[:end]}]{line[end:]}")
    advice = "separate its elements by commas"
    return LineRepair(max(end - 1, 0), end, "an array lacks a comma", advice, f"{line[:end]},{line[end:]}")


def repair_open_table(line: str, at: int) -> LineRepair | None:
    """Separate the keys of an inline table by commas, and close it."""
    if line[at : at + 1] == ";":
        advice = "separate keys by commas"
        return changed_line(line, at, at + 1, ",", "an inline table has a ;", advice, is_safe=True)
    end = end_of_value(line, 0)
    if line.count("{") == line.count("}") + 1 and not line[:end].endswith("}"):
        text = f"{line[:end].rstrip(', ')} }}"
        return changed_line(line, 0, end, text, "an inline table has no closing brace", "close it")
    return None
