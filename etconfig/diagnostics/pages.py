"""The pages of codes, which the package brings along."""

from __future__ import annotations

import re
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_PLACES = (_PACKAGE / "pages", _PACKAGE.parent / "docs" / "diagnostics")
"""Inside the installed package, or in a checkout."""
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")


def page_of(code: str) -> str:
    """Return the page of a code of `CODES` as Markdown, without links."""
    path = next(path for place in _PLACES if (path := place / f"{code}.md").is_file())
    return _LINK.sub(r"\1", _COMMENT.sub("", path.read_text(encoding="utf-8")))
