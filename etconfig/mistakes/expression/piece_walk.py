"""`PieceWalk`: a walk over the pieces of a text that breaks the grammar, which collects foreign spellings."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from etconfig.facts.registry import FactInfo, FactType
from etconfig.mistakes.expression.pieces import MAX_DISTANCE, Piece

CLOSING_BRACKETS = {"(": ")", "[": "]", "{": "}"}
"""The bracket that closes each opening one."""

FactFinder: TypeAlias = Callable[[str], "FactInfo | None"]
"""A function that returns the fact of a name, or None."""

_KINDS = frozenset(("operator", "value", "fact", "variable"))


class Spelling(NamedTuple):
    """One spelling that the language does not have.

    Attributes:
        start: Its place in the text.
        end: Its end.
        message: The problem, in a sentence.
        help: What to write.
        replacement: The text to write in its place; None if more of the expression must change.
        is_safe: True if there is no doubt about the meaning.
    """

    start: int
    end: int
    message: str
    help: str
    replacement: str | None = None
    is_safe: bool = True


class PieceWalk:
    """A walk over pieces from left to right, which knows whether a value or an operator is expected.

    Attributes:
        text: The whole text.
        pieces: Its pieces, some of them changed.
        spellings: The foreign spellings found so far.
        open: The brackets that are open.
        index: The current piece.
    """

    def __init__(self, text: str, pieces: list[Piece], find_fact: FactFinder) -> None:
        self.text = text
        self.find_fact = find_fact
        self.pieces = pieces
        self.spellings: list[Spelling] = []
        self.open: list[str] = []
        self.questions = [0]
        self.group_starts = [0]
        self.index = 0
        self.is_operand = True

    def is_list(self, name: str) -> bool:
        """Return True for the name of a fact that is a list."""
        info = self.find_fact(name)
        return info is not None and info.type is FactType.STRING_LIST

    def at(self, index: int) -> str:
        """Return the text of a piece; empty past the end."""
        return self.pieces[index].text if 0 <= index < len(self.pieces) else ""

    def word(self, index: int) -> str:
        """Return the text of a piece in lower case."""
        return self.at(index).casefold()

    def plain(self) -> None:
        """Take a piece that needs no change."""
        piece = self.pieces[self.index]
        text = piece.text
        if text in CLOSING_BRACKETS:
            self.open.append(text)
            self.questions.append(0)
            self.group_starts.append(self.index + 1)
            self.is_operand = True
        elif text in (")", "]", "}"):
            self.is_operand = False
            if self.open:
                self.open.pop()
                self.questions.pop()
                self.group_starts.pop()
        elif piece.is_value:
            self.is_operand = False
        elif text not in (".", ""):
            self.is_operand = True
            self.questions[-1] += {"?": 1, ":": -1}.get(text, 0)
            if text in (",", "?", ":"):
                self.group_starts[-1] = self.index + 1
        else:
            self.is_operand = text == "." or self.is_operand
        self.index += 1

    def found(
        self,
        last: int,
        replacement: str | None,
        help: str,
        *,
        what: str = "operator",
        is_safe: bool = True,
    ) -> bool:
        """Record the spelling from the current piece to piece `last`; always True."""
        start, end = self.pieces[self.index].start, self.pieces[last].end
        written = repr(self.text[start:end])
        message = f"there is no {what} {written}" if what in _KINDS else f"{written} is not {what}"
        self.note(start, end, message, help, replacement, is_safe=is_safe)
        return True

    def note(
        self, start: int, end: int, message: str, help: str, replacement: str | None, *, is_safe: bool = True
    ) -> None:
        """Record a spelling."""
        self.spellings.append(Spelling(start, end, message, help, replacement, is_safe))

    def write(self, index: int, text: str) -> None:
        """Change the text of a piece."""
        self.pieces[index] = self.pieces[index].written(text)

    def add_tail(self, index: int, tail: str) -> None:
        """Write something after a piece."""
        self.pieces[index] = self.pieces[index]._replace(tail=self.pieces[index].tail + tail)

    def clear(self, first: int, last: int) -> None:
        """Remove the texts of pieces."""
        for index in range(first, last + 1):
            self.write(index, "")

    def joined(self, last: int, text: str) -> bool:
        """Write one text in place of the pieces up to `last`, and go on behind them."""
        self.write(self.index, text)
        self.clear(self.index + 1, last)
        self.index, self.is_operand = last + 1, False
        return True

    def starts_value(self, index: int) -> bool:
        """True if a value starts at a piece."""
        return index < len(self.pieces) and (self.pieces[index].is_value or self.at(index) in ("(", "[", "-"))

    def is_call(self) -> bool:
        """True if the innermost bracket that is open belongs to a call."""
        if not self.open:
            return False
        return self.pieces[self.group_starts[-1] - 2].kind == "name" if self.group_starts[-1] >= 2 else False

    def find(self, word: str, start: int) -> int:
        """Return the first piece that is this word, outside of brackets that open later, or 0."""
        depth = 0
        for index in range(start, min(len(self.pieces), start + MAX_DISTANCE)):
            text = self.at(index)
            depth += (text in CLOSING_BRACKETS) - (text in (")", "]", "}"))
            if depth < 0:
                return 0
            if depth == 0 and text.casefold() == word:
                return index
        return 0

    def commas(self, bracket: int) -> list[int]:
        """Return the commas directly inside a bracket."""
        depth, found = 0, []
        for index in range(bracket, min(len(self.pieces), bracket + MAX_DISTANCE)):
            text = self.at(index)
            depth += (text in CLOSING_BRACKETS) - (text in (")", "]", "}"))
            if depth == 0:
                break
            if depth == 1 and text == ",":
                found.append(index)
        return found
