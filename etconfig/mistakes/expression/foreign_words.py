"""Words and signs of other languages, such as `and`, `True` and `4GB`, and what to write for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple, TypeAlias

_MAX_SPELLINGS = 32
"""The most spellings that are found in one expression."""

_NAME = r"[A-Za-z_]\w* (?: \. (?: [A-Za-z_]\w* | [0-9]+ | <\w+> ) )*"
_PIECE = re.compile(
    rf"""
      (?P<string>    "(?: [^"\\\n] | \\[^\n] )*" | '(?: [^'\\\n] | \\[^\n] )*' )
    | (?P<curly>     [\u201c\u201d\u201e][^\u201c\u201d\u201e"'\\]*[\u201c\u201d]
                   | [\u2018\u2019][^\u2018\u2019"'\\]*\u2019 )
    | (?P<null>      (?P<fact> {_NAME} ) \s* (?P<equal> ===? | !==? | <> | = | \bis\s+not\b | \bis\b ) \s*
                     (?i: none | null | nil | undefined ) \b )
    | (?P<indexed>   {_NAME} \[ [0-9]+ \] (?: \. [A-Za-z_]\w* )* )
    | (?P<variable>  \$ \{{ {_NAME} \}} | \{{\{{ \s* {_NAME} \s* \}}\}} | \$ {_NAME} )
    | (?P<size>      [0-9]+ (?: \.[0-9]+ )? \ ? (?: [kKMGT]i?B | B ) \b )
    | (?P<percent>   [0-9]{{1,9}} (?: \.[0-9]{{1,9}} )? \ ? % (?= \s* (?: [)\],?:&|] | and\b | or\b | $ ) ) )
    | (?P<grouped>   [0-9]+ (?: _[0-9]+ )+ \b )
    | (?P<words>     \b (?i: is\s+not ) \b )
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
_POWERS = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4}
_WORDS = frozenset(("and", "or", "andalso", "orelse", "not"))
_LEVELS = {
    **dict.fromkeys(("?", ":", ","), 0),
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 3),
    "not": 4,
}
"""How strongly operators bind in this language, and `not` as it is written in it."""
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(B|[kKMGT]i?B)")

IsFact: TypeAlias = Callable[[str], bool]
"""A function that returns True for the name of a fact."""


class Spelling(NamedTuple):
    """One spelling that the language does not have.

    Attributes:
        start: Its place in the text.
        end: Its end.
        message: The problem, in a sentence.
        help: What to write.
        is_safe: True if there is no doubt about the meaning.
    """

    start: int
    end: int
    message: str
    help: str
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
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    number, unit = match.groups()
    base, power = (1024 if "i" in unit else 1000), _POWERS.get(unit[0], 0)
    if "." in number:
        return str(int(Fraction(number) * base**power))
    return " * ".join([number, *[str(base)] * power])


def respell(text: str, is_fact: IsFact) -> tuple[list[Piece], list[Spelling]]:
    """Replace foreign spellings.

    Args:
        text: The expression.
        is_fact: Returns True for the name of a fact.

    Returns:
        The pieces of the new text, and the spellings, of which there may be none.
    """
    pieces = _pieces(text)
    spellings: list[Spelling] = []
    after_value = False
    for index, piece in enumerate(pieces):
        if piece.kind == "blank" or len(spellings) == _MAX_SPELLINGS:
            continue
        # a negation puts a bracket into a later place of the list
        found = _operator(piece) if after_value else _value(pieces, index, text, is_fact)
        if found is not None:
            spelling, written = found
            spellings.append(spelling)
            pieces[index] = pieces[index]._replace(text=written)
        is_operator = piece.kind in ("operator", "words") or (after_value and found is not None)
        is_prefix = found is not None and found[1].startswith("!") and piece.kind == "name"
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
    pieces: list[Piece] = []
    for match in _PIECE.finditer(text):
        kind = match.lastgroup or ""
        kind = "null" if kind == "equal" or match["null"] else kind
        pieces.append(Piece(kind, match.start(), match.end(), match[0]))
    return pieces


_Found: TypeAlias = "tuple[Spelling, str] | None"


