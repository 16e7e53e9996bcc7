"""The meaning of a place in a TOML document that is being written, and so need not be valid."""

from __future__ import annotations

import re
from collections.abc import Iterator

from etconfig.base.records import record

_QUOTED = r"""(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_PART = rf"[A-Za-z0-9_-]+|{_QUOTED}"
_HEADER = re.compile(rf"[ \t]*\[\[?[ \t]*((?:{_PART})(?:[ \t]*\.[ \t]*(?:{_PART}))*)[ \t]*\]")
_OPEN_HEADER = re.compile(rf"[ \t]*(\[\[?)((?:[\w. \t-]|{_QUOTED})*)(?:([\"'])([^\"'\n]*))?\Z", re.ASCII)
_NEXT_KEY = re.compile(rf"[ \t]*(?:{_PART})[ \t]*[.=]")
_TOKEN = re.compile(
    r'''(?P<comment>\#[^\n]*)|(?P<newline>\n)|(?P<sign>[=.,\[\]{}])|(?P<blank>[ \t\r]+)
    |(?P<text>"""(?:[^\\]|\\.)*?(?:"""|\Z)|\'\'\'.*?(?:\'\'\'|\Z)|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?)
    |(?P<bare>[^\s=.,\[\]{}#"']+)''',
    re.VERBOSE | re.DOTALL,
)
_MAX_DEPTH = 40
"""The most brackets that are followed; a valid document has fewer."""
_ESCAPE = re.compile(r"\\(.)")
_IN_QUOTES = r"[\w./-]*"


@record(frozen=True, kw_only=True)
class EditorCursor:
    """The place of a cursor.

    Attributes:
        path: The keys of the table or of the value that it is in.
        kind: `key`, `header` for a key of a header, `value`, `text` inside quotes, `comment`, or `end` behind
            something complete.
        prefix: The beginning of the word that is written there; of a text or comment, all of it before the
            cursor.
        quote: The quotes of the text or key that it is in; empty if there are none.
        bracket: `[` or `[[` before a key of a header; else empty.
    """

    path: tuple[str, ...]
    kind: str
    prefix: str = ""
    quote: str = ""
    bracket: str = ""


def cursor_at(text: str, offset: int) -> EditorCursor:
    """Return the place of a cursor before `text[offset]`."""
    line_start = text.rfind("\n", 0, offset) + 1
    is_open = _OPEN_HEADER.match(text, line_start, offset)
    if is_open and not _is_in_array(text, line_start):
        bracket, written, quote, last = (each or "" for each in is_open.groups())
        keys = _parts(written)
        if not quote and written[-1:] in ('"', "'", " ", "\t") and keys and keys[-1]:
            return EditorCursor(path=tuple(keys), kind="end")
        *keys, begun = keys or [""]
        return EditorCursor(
            path=tuple(keys), kind="header", prefix=begun + last, quote=quote, bracket=bracket
        )
    closed = _HEADER.match(text, line_start, offset)
    if closed and not _is_in_array(text, line_start):
        comment = text[closed.end() : offset].partition("#")
        kind = "comment" if comment[1] else "end"
        return EditorCursor(path=tuple(_parts(closed[1])), kind=kind, prefix="".join(comment[1:]))
    table: tuple[str, ...] = ()
    start = 0
    end = line_start
    while end > 0:  # upwards to the header of the table
        begin = text.rfind("\n", 0, end - 1) + 1
        header = _HEADER.match(text, begin, end)
        if header and not _is_in_array(text, begin):
            table, start = tuple(_parts(header[1])), end
            break
        end = begin
    return _in_table(text[start:offset], table)


def _is_in_array(text: str, start: int) -> bool:
    """Return True if the lines before an offset look like an array that goes on."""
    return text[max(0, start - 200) : start].rstrip().endswith((",", "["))


def word_at(text: str, offset: int) -> EditorCursor:
    """Return the place of a cursor behind the word at `offset`; a name in quotes is one word."""
    rest = re.compile(_IN_QUOTES if cursor_at(text, offset).kind == "text" else r"[\w-]*").match(text, offset)
    return cursor_at(text, rest.end() if rest else offset)


def _parts(keys: str) -> list[str]:
    """Return the parts of a dotted key; the last one is empty after a final dot."""
    found = [unquoted(part) for part in re.findall(_PART, keys)]
    return [*found, ""] if keys.rstrip().endswith(".") else found


def unquoted(written: str) -> str:
    """Return a key or text without its quotes, of which the last may be missing, and without escapes."""
    quote = next((each for each in ('"""', "'''", '"', "'") if written.startswith(each)), "")
    inner = written[len(quote) :]
    if quote and inner.endswith(quote):
        inner = inner[: -len(quote)]
    return _ESCAPE.sub(r"\1", inner) if quote.startswith('"') else inner


class _Frame:
    """A statement, an inline table or an array that is not closed yet."""

    def __init__(self, bracket: str, path: tuple[str, ...]) -> None:
        self.bracket, self.path = bracket, path
        self.keys: list[str] = []
        self.in_value = bracket == "["
        self.after_dot = False

    def add_key(self, key: str) -> None:
        """Add a part of a key; without a dot before it, a new key begins."""
        if not self.after_dot:
            self.keys = []
        self.keys.append(key)
        self.after_dot = False

    def end(self) -> None:
        """End a key with its value."""
        self.keys, self.in_value, self.after_dot = [], self.bracket == "[", False

    @property
    def place(self) -> tuple[str, ...]:
        return (*self.path, *self.keys)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(text):
        yield str(match.lastgroup), match[0]


def _in_table(text: str, table: tuple[str, ...]) -> EditorCursor:
    """Return the place of a cursor at the end of the text that follows a header."""
    frames = [_Frame("", table)]
    last, significant, before = ("newline", "\n"), "\n", ""
    for kind, token in _tokens(text):
        frame = frames[-1]
        if frame.in_value and last[0] == "bare" and (kind == "bare" or token.startswith(".")):
            last = ("bare", last[1] + token)  # such as 2.5
            continue
        is_stuck = last[0] == "newline" and frame.bracket and significant not in ("[", "{", ",")
        if is_stuck and (frame.bracket == "{" or (kind == "bare" and _NEXT_KEY.match(token + "="))):
            del frames[1:]  # a bracket was forgotten: most values end with their line
            frames[0].end()
            frame = frames[0]
        last = (kind, token)
        if kind not in ("blank", "comment", "newline"):
            before, significant = significant, token
        if kind in ("bare", "text") and not frame.in_value:
            frame.add_key(unquoted(token))
        elif kind == "newline" and not frame.bracket:
            frame.end()
        elif kind == "sign":
            _follow(frames, token)
    frame, (kind, token) = frames[-1], last
    if kind == "comment":
        return EditorCursor(path=frame.place, kind="comment", prefix=token)
    quote = token[:3] if token[:3] in ('"""', "'''") else token[:1]
    if kind == "text" and (len(token) == len(quote) or not token.endswith(quote)):
        prefix = unquoted(token)
        if frame.in_value:
            return EditorCursor(path=frame.place, kind="text", prefix=prefix, quote=quote)
        return EditorCursor(path=frame.place[:-1], kind="key", prefix=prefix, quote=quote)
    if frame.in_value:
        is_word = kind == "bare"
        if (before if is_word else significant) not in ("=", "[", ","):
            return EditorCursor(path=frame.place, kind="end")
        return EditorCursor(path=frame.place, kind="value", prefix=token if is_word else "")
    if kind == "text" or (kind == "blank" and frame.keys and not frame.after_dot):
        return EditorCursor(path=frame.place, kind="end")
    if kind == "bare":
        return EditorCursor(path=frame.place[:-1], kind="key", prefix=unquoted(token))
    return EditorCursor(path=frame.place if frame.after_dot else frame.path, kind="key")


def _follow(frames: list[_Frame], sign: str) -> None:
    frame = frames[-1]
    if sign in ("[", "{") and frame.in_value and len(frames) < _MAX_DEPTH:
        frames.append(_Frame(sign, frame.place))
    elif sign in ("]", "}") and len(frames) > 1:
        frames.pop()
    elif sign == "," and frame.bracket:
        frame.end()
    elif sign == "=" and not frame.in_value:
        frame.in_value = True
    elif sign == "." and not frame.in_value:
        frame.after_dot = True
