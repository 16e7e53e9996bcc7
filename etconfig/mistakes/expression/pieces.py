"""Pieces of a text that breaks the grammar: words, numbers, strings and operators, also foreign ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_PIECE = re.compile(
    r"""
    (?P<lead> \s* ) (?:
      (?P<string>    "(?: [^"\\\n] | \\[^\n] )*" | '(?: [^'\\\n] | \\[^\n] )*' )
    | (?P<curly>     [\u201c\u201d\u201e][^\u201c\u201d\u201e"'\\]*[\u201c\u201d]
                   | [\u2018\u2019][^\u2018\u2019"'\\]*\u2019 )
    | (?P<name>      [A-Za-z_]\w* (?: \. (?: [A-Za-z_]\w* | [0-9]+ | <\w+> ) )* )
    | (?P<number>    (?: [0-9]*\.[0-9]+ (?: [eE][+-]?[0-9]+ )? | [0-9]+[eE][+-]?[0-9]+ ) (?![\w.])
                   | [0-9][\w.]* )
    | (?P<operator>  === | !== | =~ | [=!<>]= | => | =< | <> | && | \|\| | // | [^\s\w"'] )
    )
    """,
    re.VERBOSE | re.ASCII,
)
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_WORD_ENDS = frozenset(("and", "or", "then", "else", "if", "andalso", "orelse"))
_ENDS = frozenset(("&&", "||", "?", ":", ",", ";", "&", "|"))

MAX_DISTANCE = 64
"""The most pieces between two that belong together, such as `if` and `else`: looking for each takes time."""


class Piece(NamedTuple):
    """One piece of a text.

    Attributes:
        kind: `string`, `curly`, `name`, `number` or `operator`.
        text: As it is to be written; at first as it is written.
        start: Offset of its first character in the text.
        end: Offset past its last one.
        lead: The blanks before it.
        head: What to write between the blanks and the text.
        tail: What to write after it.
    """

    kind: str
    text: str
    start: int
    end: int
    lead: str
    head: str = ""
    tail: str = ""

    @property
    def is_value(self) -> bool:
        """True for a name or a literal."""
        return self.kind != "operator" and self.text not in ("", "in")

    @property
    def is_adjacent(self) -> bool:
        """True if no blank comes before it."""
        return not self.lead

    def written(self, text: str) -> Piece:
        """Return the piece with another text; the blanks before an empty one go too."""
        is_word = text[:1].isalnum() or text[:1] in ("_", '"', "'")
        return self._replace(
            kind=self.kind if is_word else "operator", text=text, lead=self.lead if text else ""
        )

    @property
    def output(self) -> str:
        """The text with all that is written around it."""
        return f"{self.lead}{self.head}{self.text}{self.tail}"

    def attached(self) -> Piece:
        """Return the piece without the blanks before it."""
        return self._replace(lead="")


def split_pieces(text: str) -> list[Piece] | None:
    """Return the pieces of a text; None if it has a string that does not end."""
    pieces: list[Piece] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _PIECE.match(text, position)
        if match is None:
            return None
        kind = match.lastgroup or ""
        pieces.append(Piece(kind, match.group(kind), match.start(kind), match.end(), match.group("lead")))
        position = match.end()
    return pieces


def operand_end(pieces: Sequence[Piece], first: int) -> int:
    """Return the index of the last piece of the operand that starts at `first`."""
    last = first
    while last + 1 < len(pieces) and pieces[last].text in ("!", "-"):
        last += 1
    if pieces[last].text in _OPENING:
        last = _closing(pieces, last)
    while last + 1 < len(pieces) and pieces[last + 1].text == "(" and pieces[last].kind == "name":
        last = _closing(pieces, last + 1)
    return min(last, len(pieces) - 1)


def group_end(pieces: Sequence[Piece], first: int) -> int:
    """Return the index of the last piece before the next `&&`, `||`, `,` or the like outside of brackets."""
    depth = 0
    for index in range(first, len(pieces)):
        piece = pieces[index]
        if piece.text in _OPENING:
            depth += 1
        elif piece.text in _CLOSING:
            depth -= 1
        is_end = piece.text in _ENDS or (piece.kind == "name" and piece.text.casefold() in _WORD_ENDS)
        if depth < 0 or (depth == 0 and is_end):
            return index - 1
    return len(pieces) - 1


def matching_bracket(pieces: Sequence[Piece], first: int) -> int | None:
    """Return the index of the bracket that closes the one at `first`, or None."""
    depth = 0
    for index in range(first, min(len(pieces), first + MAX_DISTANCE)):
        depth += (pieces[index].text in _OPENING) - (pieces[index].text in _CLOSING)
        if depth == 0:
            return index
    return None


def _closing(pieces: Sequence[Piece], first: int) -> int:
    found = matching_bracket(pieces, first)
    return len(pieces) - 1 if found is None else found
