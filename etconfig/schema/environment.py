"""Options as the environment variables that engines read for them."""

from __future__ import annotations

from typing import Any

from etconfig.base.plain_data import jsonable
from etconfig.schema.declaration import OptionInfo
from etconfig.schema.spec import BackendSpec


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


def described_variables(spec: BackendSpec) -> dict[str, str]:
    """Return the effect of each variable of a backend, and the option that it is for."""
    owners = {variable: info.name for info in spec.options.option_infos().values() for variable in info.env}
    return {
        name: f"{doc} Option: {owners[name]}." if name in owners else doc
        for name, doc in spec.environment.items()
    }
