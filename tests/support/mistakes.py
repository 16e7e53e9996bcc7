"""Mistakes in profiles and project files as people make them: what is said of each, and what fixes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

HEAD = '[profile]\nname = "acme/board"\n'
NPU = "[options.ReferenceNpuBackend]\n"
CPU = "[options.ReferenceCpuBackend]\n"
WHEN = "[[when]]\nif = 'power.source == \"battery\"'\n"


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """A file with one mistake.

    Attributes:
        name: The mistake, in words.
        marked: The text, in which the characters that the diagnostic underlines are between ⟦ and ⟧.
        code: The code of the diagnostic.
        help: A part of its help.
        fixed: The text after the fix, which is valid; None if there is no fix.
        is_safe: True if the fix needs no `--unsafe-fixes`.
        file: The name of the file.
    """

    name: str
    marked: str
    code: str
    help: str
    fixed: str | None = None
    is_safe: bool = False
    file: str = "board.toml"

    @property
    def text(self) -> str:
        """The text with the mistake."""
        return self.marked.replace("⟦", "").replace("⟧", "")

    @property
    def place(self) -> tuple[int, int, str]:
        """Line, column and text of the wrong characters; those of the first line if there are more."""
        before, _, rest = self.marked.partition("⟦")
        wrong = rest.partition("⟧")[0].split("\n")[0]
        return before.count("\n") + 1, len(before) - before.rfind("\n"), wrong


Line = tuple[str, str, str, "str | None"]
"""A name, a marked line, a part of the help, and the fixed line."""


def mistaken_lines(
    code: str, before: str, lines: Sequence[Line], *, is_safe: bool = False, file: str = "board.toml"
) -> Iterator[Mistake]:
    """Yield the mistakes of single lines, each below the text `before`."""
    for name, marked, help, fixed in lines:
        yield Mistake(
            name=name,
            marked=f"{before}{marked}\n",
            code=code,
            help=help,
            fixed=None if fixed is None else f"{before}{fixed}\n",
            is_safe=is_safe and fixed is not None,
            file=file,
        )
