"""Values of options from texts, as `--set` reads them."""

from __future__ import annotations

from coerced_values import coerce_value

from etconfig.schema.declaration import OptionInfo
from etconfig.schema.text import read_text


def coerce_text(info: OptionInfo, text: str) -> object:
    """Return the value of an option that a text of `--set` means."""
    return coerce_value(info, read_text(info.type, text))
