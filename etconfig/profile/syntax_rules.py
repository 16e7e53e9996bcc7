"""Repairs of one line that is not TOML, by the message and the place of the parser's failure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping

from etconfig.profile.syntax_values import ValueGuess, guess_value, key_text, quoted, shortened
from etconfig.records import record

_KEY = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')(?:[ \t]*\.[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*'))*"""
_ASSIGNMENT = re.compile(rf"[ \t]*({_KEY})[ \t]*=[ \t]*", re.ASCII)
_HEADER = re.compile(r"[ \t]*\[{1,2}[^\[\]]*\]{1,2}")
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u00ab\u00bb\uff02"
_SINGLE_QUOTES = "\u2018\u2019\u201a\uff07"
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys(_DOUBLE_QUOTES, '"')
    | dict.fromkeys(_SINGLE_QUOTES, "'")
    | dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f\u3000", " ")
    | dict(zip("\uff1d\uff0c\uff0e\uff3b\uff3d", "=,.[]", strict=True))
)
"""Quotes, blanks and signs as word processors and input methods write them, and those of TOML."""
_TYPOGRAPHIC = frozenset(map(chr, _TYPOGRAPHY))
_MAX_LINE = 2_000
"""The most characters of a line that is examined."""
_COMMENT = re.compile(r"(//|;|--|/\*|%|rem\b|REM\b)[ \t]*")
_WRONG_SIGN = re.compile(r"(=>|==+|:=|=:|\+=|->|~=|:)[ \t]*")
_TABLES = ("profile", "options", "methods", "instances", "facts", "plugins")


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


def examine(line: str, at: int, message: str) -> LineRepair | None:
    """Return what is wrong with a line at which the parser failed; None if no more is known than that.

    Args:
        line: The line.
        at: The column of the failure, from 0.
        message: The parser's message.
    """
    if len(line) > _MAX_LINE:
        return None
    if line.startswith(("<<<<<<<", "=======", ">>>>>>>")):
        return LineRepair(0, 7, "the file has a merge conflict", "resolve it, and remove its marks")
    if line[at : at + 1] == "\r":
        advice = "save the file with line feeds at the ends of lines"
        return LineRepair(at, at + 1, "a line ends with a carriage return only", advice)
    if line[at : at + 1] in _TYPOGRAPHIC:
        return _typography(line, at)
    for start, rule in _RULES.items():
        if message.startswith(start):
            return rule(line, at)
    return None


def _replaced(
    line: str, start: int, end: int, text: str, problem: str, advice: str, *, is_safe: bool = False
) -> LineRepair:
    return LineRepair(start, end, problem, advice, line[:start] + text + line[end:], is_safe)


def _from_guess(line: str, start: int, end: int, guess: ValueGuess) -> LineRepair:
    repaired = None if guess.text is None else line[:start] + guess.text + line[end:]
    return LineRepair(start, end, guess.problem, guess.advice, repaired, guess.is_safe)


def _typography(line: str, at: int) -> LineRepair:
    """Replace quotes, blanks and signs that a word processor or a web page has put in."""
    meant = line[at].translate(_TYPOGRAPHY)
    advice = "write plain quotes" if meant in "\"'" else "write a plain character"
    problem = f"U+{ord(line[at]):04X} ({unicodedata.name(line[at])}) has no meaning in TOML"
    return LineRepair(at, at + 1, problem, advice, line.translate(_TYPOGRAPHY), is_safe=True)


def _value_end(line: str, start: int) -> int:
    """Return the end of an unquoted value: before a comment and the blanks in front of it."""
    if line.startswith("#", start):
        return start
    comment = re.compile(r"(?<![ \t])[ \t]+#|$").search(line, start)
    end = comment.start() if comment else len(line)
    return start + len(line[start:end].rstrip())


def _invalid_value(line: str, at: int) -> LineRepair | None:
    assignment = _ASSIGNMENT.match(line)
    if assignment and line.startswith(("=", ">"), at):
        sign = re.compile(r"[=>]+").match(line, at)
        end = sign.end() if sign else at + 1
        return _replaced(
            line, at, end, "", "the sign between key and value is =", "write one =", is_safe=True
        )
    if assignment and assignment.end() == at:
        end = _value_end(line, at)
        return _from_guess(line, at, max(end, at), guess_value(line[at:end], assignment[1]))
    key = assignment[1] if assignment else ""
    inner = re.compile(r"[^,\[\]{}#]*").match(line, at)
    word = inner[0].rstrip() if inner else ""
    if not word:
        return None
    return _from_guess(line, at, at + len(word), guess_value(word, _inner_key(line[:at]) or key))


