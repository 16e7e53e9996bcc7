"""Spellings of other languages, such as `and`, `True` and `4GB`, and how the condition language writes them.

This module is imported only for texts that are wrong.
"""

from __future__ import annotations

from typing import NamedTuple

from etconfig.mistakes.expression.foreign_operators import ForeignOperators
from etconfig.mistakes.expression.foreign_values import ForeignValues
from etconfig.mistakes.expression.piece_walk import CLOSING_BRACKETS, FactFinder, Spelling
from etconfig.mistakes.expression.pieces import Piece, split_pieces

MAX_SPELLINGS = 32
"""The most spellings that are found in one expression."""

_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))


class Respelled(NamedTuple):
    """A text in which foreign spellings are replaced.

    Attributes:
        pieces: The pieces of the new text, with the places from which they come.
        spellings: The spellings that were replaced.
    """

    pieces: list[Piece]
    spellings: list[Spelling]


def respell(text: str, find_fact: FactFinder) -> Respelled | None:
    """Replace foreign spellings; None if there are none, or if a string does not end.

    Args:
        text: The expression.
        find_fact: Returns the fact of a name, or None.
    """
    pieces = split_pieces(text)
    if pieces is None:
        return None
    reader = _Respeller(text, pieces, find_fact)
    reader.read()
    return Respelled(reader.pieces, reader.spellings) if reader.spellings else None


class _Respeller(ForeignValues, ForeignOperators):
    """Reads pieces from left to right, and changes those that are foreign."""

    def read(self) -> None:
        while self.index < len(self.pieces) and len(self.spellings) < MAX_SPELLINGS:
            if not (self.operand() if self.is_operand else self.operator()):
                self.plain()
        if self.open and self.index == len(self.pieces) and self.pieces:
            self.close_brackets()

    def close_brackets(self) -> None:
        """Close the brackets that are open at the end."""
        missing = "".join(CLOSING_BRACKETS[bracket] for bracket in reversed(self.open))
        message = f"{self.open[-1]!r} is not closed"
        last = self.comparison_in_call() if len(self.open) == 1 else 0
        last = last - 1 if last else len(self.pieces) - 1
        end = self.pieces[last].end
        where = "at the end" if last == len(self.pieces) - 1 else f"before {self.at(last + 1)!r}"
        self.note(end, end, message, f"add {missing} {where}", None, is_safe=False)
        self.add_tail(last, missing)

    def comparison_in_call(self) -> int:
        """Return the first comparison in the innermost call that is open: it does not belong there; or 0."""
        if not self.is_call():
            return 0
        first = self.group_starts[-1]
        comparisons = (index for index in range(first, len(self.pieces)) if self.at(index) in _COMPARISONS)
        return next(comparisons, 0)