def _operator(piece: Piece) -> _Found:
    word = " ".join(piece.text.casefold().split())
    right = _OPERATORS.get(word)
    if right is None or right == piece.text:
        return None
    message, help = f"there is no operator {piece.text!r}", f"write {right} for {piece.text!r}"
    return Spelling(piece.start, piece.end, message, help), right


def _value(pieces: list[Piece], index: int, text: str, is_fact: IsFact) -> _Found:
    """Return what is written for a foreign value, or for `not`; None if the piece is right or unknown."""
    piece = pieces[index]
    written, word = piece.text, piece.text.casefold()
    following = _beside(pieces, index, 1)
    if word in ("true", "false") and written != word and following != "(":
        return _found(piece, "value", word)
    if piece.kind == "curly":
        quoted = f'"{written[1:-1]}"'
        message = f"{written!r} is not a string"
        return Spelling(piece.start, piece.end, message, f"write {quoted} with straight quotes"), quoted
    if word == "not" and following:
        return _negation(pieces, index, text)
    if piece.kind == "null":
        match = _PIECE.match(text, piece.start)
        assert match is not None
        sign = "" if "!" in match["equal"] or "<" in match["equal"] or "not" in match["equal"] else "!"
        right = f"{sign}has({match['fact']})"
        message = f"there is no value {written.split()[-1].lstrip('=!<>')!r}"
        return Spelling(piece.start, piece.end, message, f"write {right}", is_safe=False), right
    if piece.kind == "indexed":
        right = written.replace("[", ".").replace("]", "")
        return _found(piece, "fact", right) if is_fact(right) else None
    if piece.kind == "variable":
        return _found(piece, "variable", written.strip("${} \t"))
    if piece.kind == "name" and "<" in written:
        return _found(piece, "fact", re.sub(r"<\w+>", "0", written), is_safe=False)
    return _number(pieces, index)


def _number(pieces: list[Piece], index: int) -> _Found:
    piece = pieces[index]
    why, is_safe = "", False
    if piece.kind == "size":
        right = size_in_bytes(piece.text) or ""
        right = f"({right})" if "*" in right and _beside(pieces, index, -1) in ("/", "%") else right
        why = ": numbers have no units, and sizes are in bytes"
    elif piece.kind == "percent":
        right, why = repr(round(float(piece.text.rstrip("% ")) / 100, 12)), ": there is no percent sign"
    elif piece.kind == "grouped":
        right, is_safe = piece.text.replace("_", ""), True
    else:
        return None
    message = f"{piece.text!r} is not a number"
    return Spelling(piece.start, piece.end, message, f"write {right}{why}", is_safe), right


def _found(piece: Piece, what: str, right: str, *, is_safe: bool = True) -> _Found:
    message = f"there is no {what} {piece.text!r}"
    return Spelling(piece.start, piece.end, message, f"write {right}", is_safe), right


def _beside(pieces: list[Piece], index: int, step: int) -> str:
    """Return the text of the next piece in a direction that is not a blank; empty if there is none."""
    index += step
    while 0 <= index < len(pieces) and pieces[index].kind == "blank":
        index += step
    return pieces[index].text if 0 <= index < len(pieces) else ""


def _negation(pieces: list[Piece], index: int, text: str) -> _Found:
    """Return `!` for `not`; around a comparison with brackets, of which the closing one is put behind it."""
    piece, depth, last, operands = pieces[index], 0, index, 0
    for place in range(index + 1, len(pieces)):
        each = pieces[place]
        depth += (each.text in ("(", "[")) - (each.text in (")", "]"))
        if depth < 0 or (depth == 0 and _level(each.text.casefold()) in (0, 1, 2)):
            break
        if each.kind != "blank":
            last = place
            operands += depth == 0 and each.text not in (")", "]", "!")
    first = index + 1
    if pieces[first].kind == "blank":
        pieces[first] = pieces[first]._replace(text="")
        first += 1
    message = f"there is no operator {piece.text!r}"
    if operands <= 1:
        return Spelling(piece.start, pieces[first].start, message, f"write ! for {piece.text!r}"), "!"
    inside = text[pieces[first].start : pieces[last].end]
    pieces.insert(last + 1, Piece("operator", pieces[last].end, pieces[last].end, ")"))
    return Spelling(piece.start, piece.end, message, f"write !({inside})"), "!("
