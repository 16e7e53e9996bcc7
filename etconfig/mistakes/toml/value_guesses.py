"""Guesses at the TOML value that was meant by a text that is not one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from etconfig.base.records import record

_BOOLS: Mapping[str, str] = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_NULLS = ("none", "null", "nil", "undefined", "~")
_TEXT_KEYS = ("name", "extends", "description", "match", "profile", "method", "if", "prefer", "allow", "deny")
_MAX_SHOWN = 60
_PLAIN_KEY = re.compile(r"[\w-]+", re.ASCII)

_DOTTED = re.compile(r"[a-z_]\w*(\.\w+)+", re.ASCII)
_OPERATOR = re.compile(r"&&|\|\||[=!<>]=|\s[<>*/%+?-]\s|\d[*/+]\d|[a-z]\(|\s(and|or|in)\s")
_NUMBER = re.compile(r"[+-]?[\d.][\d., _]*|0[XBO]\w+", re.ASCII)


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
    if folded in _NULLS:
        advice = "remove the line; what an option inherits is undone by { unset = true }"
        return ValueGuess(f"TOML has no {shown}", advice)
    if _NUMBER.fullmatch(text):
        advice = "write decimal digits, on both sides of a point, as in 0.5 or 1000000"
        return ValueGuess(f"{shown} is not a TOML number", advice)
    problem, is_formula = f"{shown} is not a TOML value", is_expression(text)
    if "#" in text or "\n" in text or (not is_formula and set("\"'`[](){}") & set(text)):
        advice = 'write text in quotes, as in name = "value", and arrays in square brackets'
        return ValueGuess(problem, advice)
    if is_formula and key not in _TEXT_KEYS:
        problem = f"{shown} is an expression, not a value"
        return ValueGuess(problem, "write an expression in a table", f"{{ expr = {quoted(text)} }}")
    return ValueGuess(problem, "write text in quotes", quoted(text))


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
