"""Texts that would control a terminal, break a line or command a CI service, and what must not be printed."""

from __future__ import annotations

import random
import re

_PARTS = (
    "\n::warning file=a.py::owned",
    "\r::error::x",
    "::set-output name=a::b",
    " \t::stop-commands::x",
    "\u00a0::notice::x",
    "##[error]x",
    "a##vso[task.setvariable variable=x]y",
    "\n##teamcity[buildStatus text='x']",
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x1b[31m::error::red",
    "\x9b2J",
    "\x85::debug::x",
    "\u2028::error::x",
    "\u202egnp.exe",
    "\u2066a\u2069",
    "\u200e\u200f",
    "\x7f\x08",
    "\x00",
    "%0A::error::x",
    "\\n::error::x",
    "'\"]\n[options.X]",
    "\N{GRINNING FACE}é",
    "$(id)`id`",
    "{0}%s%n",
    "[bold]x[/bold]",
)

FORBIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\u200e\u200f\ud800-\udfff]"
)
"""Everything that no command may print, unless it is the color or the layout of etconfig itself."""

COMMAND = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)
"""A workflow command, as GitHub's runner recognizes it, and those of other services."""


def hostile_texts(count: int, seed: int = 0) -> list[str]:
    """Return different texts made of one to four hostile parts."""
    chosen = random.Random(seed)
    texts: dict[str, None] = dict.fromkeys(_PARTS)
    while len(texts) < count:
        parts = (chosen.choice(_PARTS) for _ in range(chosen.randint(1, 4)))
        texts["x".join(parts) + str(len(texts))] = None
    return list(texts)[:count]


def code_points(size: int) -> list[str]:
    """Return the first 65,536 code points in texts of `size` characters."""
    return ["".join(map(chr, range(start, start + size))) for start in range(0, 0x10000, size)]


def without_surrogates(text: str) -> str:
    """Return a text that UTF-8 can have."""
    return "".join(c for c in text if not "\ud800" <= c <= "\udfff")
