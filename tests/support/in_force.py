"""The table in the README of an engine's plugin: how `effective` knows each option, and its effect."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

_HEAD = re.compile(r"^\| options \| `effective` \| its effect, as tests see it \|\n\|[-|]+\n", re.MULTILINE)
NOTHING = "-"
"""The cell of options whose effect no test sees."""


class Row(NamedTuple):
    """The sources of an option in the table, and what shows its effect."""

    sources: tuple[str, ...]
    effect: str


def table_of(readme: Path) -> dict[str, Row]:
    """Return the table by option; each must be in one row."""
    text = readme.read_text(encoding="utf-8")
    head = _HEAD.search(text)
    assert head is not None, f"{readme} has no table of what is in force"
    found: dict[str, Row] = {}
    for line in text[head.end() :].partition("\n\n")[0].splitlines():
        names, sources, effect = (cell.strip() for cell in line.strip("|").split("|"))
        for name in re.findall(r"`(\w+)`", names):
            assert name not in found, f"{name} is in two rows"
            found[name] = Row(tuple(sources.split(" or ")), effect)
    return found


def check_names(table: dict[str, Row], options: Iterable[str], measured: Collection[str]) -> None:
    """Check that the table has every option, and an effect for those that a test measures."""
    assert table.keys() == {*options}
    assert {name for name, row in table.items() if row.effect != NOTHING} == {*measured}
