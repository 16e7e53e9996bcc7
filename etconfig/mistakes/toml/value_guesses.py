"""Guesses at the TOML value that was meant by a text that is not one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_BOOLS: Mapping[str, str] = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_NULLS = ("none", "null", "nil", "undefined", "~")
_TEXT_KEYS = ("name", "extends", "description", "match", "profile", "method", "if", "prefer", "allow", "deny")
_FORMS = 'write text in quotes, numbers as 0.5 or 1000, arrays as [1, 2], expressions as { expr = "..." }'
_MAX_SHOWN = 60
_PLAIN_KEY = re.compile(r"[\w-]+", re.ASCII)
_TEXT = re.compile(r"(?![+-]?[\d.])[^\s#\"'`\[\](){}<>=!?*%&|+,]+( [A-Za-z][\w-]*)*")
"""A word, a name, a path or several words, and neither a number nor an expression."""


class ValueGuess(NamedTuple):
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
    folded, problem = text.casefold(), f"{shortened(text)} is not a TOML value"
    if not text:
        return ValueGuess("a value is missing", "write a value after the =")
    if folded in ("true", "false"):
        return ValueGuess(problem, "write true and false in lower case", folded, is_safe=True)
    if folded in _BOOLS:
        return ValueGuess(problem, "write true or false", _BOOLS[folded])
    if folded in _NULLS:
        return ValueGuess(problem, "remove the line; what an option inherits is undone by { unset = true }")
    if _TEXT.fullmatch(text) or (key in _TEXT_KEYS and not set("#`[]{}\n") & set(text)):
        return ValueGuess(problem, "write text in quotes", quoted(text))
    return ValueGuess(problem, _FORMS)


def shortened(text: str) -> str:
    """Return a text for a message, cut if it is long."""
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


def quoted(text: str) -> str:
    """Return a TOML string; a literal one if that needs no escapes and an ordinary one would."""
    if "'" not in text and ("\\" in text or '"' in text):
        return f"'{text}'"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def key_text(key: str) -> str:
    """Return a part of a key as TOML has it: bare if possible."""
    return key if _PLAIN_KEY.fullmatch(key) else quoted(key)
