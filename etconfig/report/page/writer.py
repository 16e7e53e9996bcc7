"""`html_page`: a report as a page, for a browser or for paper; its texts are never markup.

Jinja2 escapes each text where the template shows it, after `cell_text` made it printable. The page's own
policy allows no script and no style but those whose hash it has, and nothing from a network.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree  # it reads only pictures that etconfig drew

from etconfig.base.packages import how_to_install
from etconfig.base.records import record
from etconfig.base.written_files import FileKind, head_of
from etconfig.diagnostics.escape import escape_lines
from etconfig.errors import MissingPackageError
from etconfig.report.model import Cell, Table, View, cell_text, marked, shown_text

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

PAGE = FileKind(
    "a page that etconfig wrote", lambda path: b'<meta name="generator" content="etconfig' in head_of(path)
)

_HERE = Path(__file__).parent
_MAX_EXCERPT = 20_000
_SVG = "{http://www.w3.org/2000/svg}"
_SHAPES = frozenset({"svg", "g", "path", "rect", "line", "circle", "text", "tspan", "title"})
_DRAWN = frozenset(
    {
        "width",
        "height",
        "viewBox",
        "d",
        "x",
        "y",
        "x1",
        "y1",
        "x2",
        "y2",
        "dx",
        "dy",
        "cx",
        "cy",
        "r",
        "transform",
    }
    | {"fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity"}
    | {"class", "text-anchor", "font-size", "font-family", "font-weight"}
)
"""The elements and attributes of pictures that a page keeps; none of them runs or loads anything."""


def check_can_write_pages() -> None:
    """Check that the library is installed, before long work begins.

    Raises:
        MissingPackageError: it is not; the error says how to install it.
    """
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        extra = how_to_install("'etconfig[report]'")
        raise MissingPackageError(purpose="an HTML page", package="jinja2", help=extra) from error


def html_page(view: View) -> str:
    """Return a report as a whole page.

    Raises:
        MissingPackageError: Jinja2 is not installed.
    """
    check_can_write_pages()
    return _template().render(view=view)


@record(frozen=True)
class Page:
    """A page.

    Attributes:
        view: Its contents.
    """

    view: View

    @property
    def html(self) -> str:
        """The text of the page.

        Raises:
            MissingPackageError: Jinja2 is not installed.
        """
        return html_page(self.view)

    def __repr__(self) -> str:
        return f"<Page: {shown_text(self.view.title)}; {len(self.view.parts)} parts>"

    def _repr_html_(self) -> str:
        from markupsafe import escape

        size = 'style="width: 100%; height: 40em; border: 0"'
        return f'<iframe sandbox="allow-scripts" {size} srcdoc="{escape(self.html)}"></iframe>'


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    style, script = (_text(name) for name in ("page.css", "page.js"))
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    environment = Environment(
        autoescape=True, finalize=_printable, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.update(
        policy=policy,
        style=Markup(style),  # noqa: S704  (a file of etconfig)
        script=Markup(script),  # noqa: S704
        heads=lambda table: map(_cell, table.headers),
        rows=_rows,
        lines=_lines,
        excerpt=_excerpt,
        picture=_picture,
    )
    return environment.from_string(_text("page.html.jinja"))


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _printable(value: Any) -> Any:
    """Return what an expression of the template gives as it may be shown; markup of etconfig stays."""
    return cell_text(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _rows(table: Table) -> list[list[Cell]]:
    return [
        [marked(f"{cell:,}", "number") if isinstance(cell, int) else _cell(cell) for cell in row]
        for row in table.rows
    ]


def _cell(text: str) -> Cell:
    return text if isinstance(text, Cell) else Cell(text)


def _lines(header: str) -> Markup:
    """Return the lines of a header."""
    from markupsafe import Markup

    return Markup("<br>").join(map(cell_text, header.split("\n")))


def _excerpt(text: str) -> Markup:
    """Return lines as they are, which only escaping may change."""
    from markupsafe import escape

    return escape(escape_lines(text[:_MAX_EXCERPT]))


def _picture(view: View) -> Markup:
    """Return the shapes of a picture, without what could run, load or restyle anything."""
    from markupsafe import Markup

    root = ElementTree.fromstring(view.picture)  # noqa: S314  (drawn by etconfig)
    for element in root.iter():
        for child in [each for each in element if each.tag.removeprefix(_SVG) not in _SHAPES]:
            element.remove(child)
        element.tag = element.tag.removeprefix(_SVG)
        element.attrib = {name: value for name, value in element.attrib.items() if name in _DRAWN}
    root.set("role", "img")
    root.set("aria-label", cell_text(view.title))
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704  (serialized shapes)