def _inner_key(before: str) -> str | None:
    """Return the key of an inline table whose value comes after `before`."""
    match = re.search(rf"[{{,][ \t]*({_KEY})[ \t]*=[ \t]*$", before, re.ASCII)
    return match[1] if match else None


def _after_statement(line: str, at: int) -> LineRepair | None:
    """Text after a header or a value: a sign, a comment of another language, or a second statement."""
    rest_start = len(line) - len(line[at:].lstrip(" \t"))
    at = len(line[:at].rstrip(" \t"))
    rest = line[rest_start:]
    if rest.rstrip() in (",", ";", ":"):
        problem, advice = f"a line does not end with {rest[0]!r}", f"remove {rest[0]!r}"
        return _replaced(line, rest_start, rest_start + 1, "", problem, advice, is_safe=True)
    if _COMMENT.match(rest) and (rest_start > at or rest[0] in ";/"):
        return _comment(line, rest_start)
    header = _HEADER.match(line)
    if header is None:
        assignment = _ASSIGNMENT.match(line)
        return _after_value(line, at, rest_start, assignment) if assignment else None
    following = line[rest_start:].lstrip("{:; \t")
    if header.end() < at or (not following and rest[:1] not in "{:;"):
        return None
    advice = "write what follows a header in a line of its own" if following else "remove it"
    text = f"\n{following}" if following else ""
    return _replaced(line, at, len(line), text, "a line has a header and more", advice)


def _after_value(line: str, at: int, rest_start: int, assignment: re.Match[str]) -> LineRepair | None:
    start, end = assignment.end(), _value_end(line, assignment.end())
    separator = re.compile(r"[,;]?[ \t]*").match(line, rest_start)
    following = separator.end() if separator else rest_start
    value = line[start:end]
    if _ASSIGNMENT.match(line, following) and following > at:
        problem, advice = "a line sets two keys", "write each key in a line of its own"
        return _replaced(line, at, following, "\n", problem, advice)
    if value[0] in "\"'":
        quote = value[0]
        if value[-1] == quote and line[rest_start] not in "\"'" and value.count(quote) > 2:
            problem = f"a string contains its own quote {quote}"
            return _replaced(line, start, end, quoted(value[1:-1]), problem, "quote it otherwise")
        return LineRepair(rest_start, end, "text follows a string", "write one string, or an array of them")
    if value[0] in "[{":
        return None
    return _from_guess(line, start, end, guess_value(value, assignment[1]))


def _comment(line: str, at: int) -> LineRepair:
    match = _COMMENT.match(line, at)
    end = match.end() if match else at
    problem = f"{line[at:end].strip()} does not start a comment"
    return _replaced(line, at, end, "# ", problem, "write # before a comment", is_safe=True)


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


def _backslash(line: str, at: int) -> LineRepair | None:
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
    return _replaced(line, start, end + 1, text, problem, advice, is_safe=True)


def _unterminated(line: str, at: int) -> LineRepair | None:
    start = _string_start(line, len(line))
    if start is None or line.startswith(('"""', "'''"), start):
        return None
    quote, problem = line[start], "a string has no closing quote"
    end = _value_end(line, start)
    content = line[start + 1 : end]
    if content.endswith('\\"') and "\\" in content[:-2]:
        problem, advice = (
            "the backslash before the closing quote escapes it",
            "write backslashes in single quotes",
        )
        return _replaced(line, start, end, quoted(content[:-1]), problem, advice)
    if content and content[-1] in "\"'":
        text = quoted(content[:-1])
        problem, advice = "a string ends with another quote", "close it as it is opened"
        return _replaced(line, start, end, text, problem, advice)
    if set("[{") & set(line[:start]):
        end = max(len(line[:end].rstrip("]}, \t")), start + 1)
    return _replaced(line, start, end, f"{quote}{line[start + 1 : end]}{quote}", problem, "close it")


def _illegal_character(line: str, at: int) -> LineRepair | None:
    if at >= len(line):
        return _unterminated(line, at)
    if line[at] < " " or line[at] == "\x7f":
        problem = f"a string contains the control character U+{ord(line[at]):04X}"
        return LineRepair(at, at + 1, problem, f"remove it, or write \\u{ord(line[at]):04X}")
    return None


