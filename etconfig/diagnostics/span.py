"""`Span`: a place in a text."""

from __future__ import annotations

from etconfig.base.records import record


@record(frozen=True, kw_only=True)
class Span:
    """A piece of one line of a text.

    Attributes:
        file: Path or name of the text (`ETCONFIG_SET`, `--set`).
        line: 1-based line.
        column: 1-based column of the first character, counted in characters.
        length: Number of characters to underline, at least 1.
        text: The whole line, so that a renderer need not read the file again.
    """

    file: str
    line: int = 1
    column: int = 1
    length: int = 1
    text: str | None = None

    @property
    def place(self) -> str:
        """`file:line:column`; editors turn it into a link."""
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def underlined(self) -> str | None:
        """The underlined characters, or None if the line's text is unknown."""
        return None if self.text is None else self.text[self.column - 1 :][: self.length]
