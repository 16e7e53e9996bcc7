"""The documentation is true: its blocks run, its tables are right, its links lead somewhere.

A page is followed block by block, in an empty directory with a copy of `examples/`:

    python   runs, in order, in one namespace for a page; a `text` block right after it shows what it prints
    console  `$ ` begins a command, which runs; the lines after it are its output. A command that fails is
             followed by `$ echo $?`. Only `etconfig`, `cd` and `cp` run.
    toml     a piece of a profile or project file; it must validate without a finding
    cel      an expression in each line; each must have the right types
    sh       shown, not run, except that `pip install` makes a pure Python plugin of this repository, or in a
             directory of the page, visible to the blocks after it. In pages whose commands need a registry or
             executorch, tests/peers runs `sh` blocks and compares the `text` right after them
             (`tests/support/doc_shell.py`).
    text, yaml  shown, not run

Any of these below a line that is only a file name in backticks and a colon is written to that file; a
`pyproject.toml` with entry points is installed. In output, `...` stands for any text, and alone on a line for
any lines; columns may have any width. Tables of expressions are evaluated on a sheet of tests/data.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import PAGES, ROOT, Page, Walkthrough

from etconfig.cli.startup.command_list import COMMAND_SUMMARIES
from etconfig.errors import ProfileError
from etconfig.expression import Fault, Unknown, parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.sheet import load_fact_sheet

SHEET = ROOT / "tests" / "data" / "sheets" / "laptop-on-battery.json"
"""The device of the tables of expressions in docs/expressions.md."""

VALUES = [row for path in PAGES for row in Page(path).tables("expression", "value")]
REFUSALS = [row for path in PAGES for row in Page(path).tables("expression", "refused, because")]


def page_id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(params=PAGES, ids=page_id)
def page(request: pytest.FixtureRequest) -> Page:
    return Page(request.param)


class TestBlocks:
    """Every block of a page runs, in order, and prints what the page shows."""

    @pytest.mark.usefixtures("clean_modules")
    def test_a_reader_who_follows_the_page_gets_what_it_shows(
        self, page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        walkthrough = Walkthrough(page, tmp_path, monkeypatch)
        for fence in page.fences():
            walkthrough.do(fence)

    def test_every_fence_closes(self, page: Page) -> None:
        assert "```" not in page.prose


class TestExpressions:
    """Every expression in a table has the value or the error of the table."""

    @pytest.mark.parametrize(("text", "shown"), VALUES)
    def test_a_value(self, text: str, shown: str) -> None:
        facts = load_fact_sheet(SHEET, BUILTIN_FACTS).values
        value = parse_expression(text, BUILTIN_FACTS).evaluate(facts)
        if isinstance(value, Unknown):
            assert shown == "unknown"
        elif isinstance(value, Fault):
            assert shown == f"no value: {value.reason}"
        else:
            assert value == parse_expression(shown, BUILTIN_FACTS).evaluate(facts)

    @pytest.mark.parametrize(("text", "message"), REFUSALS)
    def test_a_refusal(self, text: str, message: str) -> None:
        with pytest.raises(ProfileError) as caught:
            parse_expression(text, BUILTIN_FACTS)
        (problem,) = caught.value.diagnostics
        assert message == problem.message + (f"; {problem.help}" if problem.help else "")

    def test_the_tables_are_found(self) -> None:
        assert len(VALUES) > 20
        assert len(REFUSALS) > 5


class TestNames:
    """Everything that a page names exists."""

    def test_links_lead_to_files_and_headings(self, page: Page) -> None:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.prose):
            if target.startswith("https://"):
                continue
            path, _, anchor = target.partition("#")
            linked = page.path.parent / path if path else page.path
            assert linked.exists(), target
            if anchor:
                assert anchor in Page(linked).anchors, target

    def test_files_of_the_repository_exist(self, page: Page) -> None:
        for name in re.findall(
            r"`((?:etconfig|tests|docs|tools|plugins|profiles|examples|benchmarks|\.ci)/[\w./-]*)`",
            page.prose,
        ):
            assert (ROOT / name).exists(), name

    def test_targets_of_make_exist(self, page: Page) -> None:
        rules = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        assert set(re.findall(r"\bmake ([a-z][\w-]*)`", page.prose)) <= rules

    def test_every_command_has_its_section(self) -> None:
        sections = Page(ROOT / "docs" / "commands.md").anchors
        assert {f"etconfig-{name}" for name in COMMAND_SUMMARIES} <= sections


class TestGenerated:
    """The generated parts are up to date."""

    def test_they_are_current(self) -> None:
        command = [sys.executable, ROOT / "tools" / "generate_docs.py", "--check"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