def _expected_sign(line: str, at: int) -> LineRepair | None:
    """A key without = after it: YAML, other signs, blanks and other characters in keys."""
    rest = line[at:]
    before = line[:at]
    if before.strip() in ("-", "---") or before.lstrip().startswith("---"):
        return _other_language(line, at, "YAML")
    if before.count("{") > before.count("}"):
        return _in_inline_table(line, at)
    path = re.match(r"\s*[^\s=]+[:@][^\s=]+\s*=", line)
    if path:
        advice = "write [methods.METHOD.options.BACKEND] or [instances.NAME.options.BACKEND] above the option"
        return LineRepair(at, at + 1, "an option path is not a key of a file", advice)
    if sign := _WRONG_SIGN.match(rest):
        if not rest[sign.end() :].strip():
            key = before.strip()
            advice = f"this looks like YAML; write tables with headers in brackets, as in [{key}]"
            return LineRepair(at, at + 1, "a key has no value", advice)
        problem = f"{sign[1]} does not set a value"
        blank = "" if before.endswith((" ", "\t")) else " "
        return _replaced(line, at, at + sign.end(), f"{blank}= ", problem, "write = between key and value")
    return _words_before_value(line, at, rest)


def _words_before_value(line: str, at: int, rest: str) -> LineRepair | None:
    start = len(line) - len(line.lstrip())
    if not rest.strip():
        word = line.strip()
        if word in _TABLES:
            return _replaced(line, start, at, f"[{word}]", "a key has no value", "write headers in brackets")
        if word == "when":
            return _replaced(line, start, at, "[[when]]", "a key has no value", "write headers in brackets")
        return LineRepair(
            start, len(line), "a key has no value", "write KEY = VALUE, or a header in brackets"
        )
    sign = rest.find("=")
    if sign < 0:
        words = line.split("#")[0].split()
        if len(words) == 2:
            text = f"{words[0]} = {words[1]}"
            end = len(line.split("#")[0].rstrip())
            return _replaced(line, start, end, text, "a key has no = after it", "write = after a key")
        return None
    end = at + sign
    words = line[start:end].split()
    if words and words[0] in ("export", "set", "let", "const", "var"):
        problem, advice = f"{words[0]} has no meaning in TOML", f"remove {words[0]}"
        following = start + len(line[start:].split(None, 1)[0])
        following += len(line[following:]) - len(line[following:].lstrip())
        return _replaced(line, start, following, "", problem, advice, is_safe=True)
    if len(words) > 1 and all(re.fullmatch(r"[\w-]+", word, re.ASCII) for word in words):
        advice = "write names with _ instead of blanks"
        return _replaced(line, start, end, f"{'_'.join(words)} ", "a key contains a blank", advice)
    return _quote_parts(line, start, start + len(line[start:end].rstrip()))


def _quote_parts(line: str, start: int, end: int) -> LineRepair | None:
    """Quote the parts of a dotted key that have other characters than letters, digits, _ and -."""
    text = line[start:end]
    if set("\"'[]{}=#") & set(text):
        return None
    parts = [part.strip() for part in text.split(".")]
    if not all(parts):
        repaired = ".".join(key_text(part) for part in parts if part)
        return _replaced(line, start, end, repaired, "a part of a key is empty", "remove the extra point")
    repaired = ".".join(map(key_text, parts))
    wrong = next((part for part in parts if key_text(part) != part), None)
    if wrong is None:
        return None
    problem = f"the key {shortened(wrong)} needs quotes"
    advice = "quote parts with other characters than letters, digits, _ and -"
    return _replaced(line, start, end, repaired, problem, advice, is_safe=True)


def _in_inline_table(line: str, at: int) -> LineRepair | None:
    sign = re.compile(r"[ \t]*(:|=>|==|->)[ \t]*").match(line, at)
    if sign:
        problem = f"{sign[1]} does not set a value"
        return _replaced(line, at, sign.end(), " = ", problem, "write = between key and value", is_safe=True)
    start = line.rfind("{", 0, at)
    end = line.find("}", at)
    if end > 0 and "=" not in line[start:end]:
        text = f"[{line[start + 1 : end].strip()}]"
        problem = "an inline table has a value without a key"
        return _replaced(line, start, end + 1, text, problem, "write arrays in square brackets")
    return None


def _invalid_statement(line: str, at: int) -> LineRepair | None:
    if line[at : at + 1] == "=":
        return LineRepair(at, at + 1, "a value has no key", "write a key before the =")
    if line.startswith(("{", "<"), at):
        return _other_language(line, at, "JSON" if line[at] == "{" else "XML")
    if _COMMENT.match(line, at):
        return _comment(line, at)
    sign = line.find("=", at)
    return _quote_parts(line, at, at + len(line[at:sign].rstrip())) if sign > at else None


def _other_language(line: str, at: int, language: str) -> LineRepair:
    start = len(line) - len(line.lstrip())
    advice = 'write [profile] and name = "vendor/device"; docs/profiles.md shows whole files'
    return LineRepair(start, max(at, start + 1), f"this looks like {language}, not TOML", advice)


