"""`KnownKey`: one key of a table of texts that an engine reads, with the texts that it understands.

Engines take settings as texts under keys, and many ignore a key or a text that they do not know. An option
of the type `dict[str, str]` with `known_keys` carries such settings and refuses what the engine would ignore.
"""

from __future__ import annotations

import re
from typing import Literal

from etconfig.base.records import record

_INTEGER = re.compile(r"-?[0-9]{1,19}")
_SWITCH = ("0", "1")


@record(frozen=True, kw_only=True)
class KnownKey:
    """One key that an engine reads, and the form of its text.

    Attributes:
        doc: Its meaning, for users.
        kind: The form of the text: any (`string`), a decimal number (`integer`), or `0` or `1` (`boolean`).
        choices: The texts that the engine understands, if they can be listed.
        minimum: The smallest number, for `integer`.
        maximum: The largest number, for `integer`.

    Raises:
        ValueError: the doc is empty, the kind does not exist, or choices or bounds do not belong to it or
            exclude everything.
    """

    doc: str
    kind: Literal["string", "integer", "boolean"] = "string"
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None

    def __post_init__(self) -> None:
        if not self.doc.strip():
            raise ValueError("a KnownKey needs a doc: say what the key does")
        if self.kind not in ("string", "integer", "boolean"):
            raise ValueError(
                f"kind of a KnownKey is {self.kind!r}; expected 'string', 'integer' or 'boolean'"
            )
        if self.choices and self.kind != "string":
            raise ValueError(f"a KnownKey of kind {self.kind!r} has no choices")
        if (self.minimum is not None or self.maximum is not None) and self.kind != "integer":
            raise ValueError(f"a KnownKey of kind {self.kind!r} has no bounds")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError(f"of a KnownKey, minimum is {self.minimum}, above maximum, {self.maximum}")

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that are allowed, if they can be listed."""
        return _SWITCH if self.kind == "boolean" else self.choices

    @property
    def expected(self) -> str:
        """The expected text in words, such as `one of '0', '1'`."""
        if self.texts:
            listed = ", ".join(map(repr, self.texts))
            return f"one of {listed}" if len(self.texts) > 1 else listed
        if self.kind == "string":
            return "a string"
        bounds = [
            f"{sign} {bound}"
            for sign, bound in ((">=", self.minimum), ("<=", self.maximum))
            if bound is not None
        ]
        return " ".join(["an integer", " and ".join(bounds)] if bounds else ["an integer"]) + " as a string"

    @property
    def pattern(self) -> str | None:
        """The pattern of the text for JSON Schema, or None if any text of its kind is allowed."""
        return f"^{_INTEGER.pattern}$" if self.kind == "integer" else None

    def accepts(self, text: str) -> bool:
        """Return True if the engine understands the text."""
        if self.texts:
            return text in self.texts
        if self.kind == "string":
            return True
        if not _INTEGER.fullmatch(text):
            return False
        lowest = self.minimum if self.minimum is not None else int(text)
        return lowest <= int(text) and (self.maximum is None or int(text) <= self.maximum)


def text_meant(key: KnownKey, raw: object) -> str | None:
    """Return the text that was probably meant by a value that is none, such as "1" by `true`."""
    if isinstance(raw, bool):
        text = str(int(raw))
    elif isinstance(raw, int) and abs(raw) < 10**15:
        text = str(raw)
    elif isinstance(raw, str) and key.kind == "boolean":
        text = {"true": "1", "on": "1", "yes": "1", "false": "0", "off": "0", "no": "0"}.get(
            raw.casefold(), ""
        )
    elif isinstance(raw, str) and key.choices:
        text = next((choice for choice in key.choices if choice.casefold() == raw.casefold()), "")
    else:
        return None
    return text if text and key.accepts(text) else None
