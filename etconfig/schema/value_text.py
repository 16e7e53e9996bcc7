"""Read values from the text of `--set` or `ETCONFIG_SET`, nearly as TOML would."""

from __future__ import annotations

import re

from etconfig.base.plain_data import RepeatedKeyError, parse_json
from etconfig.schema.option_type import OptionKind, OptionType

_INTEGER = re.compile(
    r"[+-]?(0|[1-9](_?[0-9])*)|0x[0-9A-Fa-f](_?[0-9A-Fa-f])*|0o[0-7](_?[0-7])*|0b[01](_?[01])*"
)
_FLOAT = re.compile(r"[+-]?(0|[1-9](_?[0-9])*)(\.[0-9](_?[0-9])*)?([eE][+-]?[0-9](_?[0-9])*)?")
_MAX_NUMBER_LENGTH = 64


def read_text(wanted: OptionType, text: str) -> object:
    """Return the raw value of `text` for an option of type `wanted`, not yet checked.

    Strings and choices need no quotes. Numbers and booleans are written as in TOML, arrays and tables as in
    JSON. Any other text is returned unchanged.
    """
    if wanted.kind in (OptionKind.ARRAY, OptionKind.TABLE, OptionKind.RECORD):
        return _read_json(text)
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1] if text[0] == "'" else _read_json(text)
    if wanted.kind is OptionKind.STRING or text in wanted.choices:
        return text
    return parse_scalar(text)


def parse_scalar(text: str) -> bool | int | float | str:
    """Return a boolean, integer or float that is written as in TOML; return any other text unchanged."""
    if text in ("true", "false"):
        return text == "true"
    if len(text) > _MAX_NUMBER_LENGTH:
        return text
    if _INTEGER.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def _read_json(text: str) -> object:
    try:
        return parse_json(text)
    except RepeatedKeyError as error:
        return error  # which no option accepts
    except (ValueError, RecursionError):
        return text
