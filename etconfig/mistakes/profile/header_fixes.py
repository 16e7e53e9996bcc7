"""Fixes that rename the headers of tables."""

from __future__ import annotations

from collections.abc import Sequence

from etconfig.diagnostics import Edit, Fix
from etconfig.mistakes.toml.value_guesses import key_text
from etconfig.profile.document import Document
from etconfig.profile.positions import Header

_Names = Sequence[str]


def header_fix(
    document: Document,
    old: _Names,
    new: _Names,
    *,
    is_array: bool | None = None,
) -> Fix | None:
    """Return the fix that renames the headers of a table and of the tables below it.

    Args:
        document: The document.
        old: The name of the table, without indices.
        new: Its name after the fix.
        is_array: True for double brackets afterwards, False for single ones; as before by default.

    Returns:
        The fix; None if the table has no header, or if there is a table of the new name already.
    """
    headers = document.headers.get(tuple(old), ())
    if not headers or not _starts_with_header(document, headers[0]):
        return None
    if new != old and not is_array and _exists(document, new):
        return None
    edits = []
    for header in headers:
        names = [part for part in header.path if isinstance(part, str)]
        is_own = len(names) == len(old)
        renamed = [*new, *names[len(old) :]]
        doubled = header.is_array if is_array is None or not is_own else is_array
        text = header_text(renamed, is_array=doubled)
        span = document.source.span(header.start, header.end)
        if text != span.underlined:
            edits.append(Edit(span=span, replacement=text))
    if not edits:
        return None
    return Fix(span=edits[0].span, replacement=edits[0].replacement, further=tuple(edits[1:]))


def header_text(names: _Names, *, is_array: bool = False) -> str:
    """Return a header, such as `[options.XnnpackBackend]`."""
    text = f"[{'.'.join(map(key_text, names))}]"
    return f"[{text}]" if is_array else text


def _starts_with_header(document: Document, header: Header) -> bool:
    """Return True if a table is first written as a header, and not as a dotted key or an inline table."""
    return any(
        header.start < position.key_start < header.end
        for path in (header.path, header.path[:-1])
        if (position := document.positions.get(path))
    )


def _exists(document: Document, names: _Names) -> bool:
    found: object = document.data
    for name in names:
        if not isinstance(found, dict) or name not in found:
            return False
        found = found[name]
    return bool(names)