def _header(line: str, at: int) -> LineRepair | None:
    """A header with a bracket too few, blanks, other signs between its parts, or parts that need quotes."""
    start = len(line) - len(line.lstrip())
    is_array = line.startswith("[[", start)
    end = _value_end(line, start)
    inner_start = start + (2 if is_array else 1)
    inner = line[inner_start:end].rstrip("]").rstrip()
    brackets = ("[[", "]]") if is_array else ("[", "]")
    if at >= end or line[at] == "]":
        text = f"{brackets[0]}{inner}{brackets[1]}"
        problem = "a header has no closing bracket" if at >= end else "a header lacks a closing bracket"
        return _replaced(line, start, end, text, problem, "close it", is_safe=True)
    parts = re.split(r"\.", inner) if '"' not in inner and "'" not in inner else None
    if parts is None:
        return None
    words = re.split(r"[ \t]*[/:>][ \t]*|[ \t]+", inner)
    if len(words) > 1 and all(re.fullmatch(r"[\w.-]+", word, re.ASCII) for word in words):
        text = f"{brackets[0]}{'.'.join(words)}{brackets[1]}"
        return _replaced(
            line, start, end, text, "a header has other signs than points", "join its parts by points"
        )
    return _quote_parts(line, inner_start, inner_start + len(inner))


def _key_part(line: str, at: int) -> LineRepair | None:
    start = len(line) - len(line.lstrip())
    if not line.startswith("[", start):
        sign = line.find("=", at)
        return _quote_parts(line, start, start + len(line[start:sign].rstrip())) if sign > 0 else None
    inner_start = start + (2 if line.startswith("[[", start) else 1)
    inner_end = line.find("]", inner_start)
    inner = line[inner_start : inner_end if inner_end > 0 else len(line)]
    if not inner.strip():
        return LineRepair(
            start, max(at, start + 1), "a header has no name", "write the name of a table in it"
        )
    return _quote_parts(line, inner_start, inner_start + len(inner))


def _open_array(line: str, at: int) -> LineRepair | None:
    """An array whose commas or closing bracket are missing."""
    assignment = _ASSIGNMENT.match(line)
    if assignment is None or line[assignment.end() : assignment.end() + 1] != "[":
        return None
    start, end = assignment.end(), _value_end(line, assignment.end())
    text = line[start:end]
    if not text.endswith("]"):
        closed = text.rstrip(",; \t")
        return _replaced(line, start, end, f"{closed}]", "an array has no closing bracket", "close it")
    items = re.findall(r"""[^\s,;"']+|"[^"]*"|'[^']*'""", text[1:-1])
    repaired = f"[{', '.join(items)}]"
    return _replaced(line, start, end, repaired, "an array lacks commas", "separate its elements by commas")


def end_of_array(line: str, following: str) -> LineRepair | None:
    """Return the repair of a line after which an array lacks its closing bracket or a comma.

    Args:
        line: The line.
        following: The line at which the parser failed.
    """
    end = _value_end(line, 0)
    if len(line) > _MAX_LINE or line[:end].endswith("]"):
        return None
    if _ASSIGNMENT.match(following) or _HEADER.match(following):
        problem = "an array has no closing bracket"
        return LineRepair(max(end - 1, 0), end, problem, "close it", f"{line[:end]}]{line[end:]}")
    advice = "separate its elements by commas"
    return LineRepair(max(end - 1, 0), end, "an array lacks a comma", advice, f"{line[:end]},{line[end:]}")


def _open_table(line: str, at: int) -> LineRepair | None:
    if line[at : at + 1] == ";":
        advice = "separate keys by commas"
        return _replaced(line, at, at + 1, ",", "an inline table has a ;", advice, is_safe=True)
    end = _value_end(line, 0)
    if line.count("{") == line.count("}") + 1 and not line[:end].endswith("}"):
        text = f"{line[:end].rstrip(', ')} }}"
        return _replaced(line, 0, end, text, "an inline table has no closing brace", "close it")
    return None


_RULES: Mapping[str, Callable[[str, int], LineRepair | None]] = {
    "Invalid value": _invalid_value,
    "Expected newline": _after_statement,
    "Unescaped": _backslash,
    "Invalid hex": _backslash,
    "Escaped character": _backslash,
    "Unterminated": _unterminated,
    "Illegal character": _illegal_character,
    "Found invalid character": _illegal_character,
    'Expected "\'"': _unterminated,
    "Expected '='": _expected_sign,
    "Invalid statement": _invalid_statement,
    "Expected ']": _header,
    "Invalid initial": _key_part,
    "Unclosed array": _open_array,
    "Unclosed inline": _open_table,
}
