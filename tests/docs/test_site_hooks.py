"""tools/site_hooks.py: the site has what the pages link to, also outside of docs/."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from doc_pages import ROOT
from site_hooks import (
    COPIES,
    FRONT_PAGE,
    SEARCH,
    SEARCH_MARK,
    content,
    on_page_markdown,
    outside_links,
    repository_path,
    site_markdown,
    site_uri,
)


class TestLinks:
    """A link that works in the repository works in the site."""

    @pytest.mark.parametrize(
        ("page", "link", "led_to"),
        [
            ("python.md", "profiles.md#units", "profiles.md#units"),
            ("README.md", "../CONTRIBUTING.md", "project/CONTRIBUTING.md"),
            ("operators.md", "../etconfig/kernels/pooling.py", "project/etconfig/kernels/pooling.py.md"),
            ("diagnostics/README.md", "../tools.md#repairs", "../tools.md#repairs"),
            ("project/CONTRIBUTING.md", "docs/facts.md", "../facts.md"),
            ("project/SECURITY.md", "CONTRIBUTING.md", "CONTRIBUTING.md"),
            ("project/plugins/etconfig-upstream/README.md", "../../README.md", "../../../README.md"),
        ],
    )
    def test_it_leads_to_the_same_file(self, page: str, link: str, led_to: str) -> None:
        assert site_markdown(f"[text]({link})", page) == f"[text]({led_to})"

    @pytest.mark.parametrize(
        "text", ["_FUNCTIONS[name](tile)", "[torch](https://pytorch.org)", "[here](#here)"]
    )
    def test_what_leads_to_no_file_stays(self, text: str) -> None:
        assert site_markdown(text, "backends.md") == text

    def test_a_pipe_in_the_code_of_a_table_needs_no_backslash_there(self) -> None:
        assert site_markdown(r"| `a \|\| b` | or |", "profiles.md") == "| `a || b` | or |"


class TestFrontPage:
    """The first page of the site is that of docs/, with a button that opens the search."""

    def test_the_mark_in_the_page_becomes_the_button(self) -> None:
        page = SimpleNamespace(file=SimpleNamespace(src_uri=FRONT_PAGE), meta={})
        text = (ROOT / "docs" / FRONT_PAGE).read_text(encoding="utf-8")
        shown = on_page_markdown(text, page, None, None)
        assert SEARCH_MARK in text
        assert SEARCH_MARK not in shown
        assert SEARCH in shown
        assert page.meta == {"hide": ["navigation", "toc"]}

    @pytest.mark.parametrize("page", ["README.md", "docs/README.md"])
    def test_its_pictures_are_there(self, page: str) -> None:
        text = (ROOT / page).read_text(encoding="utf-8")
        pictures = re.findall(r'src(?:set)?="([^"]+)"', text)
        assert len(pictures) == 2
        assert all((ROOT / page).parent.joinpath(name).is_file() for name in pictures)


class TestCopies:
    """Files outside of docs/ that pages link to become pages or files of the site."""

    def test_the_links_of_a_page_that_leave_docs_are_found(self) -> None:
        found = set(outside_links(ROOT / "docs" / "README.md"))
        assert ROOT / "CONTRIBUTING.md" in found
        assert not any(path.is_relative_to(ROOT / "docs") for path in found)

    @pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/facts.md", "docs/diagnostics/README.md"])
    def test_a_page_is_found_again_from_its_place_in_the_site(self, name: str) -> None:
        assert repository_path(site_uri(ROOT / name)) == ROOT / name

    def test_source_is_shown_as_a_page_that_search_leaves_out(self) -> None:
        page = content(ROOT / "pyproject.toml")
        assert page is not None
        assert page.startswith(
            "---\nsearch:\n  exclude: true\n---\n# `pyproject.toml`\n\n~~~~toml\n[build-system]"
        )

    def test_what_is_no_text_is_copied(self) -> None:
        assert content(ROOT / "tests" / "data" / "digits" / "digits.pte") is None


class TestNavigation:
    """mkdocs.yml lists every page of docs/ once."""

    def test_every_page_is_in_the_navigation(self) -> None:
        _, _, navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")
        listed = re.findall(r"([\w./-]+\.md)$", navigation, re.MULTILINE)
        pages = {path.name for path in (ROOT / "docs").glob("*.md")}
        assert sorted(name for name in listed if "/" not in name) == sorted(pages)
        for name in listed:
            assert repository_path(name).is_file(), name

    def test_copies_lie_apart_from_pages(self) -> None:
        assert not (ROOT / "docs" / COPIES).exists()
