"""The values of literals' tokens."""

from __future__ import annotations

import re

from etconfig.expression.lexer import Token
from etconfig.expression.operations import INT_MAX, INT_MIN
from etconfig.expression.source import ExpressionSource

_ESCAPE = re.compile(
    r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)
_OCTAL, _CHARACTER = 4, 5
_CHARACTERS = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    **{character: character for character in "\\?\"'`"},
}


def int_value(source: ExpressionSource, token: Token, sign: int) -> int:
    """Return the value of an int token after `sign`, 1 or -1.

    Raises:
        ProfileError: it does not fit in 64 bits.
    """
    value = sign * int(token.text, 16 if token.text[:2] in ("0x", "0X") else 10)
    if not INT_MIN <= value <= INT_MAX:
        raise source.error("this int does not fit in 64 bits", token.start, token.end)
    return value


def string_value(source: ExpressionSource, token: Token) -> str:
    """Return the value of a string token, its escapes replaced.

    Raises:
        ProfileError: an escape is not one of CEL's, or does not name a character.
    """

    def replacement(match: re.Match[str]) -> str:
        digits = match.group(match.lastindex or 0)
        if match.lastindex == _CHARACTER:
            character = _CHARACTERS.get(digits)
        else:
            character = _character(int(digits, 8 if match.lastindex == _OCTAL else 16))
        if character is None:
            start = token.start + 1 + match.start()
            problem = f"{match.group()!r} is not an escape sequence"
            help = r"write \\ for a backslash; \n, \t, \" and \u00e9 are escapes too"
            raise source.error(problem, start, start + len(match.group()), help=help)
        return character

    return _ESCAPE.sub(replacement, token.text[1:-1])


def _character(code_point: int) -> str | None:
    is_surrogate = 0xD800 <= code_point <= 0xDFFF
    return None if is_surrogate or code_point > 0x10FFFF else chr(code_point)
