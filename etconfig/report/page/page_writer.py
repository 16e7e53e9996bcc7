"""Reports as pages, for a browser or for paper; their texts are never markup.

Jinja2 escapes each text where a template shows it, after `cell_text` made it printable. The policy of a page
allows no script and no style but those whose hash it has, and nothing from a network.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree  # it reads only pictures that etconfig drew

from etconfig.base.packages import how_to_install
from etconfig.base.records import record
from etconfig.base.version import __version__
from etconfig.base.written_files import FileKind, head_of
from etconfig.diagnostics.escape import escape_lines
from etconfig.diagnostics.render import MAX_DIAGNOSTICS, render_text
from etconfig.errors import MissingPackageError
from etconfig.report.model import View, cell_text, count_text, shown_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from etconfig.diagnostics.diagnostic import Diagnostic

_MARK = b'<meta name="generator" content="etconfig'
PAGE = FileKind("a page that etconfig wrote", lambda path: _MARK in head_of(path))

_HERE = Path(__file__).parent
_SVG = "{http://www.w3.org/2000/svg}"
_SHAPES = frozenset({"svg", "g", "path", "rect", "line", "circle", "text", "tspan", "title"})
_DRAWN = frozenset(
    {"width", "height", "viewBox", "d", "x", "y", "x1", "y1", "x2", "y2", "dx", "dy", "r", "transform"}
    | {"fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity"}
    | {"class", "text-anchor", "font-size", "font-family", "font-weight"}
)
"""The elements and attributes of pictures that a page keeps; none of them runs or loads anything."""


@record(frozen=True)
class Page:
    """A page.

    Attributes:
        title: Its title.
        template: The name of its template.
        data: What the template shows.
    """

    title: str
    template: str
    data: Mapping[str, Any]

    @property
    def html(self) -> str:
        """The text of the page.

        Raises:
            MissingPackageError: Jinja2 is not installed.
        """
        check_can_write_pages()
        return _environment().get_template(f"{self.template}.html.jinja").render(self.data, title=self.title)

    def __repr__(self) -> str:
        return f"<Page: {shown_text(self.title)}>"

    def _repr_html_(self) -> str:
        from markupsafe import escape

        size = 'style="width: 100%; height: 40em; border: 0"'
        return f'<iframe sandbox="allow-scripts" {size} srcdoc="{escape(self.html)}"></iframe>'


def html_page(view: View, svg: str = "", marks: Mapping[str, str] | None = None) -> str:
    """Return a report as a page, with a picture of it, and texts of cells as the style marks them.

    Raises:
        MissingPackageError: Jinja2 is not installed.
    """
    return Page(view.title, "view", {"view": view, "svg": svg, "marks": marks or {}}).html


def check_can_write_pages() -> None:
    """Check that the library is installed, before long work begins. Raises MissingPackageError."""
    check_extra("jinja2", "jinja2", "an HTML page")


def check_extra(module: str, package: str, purpose: str) -> None:
    """Check that a package of the extra `report` is installed.

    Raises:
        MissingPackageError: it is not; the error says how to install it.
    """
    try:
        import_module(module)
    except ImportError as error:
        install = how_to_install("'etconfig[report]'")
        raise MissingPackageError(purpose=purpose, package=package, help=install) from error


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    files = {name: (_HERE / f"page.{name}").read_text(encoding="utf-8") for name in ("css", "js")}
    style, script = (_hash(text) for text in files.values())
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        policy=f"default-src 'none'; style-src '{style}'; script-src '{script}'; base-uri 'none'; "
        "form-action 'none'",
        style=Markup(files["css"]),  # noqa: S704  (a file of etconfig)
        script=Markup(files["js"]),  # noqa: S704
        excerpt=_excerpt,
        picture=_picture,
        count=count_text,
        joined=lambda texts, separator=", ": separator.join(texts),
        most=MAX_DIAGNOSTICS,
        version=__version__,
    )
    return environment


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _printable(value: Any) -> Any:
    """Return what an expression of a template gives as it may be shown; markup of etconfig stays."""
    return cell_text(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _excerpt(problem: Diagnostic) -> str:
    """Return a problem with its lines of a file."""
    from markupsafe import escape

    return escape(escape_lines(render_text(problem)))


def _picture(svg: str, title: str) -> Markup:
    """Return the shapes of a picture, without what could run, load or restyle anything."""
    from markupsafe import Markup

    root = ElementTree.fromstring(svg)  # noqa: S314  (drawn by etconfig)
    for element in root.iter():
        for child in [each for each in element if each.tag.removeprefix(_SVG) not in _SHAPES]:
            element.remove(child)
        element.tag = element.tag.removeprefix(_SVG)
        element.attrib = {name: value for name, value in element.attrib.items() if name in _DRAWN}
    root.attrib |= {"role": "img", "aria-label": cell_text(title)}
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704  (serialized shapes)
