"""Repairs of keys, of the sign after them, and of headers."""

from __future__ import annotations

import re

from etconfig.mistakes.toml.line import COMMENT, LineRepair, changed_line, comment_repair, end_of_value
from etconfig.mistakes.toml.value_text import key_text, shortened

_WRONG_SIGN = re.compile(r"(=>|==+|:=|=:|\+=|->|~=|:)[ \t]*")
_TABLES = ("profile", "options", "methods", "instances", "facts", "plugins", "kernels")


def repair_missing_sign(line: str, at: int) -> LineRepair | None:
    """Repair a key without = after it: YAML, other signs, blanks and other characters in keys."""
    rest = line[at:]
    before = line[:at]
    if before.strip() in ("-", "---") or before.lstrip().startswith("---"):
        return _other_language(line, at, "YAML")
    if before.count("{") > before.count("}"):
        return _in_inline_table(line, at)
    operator = re.match(r"\s*(\w+::[\w.]+)\s*=", line)
    if operator:
        problem, advice = "the name of an operator is written without quotes", "write it in quotes"
        return changed_line(line, *operator.span(1), f'"{operator[1]}"', problem, advice)
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
        return changed_line(line, at, at + sign.end(), f"{blank}= ", problem, "write = between key and value")
    return _words_before_value(line, at, rest)


def _words_before_value(line: str, at: int, rest: str) -> LineRepair | None:
    start = len(line) - len(line.lstrip())
    if not rest.strip():
        word = line.strip()
        if word in _TABLES:
            return changed_line(
                line, start, at, f"[{word}]", "a key has no value", "write headers in brackets"
            )
        if word == "when":
            return changed_line(
                line, start, at, "[[when]]", "a key has no value", "write headers in brackets"
            )
        return LineRepair(
            start, len(line), "a key has no value", "write KEY = VALUE, or a header in brackets"
        )
    sign = rest.find("=")
    if sign < 0:
        words = line.split("#")[0].split()
        if len(words) == 2:
            text = f"{words[0]} = {words[1]}"
            end = len(line.split("#")[0].rstrip())
            return changed_line(line, start, end, text, "a key has no = after it", "write = after a key")
        return None
    end = at + sign
    words = line[start:end].split()
    if words and words[0] in ("export", "set", "let", "const", "var"):
        problem, advice = f"{words[0]} has no meaning in TOML", f"remove {words[0]}"
        following = start + len(line[start:].split(None, 1)[0])
        following += len(line[following:]) - len(line[following:].lstrip())
        return changed_line(line, start, following, "", problem, advice, is_safe=True)
    if len(words) > 1 and all(re.fullmatch(r"[\w-]+", word, re.ASCII) for word in words):
        advice = "write names with _ instead of blanks"
        return changed_line(line, start, end, f"{'_'.join(words)} ", "a key contains a blank", advice)
    return _quote_parts(line, start, start + len(line[start:end].rstrip()))


def _quote_parts(line: str, start: int, end: int) -> LineRepair | None:
    """Quote the parts of a dotted key that have other characters than letters, digits, _ and -."""
    text = line[start:end]
    if set("\"'[]{}=#") & set(text):
        return None
    parts = [part.strip() for part in text.split(".")]
    if not all(parts):
        repaired = ".".join(key_text(part) for part in parts if part)
        return changed_line(line, start, end, repaired, "a part of a key is empty", "remove the extra point")
    repaired = ".".join(map(key_text, parts))
    wrong = next((part for part in parts if key_text(part) != part), None)
    if wrong is None:
        return None
    problem = f"the key {shortened(wrong)} needs quotes"
    advice = "quote parts with other characters than letters, digits, _ and -"
    return changed_line(line, start, end, repaired, problem, advice, is_safe=True)


def _in_inline_table(line: str, at: int) -> LineRepair | None:
    sign = re.compile(r"[ \t]*(:|=>|==|->)[ \t]*").match(line, at)
    if sign:
        problem = f"{sign[1]} does not set a value"
        return changed_line(
            line, at, sign.end(), " = ", problem, "write = between key and value", is_safe=True
        )
    start = line.rfind("{", 0, at)
    end = line.find("}", at)
    if end > 0 and "=" not in line[start:end]:
        text = f"[{line[start + 1 : end].strip()}]"
        problem = "an inline table has a value without a key"
        return changed_line(line, start, end + 1, text, problem, "write arrays in square brackets")
    return None


def repair_invalid_statement(line: str, at: int) -> LineRepair | None:
    """Repair a line that begins neither with a key nor with a header."""
    if line[at : at + 1] == "=":
        return LineRepair(at, at + 1, "a value has no key", "write a key before the =")
    if line.startswith(("{", "<"), at):
        return _other_language(line, at, "JSON" if line[at] == "{" else "XML")
    if COMMENT.match(line, at):
        return comment_repair(line, at)
    sign = line.find("=", at)
    return _quote_parts(line, at, at + len(line[at:sign].rstrip())) if sign > at else None


def _other_language(line: str, at: int, language: str) -> LineRepair:
    start = len(line) - len(line.lstrip())
    advice = 'write [profile] and name = "vendor/device"; docs/profiles.md shows whole files'
    return LineRepair(start, max(at, start + 1), f"this looks like {language}, not TOML", advice)


def repair_header(line: str, at: int) -> LineRepair | None:
    """Repair a header that lacks a bracket or quotes, or has blanks or other signs between its parts."""
    start = len(line) - len(line.lstrip())
    is_array = line.startswith("[[", start)
    end = end_of_value(line, start)
    inner_start = start + (2 if is_array else 1)
    inner = line[inner_start:end].rstrip("]").rstrip()
    brackets = ("[[", "]]") if is_array else ("[", "]")
    if at >= end or line[at] == "]":
        text = f"{brackets[0]}{inner}{brackets[1]}"
        problem = "a header has no closing bracket" if at >= end else "a header lacks a closing bracket"
        return changed_line(line, start, end, text, problem, "close it", is_safe=True)
    parts = re.split(r"\.", inner) if '"' not in inner and "'" not in inner else None
    if parts is None:
        return None
    words = re.split(r"[ \t]*[/:>][ \t]*|[ \t]+", inner)
    if len(words) > 1 and all(re.fullmatch(r"[\w.-]+", word, re.ASCII) for word in words):
        text = f"{brackets[0]}{'.'.join(words)}{brackets[1]}"
        return changed_line(
            line, start, end, text, "a header has other signs than points", "join its parts by points"
        )
    return _quote_parts(line, inner_start, inner_start + len(inner))


def repair_key_part(line: str, at: int) -> LineRepair | None:
    """Quote the parts of a key or header that need it."""
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
