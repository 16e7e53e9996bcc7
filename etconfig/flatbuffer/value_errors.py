"""`ValueErrors`: the exceptions for damaged files whose readers raise `ValueError`."""

from __future__ import annotations

_REASONS = {"bad-string": "a text does not end where it should"}
"""The words for a code of the reader; for other codes, its own detail is used."""


class ValueErrors:
    """Makes a ValueError that says in a few words what is wrong; their readers add the name of the file."""

    def truncated(self, field: str, offset: int, needed_bytes: int, available_bytes: int) -> ValueError:
        """Something takes more bytes than are left."""
        return ValueError("it ends too early")

    def malformed(self, code: str, field: str, detail: str, *, offset: int | None = None) -> ValueError:
        """The bytes contradict the format."""
        return ValueError(_REASONS.get(code, detail))

    def undecodable(self, field: str, reason: str, offset: int) -> ValueError:
        """A text is not UTF-8."""
        return ValueError("a text is not UTF-8")

    def missing_field(self, field: str) -> ValueError:
        """A required field is absent."""
        return ValueError("a required field is missing")

    def string_too_long(self, field: str, offset: int, size_bytes: int, limit: int) -> ValueError:
        """A text is longer than any file may be, so it ends after the file does."""
        return self.truncated(field, offset, size_bytes, limit)

    def too_much_work(self, field: str, limit: int) -> ValueError:
        """References lead to the same table again and again; a sound file refers to each once."""
        return ValueError("tables overlap")
