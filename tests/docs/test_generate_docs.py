"""tools/generate_docs.py: pages show lines of files as they are now."""

from __future__ import annotations

import pytest
from doc_pages import ROOT, Page
from generate_docs import definition, source, with_current_parts

MODULE = """\
LIMITS: dict[str, int] = {
    "rows": 4,
}
NAME = "acme"


class Backend:
    @property
    def name(self) -> str:
        return NAME
"""


class TestDefinition:
    """A name stands for the lines that define it."""

    @pytest.mark.parametrize(
        ("symbol", "lines"),
        [
            ("LIMITS", 'LIMITS: dict[str, int] = {\n    "rows": 4,\n}'),
            ("NAME", 'NAME = "acme"'),
            ("Backend.name", "@property\ndef name(self) -> str:\n    return NAME"),
        ],
    )
    def test_it_is_shown_whole_and_without_indentation(self, symbol: str, lines: str) -> None:
        assert definition(MODULE, symbol, "acme.py") == lines

    def test_a_name_that_is_gone_is_reported_with_its_file(self) -> None:
        with pytest.raises(SystemExit) as caught:
            definition(MODULE, "Backend.run", "acme.py")
        assert caught.value.code == (
            "acme.py has no 'Backend.run'; correct the line `<!-- generated: source ... -->`"
        )


class TestSource:
    """A part called `source` has the present contents of the file."""

    def test_a_page_gets_the_present_lines(self) -> None:
        path = "plugins/etconfig-reference/etconfig_reference/plugin.py"
        stale = f"<!-- generated: source {path} etconfig_backend -->\nold\n<!-- end -->"
        current = with_current_parts(stale)
        assert "old" not in current
        assert "```python\n@hookimpl\ndef etconfig_backend(" in current

    def test_a_file_that_is_no_module_is_shown_whole(self) -> None:
        path = "plugins/etconfig-reference/pyproject.toml"
        assert (ROOT / path).read_text(encoding="utf-8") in source(path)

    def test_included_lines_are_not_run_as_the_code_of_the_page(self, tmp_path) -> None:
        page = tmp_path / "page.md"
        shown = "<!-- generated: source a.py f -->\n\n```python\nreturn 1\n```\n\n<!-- end -->\n"
        page.write_text(f"{shown}\n```python\nprint(1)\n```\n", encoding="utf-8")
        assert [fence.is_included for fence in Page(page).fences()] == [True, False]
