"""Words and signs of other languages, such as `and`, `True` and `4GB`, and what to write for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from etconfig.mistakes.fact_guesses import size_of

_MAX_SPELLINGS = 32
"""The most spellings that are found in one expression."""

_NAME = r"[A-Za-z_]\w* (?: \. (?: [A-Za-z_]\w* | [0-9]+ ) )*"
_PIECE = re.compile(
    rf"""
      (?P<string>    "(?: [^"\\\n] | \\[^\n] )*" | '(?: [^'\\\n] | \\[^\n] )*' )
    | (?P<curly>     [\u201c\u201d\u201e][^\u201c\u201d\u201e"'\\]*[\u201c\u201d]
                   | [\u2018\u2019][^\u2018\u2019"'\\]*\u2019 )
    | (?P<size>      [0-9]+ (?: \.[0-9]+ )? \ ? (?: [kKMGT]i?B | B ) \b )
    | (?P<percent>   [0-9]{{1,9}} (?: \.[0-9]{{1,9}} )? \ ? % (?= \s* (?: [)\],?:&|] | and\b | or\b | $ ) ) )
    | (?P<grouped>   [0-9]+ (?: _[0-9]+ )+ \b )
    | (?P<words>     \b (?i: is\s+not ) \b )
    | (?P<not>       \b (?i: not ) \b (?: \s+ (?=\S) )? )
    | (?P<name>      {_NAME} )
    | (?P<number>    [0-9.][\w.]* )
    | (?P<operator>  === | !== | =~ | =!(?!=) | [=!<>]= | => | =< | <> | && | \|\| | [^\s\w] )
    | (?P<blank>     \s+ )
    """,
    re.VERBOSE | re.ASCII,
)
_OPERATORS = {
    **dict.fromkeys(("and", "&", "andalso"), "&&"),
    **dict.fromkeys(("or", "|", "orelse"), "||"),
    **dict.fromkeys(("=", "===", "is", "eq", "equals"), "=="),
    **dict.fromkeys(("!==", "<>", "=!", "ne", "\u2260", "is not"), "!="),
    **dict.fromkeys(("=>", "\u2265", "ge", "gte"), ">="),
    **dict.fromkeys(("=<", "\u2264", "le", "lte"), "<="),
    "gt": ">",
    "lt": "<",
    "in": "in",
    "\u00d7": "*",
    "\u00f7": "/",
}
"""Operators by their spelling elsewhere, in lower case."""
_WORDS = frozenset(("and", "or", "andalso", "orelse", "not"))
_LEVELS = {
    **dict.fromkeys(("?", ":", ","), 0),
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 3),
    "not": 4,
}
"""How strongly operators bind in this language, and `not` as it is written in it."""


class Spelling(NamedTuple):
    """One spelling that the language does not have.

    Attributes:
        start: Its place in the text.
        end: Its end.
        message: The problem, in a sentence.
        right: The text to write.
        why: The end of the instruction to write it.
        is_safe: True if there is no doubt about the meaning.
    """

    start: int
    end: int
    message: str
    right: str
    why: str = ""
    is_safe: bool = True


class Piece(NamedTuple):
    """A piece of a text, and what is written for it.

    Attributes:
        kind: The kind of the piece, a group of the pattern above.
        start: Offset of its first character.
        end: Offset past its last one.
        text: The text to write.
    """

    kind: str
    start: int
    end: int
    text: str


def size_in_bytes(text: str) -> str | None:
    """Return the number for a size such as `4GiB`, as an expression; None for another text."""
    size = size_of(text)
    if size is None:
        return None
    number, base, power = size
    if "." in number:
        return str(int(Fraction(number) * base**power))
    return " * ".join([number, *[str(base)] * power])


def respell(text: str) -> tuple[list[Piece], list[Spelling]]:
    """Return the pieces of an expression with foreign spellings replaced, and these spellings."""
    pieces = _pieces(text)
    spellings: list[Spelling] = []
    after_value = False
    for index, piece in enumerate(pieces):
        if piece.kind == "blank" or len(spellings) == _MAX_SPELLINGS:
            continue
        found = _operator(piece) if after_value else _value(pieces, index)
        if found is not None:
            spellings.append(found)
            pieces[index] = piece._replace(text=found.right)
        is_operator = piece.kind in ("operator", "words") or (after_value and found is not None)
        is_prefix = found is not None and piece.kind == "not"
        after_value = piece.text in (")", "]", "}") or not (is_operator or is_prefix or piece.text == "in")
    return pieces, spellings


def other_readings(text: str) -> Iterator[str]:
    """Yield an expression with brackets where languages that have its operators may see them.

    `|` and `&` may bind more strongly than any other operator, and signs more strongly than words.
    """
    pieces = [piece for piece in _pieces(text) if piece.kind != "blank"]
    words = [" ".join(piece.text.casefold().split()) for piece in pieces]
    levels = [_level(word) for word in words]
    for index, word in enumerate(words):
        if word not in ("|", "&", "||", "&&", "?"):
            continue
        ends = [_end_of_operand(words, levels, index, step) for step in (-1, 1)]
        if any(0 <= end < len(pieces) and levels[end] > levels[index] for end in ends):
            start, end = pieces[ends[0] + 1].start, pieces[ends[1] - 1].end
            yield f"{text[:start]}({text[start:end]}){text[end:]}"


def _end_of_operand(words: list[str], levels: list[int], index: int, step: int) -> int:
    """Return the place before or after an operand of a sign in another language."""
    sign, depth, place = words[index], 0, index + step
    while 0 <= place < len(words):
        word, level = words[place], levels[place]
        depth += step * ((word in ("(", "[")) - (word in (")", "]")))
        if depth < 0:
            break
        if depth == 0 and level >= 0 and (word != "not" or step < 0):
            is_bit_operator = sign in ("|", "&") and (sign, word) != ("|", "&")
            is_weaker = level <= levels[index] and (sign != "?" or word == ",")
            if is_bit_operator or is_weaker or word in _WORDS:
                break
        place += step
    return place


def _level(word: str) -> int:
    """Return how strongly an operator binds in this language; -1 for another piece, or arithmetic."""
    return _LEVELS.get(_OPERATORS.get(word, word), -1)


def _pieces(text: str) -> list[Piece]:
    return [
        Piece(match.lastgroup or "", match.start(), match.end(), match[0]) for match in _PIECE.finditer(text)
    ]


def _operator(piece: Piece) -> Spelling | None:
    word = " ".join(piece.text.casefold().split())
    right = _OPERATORS.get(word)
    if right is None or right == piece.text:
        return None
    message, why = f"there is no operator {piece.text!r}", f" for {piece.text!r}"
    return Spelling(piece.start, piece.end, message, right, why)


def _value(pieces: list[Piece], index: int) -> Spelling | None:
    """Return what is written for a foreign value, or for `not`; None if the piece is right or unknown."""
    piece = pieces[index]
    written, word = piece.text.strip(), piece.text.casefold()
    problem, why, is_safe = f"there is no value {written!r}", "", True
    if word in ("true", "false") and written != word and _beside(pieces, index, 1) != "(":
        right = word
    elif piece.kind == "not" and index + 1 < len(pieces):
        problem, right, why = f"there is no operator {written!r}", "!", f" for {written!r}"
    elif piece.kind == "curly":
        problem, right, why = f"{written!r} is not a string", f'"{written[1:-1]}"', " with straight quotes"
    elif piece.kind == "size":
        right, is_safe = size_in_bytes(written) or "", False
        right = f"({right})" if "*" in right and _beside(pieces, index, -1) in ("/", "%") else right
        problem, why = f"{written!r} is not a number", ": numbers have no units, and sizes are in bytes"
    elif piece.kind == "percent":
        right, is_safe = repr(round(float(written.rstrip("% ")) / 100, 12)), False
        problem, why = f"{written!r} is not a number", ": there is no percent sign"
    elif piece.kind == "grouped":
        problem, right = f"{written!r} is not a number", written.replace("_", "")
    else:
        return None
    return Spelling(piece.start, piece.end, problem, right, why, is_safe)


def _beside(pieces: list[Piece], index: int, step: int) -> str:
    """Return the text of the next piece in a direction that is not a blank; empty if there is none."""
    index += step
    while 0 <= index < len(pieces) and pieces[index].kind == "blank":
        index += step
    return pieces[index].text if 0 <= index < len(pieces) else ""
