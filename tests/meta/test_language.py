"""The language of the project: wordings that CONTRIBUTING.md, "Language", advises against stay out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from language import Finding, Passage, findings, findings_in, prose, python_passages

ROOT = Path(__file__).parents[2]
ROOMS = ("etconfig", "plugins", "docs", "pages at the root")

ALLOWED = {"etconfig": 600, "docs": 67, "pages at the root": 10}
"""Findings that a room may still have, while its language is being revised."""


def files() -> Iterator[tuple[str, Path]]:
    """Every file that is searched, with its room."""
    for path in sorted((ROOT / "etconfig").rglob("*.py")):
        yield "etconfig", path
    for path in sorted((ROOT / "plugins").rglob("*")):
        if path.suffix in (".py", ".md") and "build" not in path.parts:
            yield "plugins", path
    for path in sorted((ROOT / "docs").rglob("*.md")):
        yield "docs", path
    for path in sorted(ROOT.glob("*.md")):
        yield "pages at the root", path


def found() -> dict[str, list[Finding]]:
    """The findings in each room."""
    rooms: dict[str, list[Finding]] = {room: [] for room in ROOMS}
    for room, path in files():
        rooms[room] += findings(path, path.relative_to(ROOT))
    return rooms


class TestProject:
    """Docstrings, comments, messages and pages read as a colleague would write them."""

    def test_no_wording_to_avoid_is_left(self) -> None:
        for room, all_found in found().items():
            listed = "\n".join(map(str, all_found))
            assert len(all_found) <= ALLOWED.get(room, 0), f"{len(all_found)} in {room}:\n{listed}"


class TestRules:
    """Each rule finds what it is about, and leaves the better form alone."""

    @pytest.mark.parametrize(
        ("worse", "better"),
        [
            ("What a profile extends.", "Return the profiles that a profile extends."),
            ("Whether the name is known.", "True if the name is known, else False."),
            ("A sandbox: it is no sandbox.", "It is not a sandbox, and there is no sandbox."),
            ("The error tells the line.", "The error names the line, and tells two lines apart."),
            ("Read it. Who writes it decides.", "A user who writes it decides."),
            ("Were it an error, users would suffer.", "If it were an error, users would suffer."),
            ("The test holds that it works; it is held by a test.", "The test verifies that it works."),
            ("The optimiser's behaviour.", "The optimizer's behavior, otherwise precise."),
        ],
    )
    def test_an_example(self, worse: str, better: str) -> None:
        assert list(findings_in(Passage(worse, 1, is_docstring=True), Path("a.py")))
        assert not list(findings_in(Passage(better, 1, is_docstring=True), Path("a.py")))

    def test_a_finding_names_file_line_and_the_better_form(self) -> None:
        (finding,) = findings_in(Passage("It says so.\nIt is no error.", 7), Path("docs/a.md"))
        assert str(finding) == (
            "docs/a.md:8: 'is no'; better: 'is not a ...', 'has no ...' or 'there is no ...'"
        )

    def test_docstrings_comments_and_messages_are_searched(self) -> None:
        module = '"""A module."""\n\nX = 1  # why so\nraise ValueError("X is wrong")\n'
        assert Counter(each.text for each in python_passages(module)) == Counter(
            ["A module.", "why so", "X is wrong"]
        )

    def test_code_is_not(self) -> None:
        page = "Text\n```python\nis no\n```\nand `is no` there"
        assert not list(findings_in(Passage(prose(page), 1), Path("a.md")))
        assert prose(page).count("\n") == page.count("\n")
