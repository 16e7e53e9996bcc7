"""Pages as a browser reads them: their elements and attributes, and texts that try to be markup."""

from __future__ import annotations

import random
from collections.abc import Iterator
from xml.etree import ElementTree

import html5lib

RAN = "document.documentElement.dataset.ran=1"
"""What a hostile text runs if it can; the browser's document then has `data-ran`."""

_PARTS = (
    f"<script>{RAN}</script>",
    f"</script><script>{RAN}</script>",
    f"</style><script>{RAN}</script>",
    f"</title></textarea><script>{RAN}</script>",
    f"<!--<script>{RAN}",
    f"--><script>{RAN}</script>",
    f"]]><script>{RAN}</script>",
    f'"><img src=x onerror="{RAN}">',
    f"'><svg onload='{RAN}'>",
    f'"onload="{RAN}"',
    f'" autofocus tabindex=1 onfocus="{RAN}" x="',
    f"javascript:{RAN}",
    f"<a href=javascript:{RAN}>x</a>",
    f'<iframe srcdoc="<script>parent.{RAN}</script>">',
    f"<meta http-equiv=refresh content='0;url=javascript:{RAN}'>",
    "<base href=http://x/><link rel=stylesheet href=//x><style>*{display:none}</style>",
    f"<math><mtext><style><img src=x onerror={RAN}></style>",
    f"<details open ontoggle={RAN}>",
    "{{ 7 * 7 }}{% raw %}{{ ''.__class__ }}",
    "</td></tr></table></main></body></html>",
    "&lt;script&gt;&#60;script&#62;&NewLine;",
    "\u2028\u2029\x85",
    "\x00\x08\x1b[2J",
    "\ud800\udfff",
    "\u202egnp.exe\u2066\u200f",
    "\ufeff\ufffe\uffff\U0010ffff",
    "`${alert(1)}`",
    "\\u003cscript\\u003e",
    "' or 1=1 --",
    "::error::x##[error]x",
)


def hostile_markup(count: int = 200) -> list[str]:
    """Return different texts of one to three hostile parts, and one that is very long."""
    chosen = random.Random(0)
    texts = dict.fromkeys([*_PARTS, "x" * 100_000, f"<script>{RAN}</script>" * 4_000])
    while len(texts) < count:
        texts["".join(chosen.choice(_PARTS) for _ in range(chosen.randint(2, 3)))] = None
    return list(texts)


def structure(page: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return every element of a page with the names of its attributes, as the HTML standard parses it."""
    return [(str(each.tag), tuple(sorted(each.attrib))) for each in _elements(page)]


def texts(page: str) -> str:
    """Return what a page shows."""
    return "".join(_tree(page).itertext())


def _tree(page: str) -> ElementTree.Element:
    found: ElementTree.Element = html5lib.parse(page, namespaceHTMLElements=False)
    return found


def _elements(page: str) -> Iterator[ElementTree.Element]:
    return _tree(page).iter()
