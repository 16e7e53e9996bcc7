"""Mistakes in profiles and project files as people make them: what is said of each, and what fixes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import tomli
from command_line import DATA

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


@dataclass(frozen=True, kw_only=True)
class StoredMistake(Mistake):
    """A mistake of a file in `tests/data/mistakes`, which may be several problems.

    Attributes:
        codes: The codes of the problems, each once.
        helps: Their help, each once.
    """

    codes: Sequence[str]
    helps: Sequence[str]

    @property
    def places(self) -> list[tuple[int, int]]:
        """The offset of each underlined text, and its length."""
        found, written = [], self.marked
        while "⟦" in written:
            before, _, rest = written.partition("⟦")
            wrong, _, after = rest.partition("⟧")
            found.append((len(before), max(1, len(wrong))))
            written = before + wrong + after
        return found


def stored_mistakes(name: str) -> list[StoredMistake]:
    """Return the mistakes in a file of `tests/data/mistakes`."""
    document = tomli.loads((DATA / "mistakes" / f"{name}.toml").read_text("utf-8"))
    found = []
    for row in document["mistakes"]:
        quote = row.get("quote", document.get("quote", ""))
        before, after = HEAD + document["before"] + quote, quote + document["after"]
        codes, helps = ([each] if isinstance(each, str) else each for each in (row["code"], row["help"]))
        fixed = row.get("safe", row.get("fixed"))
        found.append(
            StoredMistake(
                name=row["text"],
                marked=before + row["text"] + after,
                code=codes[0],
                help=" ".join(helps),
                fixed=None if fixed is None else before + fixed + after,
                is_safe="safe" in row,
                codes=codes,
                helps=helps,
            )
        )
    return found
