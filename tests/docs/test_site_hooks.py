"""tools/site_hooks.py: the site has what the pages link to, also outside of docs/."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from doc_pages import ROOT
from site_hooks import (
    COPIES,
    FRONT_PAGE,
    MOVED,
    SEARCH,
    SEARCH_MARK,
    content,
    on_page_markdown,
    on_post_build,
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
            ("operators.md", "../etconfig/kernels/attention.py", "project/etconfig/kernels/attention.py.md"),
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

    def test_the_pictures_are_there(self) -> None:
        page = ROOT / "docs" / "concepts.md"
        pictures = re.findall(r'src(?:set)?="([^"]+)"', page.read_text(encoding="utf-8"))
        assert len(pictures) == 2
        assert all(page.parent.joinpath(name).is_file() for name in pictures)


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
    """mkdocs.yml lists every page of docs/ once: in the navigation, or as one that other pages list."""

    def test_every_page_is_listed_once(self) -> None:
        pages = {path.name for path in (ROOT / "docs").glob("*.md")}
        assert sorted([*navigation(), *outside_navigation()]) == sorted(pages)

    def test_the_navigation_stays_short(self) -> None:
        assert len(navigation()) <= 25

    def test_a_page_outside_is_listed_in_the_index_or_on_the_first_page(self) -> None:
        index = [(ROOT / "docs" / name).read_text("utf-8") for name in ("reference.md", "README.md")]
        for name in outside_navigation():
            assert re.search(rf"\]\({re.escape(name)}[)#]", "".join(index)), name

    def test_an_address_that_moved_leads_to_a_page(self, tmp_path: Path) -> None:
        on_post_build(SimpleNamespace(site_dir=str(tmp_path)))
        assert {path.stem for path in tmp_path.iterdir()} == {name.removesuffix(".md") for name in MOVED}
        for before, after in MOVED.items():
            assert not (ROOT / "docs" / before).exists()
            assert repository_path(after).is_file(), after

    def test_copies_lie_apart_from_pages(self) -> None:
        assert not (ROOT / "docs" / COPIES).exists()


def navigation() -> list[str]:
    """Return the pages of docs/ in the navigation."""
    _, _, text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")
    return re.findall(r"([\w-]+\.md)$", text, re.MULTILINE)


def outside_navigation() -> list[str]:
    """Return the pages that mkdocs.yml leaves out of the navigation."""
    return re.findall(r"^  /([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
