"""The diff of docs/first-backend.md fits the package that `etconfig new-backend` writes, line by line.

`patch` finds a hunk some lines further down too, but then leaves a copy of the former file behind.
"""

from __future__ import annotations

import re

import pytest
from doc_pages import ROOT, Page

from etconfig.scaffold import LICENSES, derive_names, render_package

_HUNK = re.compile(
    r"^\+\+\+ b/(?P<path>\S+)\n@@ -(?P<line>\d+),\d+ \S+ @@\n(?P<lines>(?:[ +](?!\+\+).*\n)+)", re.MULTILINE
)
HUNKS = [
    match.groups()
    for fence in Page(ROOT / "docs" / "first-backend.md").fences()
    for match in _HUNK.finditer(fence.text + "\n")
]


@pytest.mark.parametrize(("path", "line", "lines"), HUNKS)
def test_a_hunk_starts_at_its_line(path: str, line: str, lines: str) -> None:
    files = render_package(derive_names("acme-npu", None), LICENSES["mit"], author=None, year=2031)
    (text,) = [content.decode() for name, content in files.items() if name.as_posix() == path]
    before = [each[1:] for each in lines.splitlines() if each[0] != "+"]
    start = int(line) - 1
    assert text.splitlines()[start : start + len(before)] == before


def test_the_page_has_hunks() -> None:
    assert len(HUNKS) == 3
