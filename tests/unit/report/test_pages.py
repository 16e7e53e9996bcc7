"""Reports as pages and as Markdown: accessible tables, and nothing of their contents is markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from etconfig.report.html import PAGE, html_page
from etconfig.report.markdown import markdown_text
from etconfig.report.model import Table, View

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</td></table><h1>",
    "![x](http:x) [y](javascript:alert(1)) **b** @team `code` a|b",
    "\x1b[31m\x07\x9b2J\u202egnp",
    "a\r::warning::owned",
)


class _Tags(HTMLParser):
    """Collects the tags of a page with their attributes, and fails if one is closed in a wrong order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def view(text: str) -> View:
    """A view with a text in every place."""
    headers, rows = (text, "N"), [(text, 1234)]
    tables = [
        Table(caption=text, headers=headers, rows=rows),
        Table(caption=text, headers=headers, rows=rows, is_folded=True),
        Table(caption="empty", headers=("A",), rows=()),
    ]
    return View(title=text, lines=(text,), tables=tables)


def test_each_table_of_a_page_has_a_name_and_headers_with_a_scope() -> None:
    page = html_page(view("Devices"))
    tags = _Tags(page).found
    names = [tag for tag, _ in tags]
    assert (names.count("table"), names.count("caption"), names.count("summary")) == (2, 1, 1)
    assert {attributes["scope"] for tag, attributes in tags if tag == "th"} == {"col"}
    assert ("html", {"lang": "en"}) in tags
    assert page.count('<td class="number">1,234</td>') == 2
    assert "empty" not in page


def test_a_page_has_no_markup_but_its_own_and_nothing_from_elsewhere() -> None:
    own = _Tags(html_page(view("Devices"))).found
    for text in HOSTILE:
        page = html_page(view(text))
        assert _Tags(page).found == own, text
        assert all(line.isprintable() for line in page.split("\n")), text
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|<script|<link", html_page(view("Devices")))


def test_markdown_has_rows_of_equal_cells_and_no_markup_but_its_own() -> None:
    for text in HOSTILE:
        lines = markdown_text(view(text)).split("\n")
        assert all(line.isprintable() for line in lines), text
        rows = [line for line in lines if line.startswith("|")]
        assert [row.count("|") for row in rows] == [3] * 6, text
        own = r"&#\d+;|^\*\*|\*\*$|</?(details|summary|code)>|`[^`<>|]*`"
        rest = re.sub(own, "", "\n".join(lines), flags=re.MULTILINE)
        assert not set(rest) & set("<>*`[]!@\\"), rest


def test_a_page_is_known_by_its_mark(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(html_page(view("Devices")), encoding="utf-8")
    assert PAGE.has(page)
