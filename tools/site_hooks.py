"""Hooks of `mkdocs build`, which add files outside of docs/ that pages link to.

Pages are written for a reader of the repository, with relative links such as `../CONTRIBUTING.md`. The
site has a copy of each linked file, at `project/` and its path in the repository: Markdown as a page,
other text as a page that shows it, other files unchanged.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
COPIES = "project"
"""The part of the site for files outside of docs/."""

FRONT_PAGE = "README.md"
"""The first page of the site. It replaces the repository's README, which has the same contents."""
SEARCH_MARK = "<!-- site: search -->"
SEARCH = '<label class="md-button md-button--primary" for="__search">Search the documentation</label>'
"""A button that opens the theme's search; outside of the site it is invisible."""

MOVED = {
    "backends.md": "first-backend.md",
    "kernels.md": "operators.md",
    "packaging.md": "conformance.md",
    "payload.md": "ahead-of-time.md",
    "reference-backends.md": "project/plugins/etconfig-reference/README.md",
    "schema-only.md": "native-backend.md",
}
"""Pages that are parts of other pages now: the former address leads to the new one."""

_LINK = re.compile(r"\]\((?P<path>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")
_CODE_IN_TABLE = re.compile(r"(?<=\|)[^|`\n]*`[^`\n]*\\\|[^`\n]*`")
_LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json"}
"""The language for showing text that is not Markdown, by the ending of its name."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a copy of every file outside of docs/ that a page or another copy links to."""
    from mkdocs.structure.files import File

    waiting = [Path(file.abs_src_path) for file in files.documentation_pages() if file.abs_src_path]
    while waiting:
        for source in outside_links(waiting.pop()):
            uri = site_uri(source)
            if files.get_file_from_path(uri) is None:
                shown = content(source)
                place = {"abs_src_path": str(source)} if shown is None else {"content": shown}
                files.append(File.generated(config, uri, **place))
                if source.suffix == ".md":
                    waiting.append(source)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point the links of a page to the copies. The first page uses the full width."""
    if page.file.src_uri == FRONT_PAGE:
        page.meta["hide"] = ["navigation", "toc"]
    return site_markdown(markdown, page.file.src_uri).replace(SEARCH_MARK, SEARCH)


def on_post_build(config: MkDocsConfig) -> None:
    """Write a page that leads on for each address that moved."""
    for before, after in MOVED.items():
        target = after.replace("README.md", "index.md").removesuffix(".md") + ".html"  # as mkdocs calls them
        refresh = f'<meta http-equiv="refresh" content="0; url={target}">'
        text = f'<!doctype html>{refresh}<a href="{target}">Moved</a>\n'
        (Path(config.site_dir) / before).with_suffix(".html").write_text(text, encoding="utf-8")


def outside_links(page: Path) -> Iterator[Path]:
    """Yield the files outside of docs/ to which a page of the repository links."""
    for link in _LINK.finditer(page.read_text(encoding="utf-8")):
        target = Path(os.path.normpath(page.parent / link["path"]))
        if target.is_file() and not target.is_relative_to(DOCS):
            yield target


def site_uri(source: Path) -> str:
    """Return the path of a file of the repository among the sources of the site."""
    if source.is_relative_to(DOCS):
        return source.relative_to(DOCS).as_posix()
    if source == ROOT / "README.md":
        return FRONT_PAGE
    ending = ".md" if source.suffix in _LANGUAGES else ""
    return f"{COPIES}/{source.relative_to(ROOT).as_posix()}{ending}"


def repository_path(uri: str) -> Path:
    """Return the file of the repository whose page is at `uri`."""
    return ROOT / uri.removeprefix(f"{COPIES}/") if uri.startswith(f"{COPIES}/") else DOCS / uri


def content(source: Path) -> str | None:
    """Return the page that shows a text, or None for a file that is copied unchanged."""
    if source.suffix not in _LANGUAGES:
        return None
    head = f"---\nsearch:\n  exclude: true\n---\n# `{source.relative_to(ROOT).as_posix()}`"
    text = source.read_text(encoding="utf-8").rstrip()
    return f"{head}\n\n~~~~{_LANGUAGES[source.suffix]}\n{text}\n~~~~\n"


def site_markdown(markdown: str, uri: str) -> str:
    """Return the text of the page at `uri` adapted to the site: its links, and `|` in code in tables."""
    place = repository_path(uri).parent

    def relinked(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(place / link["path"]))
        if not target.is_file():  # brackets in code that look like a link
            return link[0]
        path = os.path.relpath(site_uri(target), PurePosixPath(uri).parent)
        return f"]({path}{link['anchor'] or ''})"

    return _CODE_IN_TABLE.sub(lambda cell: cell[0].replace(r"\|", "|"), _LINK.sub(relinked, markdown))
