"""Repairs of strings: backslashes, quotes and control characters."""

from __future__ import annotations

import re

from etconfig.mistakes.toml.line import LineRepair, changed_line, end_of_value
from etconfig.mistakes.toml.value_text import quoted


def _string_start(line: str, at: int) -> int | None:
    """Return the place of the quote that opens the string around column `at`."""
    position = 0
    while match := re.compile(r"""\"""|\'\'\'|["'#]""").search(line, position):
        if match.start() >= at or match[0] == "#":
            return None
        if len(match[0]) == 3:
            return match.start()
        closing = re.compile(r'\\.|"').finditer(line, match.end()) if match[0] == '"' else None
        end = (
            next((m.start() for m in closing if m[0] == '"'), -1)
            if closing is not None
            else line.find("'", match.end())
        )
        if end < 0 or end >= at:
            return match.start()
        position = end + 1
    return None


def repair_backslash(line: str, at: int) -> LineRepair | None:
    """Write backslashes that TOML takes for escapes in single quotes, or twice."""
    start = _string_start(line, at)
    if start is None or line.startswith('"""', start):
        problem = "a backslash starts an escape that TOML does not have"
        return LineRepair(max(at - 2, 0), at, problem, "write each backslash twice")
    end = line.find('"', max(at - 1, start + 1))
    if end < 0:
        return None
    content = line[start + 1 : end]
    backslash = line.rfind("\\", start, at)
    problem = f"{line[backslash : backslash + 2]} is not an escape in a TOML string"
    advice = "write backslashes in single quotes"
    if "'" in content:
        text, advice = quoted(content), "write each backslash twice"
    else:
        text = "'" + content.replace("\\\\", "\\") + "'"
    return changed_line(line, start, end + 1, text, problem, advice, is_safe=True)


def repair_unterminated(line: str, at: int) -> LineRepair | None:
    """Close a string that is not closed, or that another quote closes."""
    start = _string_start(line, len(line))
    if start is None or line.startswith(('"""', "'''"), start):
        return None
    quote, problem = line[start], "a string has no closing quote"
    end = end_of_value(line, start)
    content = line[start + 1 : end]
    if content.endswith('\\"') and "\\" in content[:-2]:
        problem, advice = (
            "the backslash before the closing quote escapes it",
            "write backslashes in single quotes",
        )
        return changed_line(line, start, end, quoted(content[:-1]), problem, advice)
    if content and content[-1] in "\"'":
        text = quoted(content[:-1])
        problem, advice = "a string ends with another quote", "close it as it is opened"
        return changed_line(line, start, end, text, problem, advice)
    if set("[{") & set(line[:start]):
        end = max(len(line[:end].rstrip("]}, \t")), start + 1)
    return changed_line(line, start, end, f"{quote}{line[start + 1 : end]}{quote}", problem, "close it")


def repair_illegal_character(line: str, at: int) -> LineRepair | None:
    """Name the control character in a string; a string may also lack its closing quote."""
    if at >= len(line):
        return repair_unterminated(line, at)
    if line[at] < " " or line[at] == "\x7f":
        problem = f"a string contains the control character U+{ord(line[at]):04X}"
        return LineRepair(at, at + 1, problem, f"remove it, or write \\u{ord(line[at]):04X}")
    return None
