"""Text of files and plugins made safe to print: nothing in it controls a terminal or a CI service.

Source for workflow commands: actions/runner, ActionCommand.cs, which accepts `::` after white space at the
start of a line, and `##[` anywhere; other services have `##vso[` and `##teamcity[`.
"""

from __future__ import annotations

import re

_COMMAND_START = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
_BRACKET_COMMAND = re.compile(r"#(?=#\w{0,20}\[)")
_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")

MAX_TEXT = 2_000
"""The most characters of one text that is printed for people; `shorten` cuts longer ones."""


def escape_line(text: str) -> str:
    r"""Return one line that shows unprintable characters, newlines and tabs too, as `\u001b`.

    Unprintable are control characters, also C1 (U+0080 to U+009F), characters without a width or that
    reorder text (U+202E), line and paragraph separators, lone surrogates, and what Unicode does not assign.
    """
    return _defuse(escape_text(text))


def escape_lines(text: str) -> str:
    """Do the same as `escape_line` for a text of several lines: newlines and tabs stay."""
    return _defuse(escape_text(text, keep="\n\t"))


def escape_styled_lines(text: str) -> str:
    """Do the same as `escape_lines`, and leave colors alone: every foreign part was escaped before."""
    pieces = _STYLE.split(text)
    if len(pieces) == 1:
        return escape_lines(text)
    # only what starts a line may look like the start of one
    return "".join(
        piece if at % 2 else escape_lines(f"|{piece}")[1:] if at else escape_lines(piece)
        for at, piece in enumerate(pieces)
    )


def escape_unencodable(text: str, encoding: str | None) -> str:
    """Show the characters that an encoding lacks as `escape_line` does; a stream may have no encoding."""
    codec = encoding or "utf-8"
    try:
        text.encode(codec)
    except UnicodeEncodeError:
        return "".join(c if c.encode(codec, "ignore") else _notation(c) for c in text)
    return text


def escape_json(text: str, encoding: str | None = None) -> str:
    """Escape the same characters in a JSON text, which stays equal data: they occur only in its strings.

    Args:
        text: The JSON text.
        encoding: The encoding of the stream that it is written to; characters that it lacks are escaped, too.
    """
    if not text.replace("\n", "").isprintable():
        text = "".join(c if c == "\n" or c.isprintable() else _json_notation(c) for c in text)
    text = _BRACKET_COMMAND.sub(r"\\u0023", text)
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return "".join(c if c.isascii() else _json_notation(c) for c in text)
    return text


def shorten(text: str, limit: int = MAX_TEXT) -> str:
    """Cut a text that is longer than `limit` characters, and say how much was left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}... ({len(text) - limit:,} more characters)"


def escape_text(text: str, *, keep: str = "") -> str:
    """Escape unprintable characters that are not in `keep`; commands of CI services stay as they are."""
    if text.translate(dict.fromkeys(map(ord, keep))).isprintable() if keep else text.isprintable():
        return text
    return "".join(c if c in keep or c.isprintable() else _notation(c) for c in text)


def _defuse(text: str) -> str:
    if "::" in text:
        text = _COMMAND_START.sub(r"\1\\u003a", text)
    return _BRACKET_COMMAND.sub(r"\\u0023", text) if "##" in text else text


def _notation(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_notation(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    above = code - 0x10000  # as a pair of surrogates
    return f"\\u{0xD800 + (above >> 10):04x}\\u{0xDC00 + (above & 0x3FF):04x}"
