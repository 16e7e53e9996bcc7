"""Guesses at the TOML value that was meant by a text that is not one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from etconfig.base.records import record

_BOOLS: Mapping[str, str] = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NULLS = ("none", "null", "nil", "undefined", "~")
_TEXT_KEYS = ("name", "extends", "description", "match", "profile", "method", "if", "prefer", "allow", "deny")
_MAX_SHOWN = 60
_PLAIN_KEY = re.compile(r"[\w-]+", re.ASCII)

_DOTTED = re.compile(r"[a-z_]\w*(\.\w+)+", re.ASCII)
_OPERATOR = re.compile(r"&&|\|\||[=!<>]=|\s[<>*/%+?-]\s|\d[*/+]\d|[a-z]\(|\s(and|or|in)\s")
_PREFIXED = re.compile(r"""(?:[rR]|[fFbBuU]|[rR][bB]|[bB][rR])((["']).*\2)""")
_LEADING_POINT = re.compile(r"[+-]?\.\d[\d_]*([eE][+-]?\d+)?")
_TRAILING_POINT = re.compile(r"([+-]?\d[\d_]*)\.")
_LEADING_ZEROS = re.compile(r"([+-]?)0+(\d+(?:\.\d+)?)")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([, ]\d{3})+(\.\d+)?")
_BASE_PREFIX = re.compile(r"0([XBO])([0-9A-Fa-f_]+)")


@record(frozen=True)
class ValueGuess:
    """The value that was probably meant.

    Attributes:
        problem: What is wrong, continuing a sentence about the place.
        advice: An instruction, without the corrected text.
        text: The corrected value, or None if there is no guess.
        is_safe: True if nothing else can be meant.
    """

    problem: str
    advice: str
    text: str | None = None
    is_safe: bool = False


def guess_value(text: str, key: str) -> ValueGuess:
    """Return a guess at the value that was meant by `text`, which is not TOML, for `key`."""
    folded, shown = text.casefold(), shortened(text)
    if not text:
        return ValueGuess("a value is missing", "write a value after the =")
    if folded in ("true", "false"):
        advice = "write true and false in lower case"
        return ValueGuess(f"{shown} is not a TOML value", advice, folded, is_safe=True)
    if folded in _BOOLS:
        return ValueGuess(f"{shown} is not a TOML value", "write true or false", _BOOLS[folded])
    if folded in _NUMBER_WORDS:
        number = str(_NUMBER_WORDS.index(folded))
        return ValueGuess(f"{shown} is not a TOML value", "write numbers in digits", number)
    if folded in _NULLS:
        advice = "remove the line; what an option inherits is undone by { unset = true }"
        return ValueGuess(f"TOML has no {shown}", advice)
    return _guess_number(text) or _guess_text(text, key)


def _guess_number(text: str) -> ValueGuess | None:
    problem = f"{shortened(text)} is not a TOML number"
    if _LEADING_POINT.fullmatch(text):
        number = text.replace(".", "0.", 1)
        return ValueGuess(problem, "write a digit before the point", number, is_safe=True)
    if match := _TRAILING_POINT.fullmatch(text):
        return ValueGuess(problem, "write a digit after the point", f"{match[1]}.0", is_safe=True)
    if match := _BASE_PREFIX.fullmatch(text):
        number = f"0{match[1].lower()}{match[2]}"
        return ValueGuess(problem, "write the prefix in lower case", number, is_safe=True)
    if match := _LEADING_ZEROS.fullmatch(text):
        return ValueGuess(problem, "remove the leading zeros", match[1] + match[2])
    if _THOUSANDS.fullmatch(text):
        return ValueGuess(problem, "write numbers without separators", re.sub("[, ]", "", text))
    return None


def _guess_text(text: str, key: str) -> ValueGuess:
    shown = shortened(text)
    if match := _PREFIXED.fullmatch(text):
        content = match[1][1:-1]
        return ValueGuess(f"{shown} is not a TOML string", "write strings without a prefix", quoted(content))
    if text[0] == "(" and text[-1] == ")" and key not in _TEXT_KEYS:
        return ValueGuess(
            f"{shown} is not a TOML value", "write arrays in square brackets", f"[{text[1:-1]}]"
        )
    if text[0] == "`" == text[-1] and len(text) > 1:
        return ValueGuess("a string is in backquotes", 'write strings in "..."', quoted(text[1:-1]))
    if text[0] not in "\"'" and text[-1] in "\"'" and text.count(text[-1]) == 1:
        return ValueGuess("a string has no opening quote", "write both quotes", quoted(text[:-1]))
    if "#" in text or "\n" in text or (not is_expression(text) and set("\"'[]{}") & set(text)):
        return ValueGuess(f"{shown} is not a TOML value", 'write text in quotes, as in name = "value"')
    if is_expression(text) and key not in _TEXT_KEYS:
        problem = f"{shown} is an expression, not a value"
        return ValueGuess(problem, "write an expression in a table", f"{{ expr = {quoted(text)} }}")
    return ValueGuess(f"{shown} is not a TOML value", "write text in quotes", quoted(text))


def shortened(text: str) -> str:
    """Return a text for a message, cut if it is long."""
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


def is_expression(text: str) -> bool:
    """Return True if a text looks like an expression: it has operators, or points as in facts."""
    return bool(_DOTTED.fullmatch(text) or _OPERATOR.search(text))


def quoted(text: str) -> str:
    """Return a TOML string; a literal one if that needs no escapes and an ordinary one would."""
    if "'" not in text and ("\\" in text or '"' in text):
        return f"'{text}'"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def key_text(key: str) -> str:
    """Return a part of a key as TOML has it: bare if possible."""
    return key if _PLAIN_KEY.fullmatch(key) else quoted(key)
