"""The language of the project: wordings that CONTRIBUTING.md, "Language", advises against stay out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from language import Finding, Passage, findings, findings_in, prose, python_passages

ROOT = Path(__file__).parents[2]
CODE = ("etconfig", "plugins", "tools", "benchmarks", "examples", "tests")
NOT_OURS = ("build", "data", ".venv")
"""Directories of build outputs and of data, wherever they are."""


def files() -> Iterator[Path]:
    """Yield every file that is searched, except this one, whose texts are examples."""
    for directory in CODE:
        for path in sorted((ROOT / directory).rglob("*")):
            if (
                path.suffix in (".py", ".md")
                and path != Path(__file__)
                and not set(path.parts) & set(NOT_OURS)
            ):
                yield path
    yield from sorted((ROOT / "docs").rglob("*.md"))
    yield from sorted(ROOT.glob("*.md"))


def found() -> Iterator[Finding]:
    """Yield the findings in all files."""
    for path in files():
        is_test = "tests" in path.relative_to(ROOT).parts
        yield from findings(path, path.relative_to(ROOT), has_messages=not is_test)


class TestProject:
    """Docstrings, comments, messages and pages read as a colleague would write them."""

    def test_no_wording_to_avoid_is_left(self) -> None:
        assert [str(each) for each in found()] == []


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
