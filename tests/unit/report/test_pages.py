"""Reports as pages and as Markdown: accessible tables, and nothing of their contents is markup."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pages import RAN, hostile_markup, structure, texts

from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import MissingPackageError
from etconfig.report.junit import JunitCase, junit_xml
from etconfig.report.markdown import markdown_text
from etconfig.report.model import Table, View
from etconfig.report.page.page_writer import PAGE, Page, html_page

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</td></table><h1>",
    "![x](http:x) [y](javascript:alert(1)) **b** @team `code` a|b",
    "\x1b[31m\x07\x9b2J\u202egnp",
    "a\r::warning::owned",
)


def view(text: str) -> View:
    """A view with a text in every place."""
    headers, rows = (text, "N"), [(text, 1234), (text, text)]
    tables = [
        Table(caption=text, headers=headers, rows=rows[:1]),
        Table(caption=text, headers=headers, rows=rows, is_folded=True),
        Table(caption="empty", headers=("A",), rows=()),
    ]
    return View(title=text, lines=(text,), tables=tables)


def pages(text: str) -> Iterator[str]:
    """Yield a page of each kind with a text in every place."""
    svg = f'<svg xmlns="http://www.w3.org/2000/svg"><text>{escape(ascii(text))}</text></svg>'
    yield html_page(view(text), svg, {text: "error"})
    problem = Diagnostic(
        code="unknown-option",
        message=text,
        spans=(Span(file=text, line=1, column=1, length=1, text=text),),
        notes=(text,),
        help=text,
    )
    for count in (1, 9):
        data = {"view": view(text), "marks": {text: "error"}, "problems": [(problem, text)] * count}
        yield Page(text, "findings", data).html


def test_each_table_of_a_page_has_a_name_and_headers_with_a_scope() -> None:
    page = html_page(view("Devices"))
    tags = [tag for tag, _ in structure(page)]
    assert (tags.count("table"), tags.count("caption"), tags.count("summary")) == (2, 1, 1)
    assert set(re.findall(r'<th scope="(\w+)"', page)) == {"col", "row"}
    assert '<html lang="en">' in page
    assert page.count('<td class="number">1,234</td>') == 2
    assert "empty" not in page


def test_hostile_texts_in_every_place_are_texts() -> None:
    own = [structure(page) for page in pages("Devices")]
    for text in hostile_markup():
        found = [*pages(text)]
        assert [structure(page) for page in found] == own, text[:200]
        for page in found:
            assert all(line.isprintable() for line in page.split("\n")), text[:200]
            page.encode()


def test_a_text_is_shown_as_it_is() -> None:
    assert f"<script>{RAN}</script>" in texts(html_page(view(f"<script>{RAN}</script>")))
    assert r"\u0000" in texts(html_page(view("\x00")))
    assert "(98,000 more characters)" in texts(html_page(view("x" * 100_000)))


def test_a_page_allows_its_own_style_and_script_alone() -> None:
    page = html_page(view("Devices"))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src &#39;none&#39;; ")
    for tag in ("style", "script"):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in policy
    assert "unsafe" not in page
    assert not re.search(r"https?:|<link|@import|url\(", page)


def test_a_picture_keeps_its_shapes_and_nothing_that_runs_or_loads() -> None:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink" onload="a()">'
        '<script>a()</script><style>*{}</style><foreignObject/><a x:href="javascript:a()"/>'
        '<g id="x" style="b"><rect x="1" onclick="a()" fill="red"/><image x:href="http://x"/>'
        '<use x:href="#y"/></g></svg>'
    )
    page = html_page(View(title="P"), svg)
    assert '<g><rect x="1" fill="red" /></g></svg>' in page
    assert not re.search(r"onload|onclick|foreign|<image|<use|a\(\)|style=", page)


def test_a_page_shows_itself_in_a_frame_of_its_own() -> None:
    page = Page("</iframe><script>", "view", {"view": view("x"), "svg": "", "marks": {}})
    assert repr(page) == "<Page: </iframe><script>>"
    shown = page._repr_html_()
    assert shown.count("<") == 2
    assert shown.startswith('<iframe sandbox="allow-scripts" ')


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(
        MissingPackageError, match="an HTML page needs the package jinja2, which is not"
    ) as found:
        html_page(view("x"))
    assert "[report]" in str(found.value.help)


def test_markdown_has_rows_of_equal_cells_and_no_markup_but_its_own() -> None:
    for text in HOSTILE:
        lines = markdown_text(view(text)).split("\n")
        assert all(line.isprintable() for line in lines), text
        rows = [line for line in lines if line.startswith("|")]
        assert [row.count("|") for row in rows] == [3] * 7, text
        own = r"&#\d+;|^\*\*|\*\*$|</?(details|summary|code)>|`[^`<>|]*`"
        rest = re.sub(own, "", "\n".join(lines), flags=re.MULTILINE)
        assert not set(rest) & set("<>*`[]!@\\"), rest


def test_a_page_is_known_by_its_mark(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(html_page(view("Devices")), encoding="utf-8")
    assert PAGE.has(page)


class TestJunit:
    """JUnit XML is well-formed, whatever the texts are."""

    def test_hostile_texts_come_back_as_texts(self) -> None:
        for text in hostile_markup():
            cases = [JunitCase(name=text, group=text, outcome="failure", message=text, text=text)]
            (suite,) = ElementTree.fromstring(junit_xml(text, cases, {"key": text}))
            assert [each.tag for each in suite.iter()] == [
                *("testsuite", "properties", "property", "testcase", "failure")
            ]
