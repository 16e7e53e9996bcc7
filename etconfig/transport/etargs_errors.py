"""Errors of damaged `.etargs` files, as `FlatBufferReader` asks for them.

They are ValueErrors that say in a few words what is wrong; `read_package` adds which file it is.
"""

from __future__ import annotations

_REASONS = {"bad-string": "a text does not end where it should"}
"""Words for a code of the reader; for other codes, its own detail is used."""


def truncated(field: str, offset: int, needed_bytes: int, available_bytes: int) -> ValueError:
    """Something takes more bytes than are left."""
    return ValueError("it ends too early")


def malformed(code: str, field: str, detail: str, *, offset: int | None = None) -> ValueError:
    """The bytes contradict the format."""
    return ValueError(_REASONS.get(code, detail))


def undecodable(field: str, reason: str, offset: int) -> ValueError:
    """A text is not UTF-8."""
    return ValueError("a text is not UTF-8")


def missing_field(field: str) -> ValueError:
    """A required field is absent."""
    return ValueError("a required field is missing")


def string_too_long(field: str, offset: int, size_bytes: int, limit: int) -> ValueError:
    """A text is longer than any file may be."""
    return truncated(field, offset, size_bytes, limit)


def too_much_work(field: str, limit: int) -> ValueError:
    """Tables overlap: a sound file has each of them once."""
    return ValueError("tables overlap")
