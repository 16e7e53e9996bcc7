"""`variable_text`: the value of an option as the environment variable that the engine reads for it."""

from __future__ import annotations

from typing import Any

from etconfig.base.plain_data import jsonable
from etconfig.schema.declaration import OptionInfo


def variable_text(info: OptionInfo, variable: str, value: object) -> str | None:
    """Return the text of a variable for a value of an option; None if the variable cannot express it.

    Args:
        info: The option.
        variable: One of `info.env`.
        value: A value of the option, not None.
    """
    plain: Any = jsonable(value)
    texts = info.env[variable]
    if texts is not None:
        return texts.get(plain)
    text = str(int(plain)) if isinstance(plain, bool) else str(plain)
    return None if "\0" in text else text  # the system ends a variable there
