"""Values of options from raw values and from texts, as `--set` reads them."""

from __future__ import annotations

from etconfig.errors import OptionError
from etconfig.schema.coerce import Mismatch, coerce
from etconfig.schema.declaration import OptionInfo
from etconfig.schema.problem import OptionProblem, ProblemKind
from etconfig.schema.value_text import read_text


def coerce_value(info: OptionInfo, raw: object) -> object:
    """Convert `raw` to a value of option `info` within its bounds.

    A value that already has the option's type stays as it is.

    Args:
        info: The option.
        raw: A value from TOML, JSON or Python.

    Raises:
        OptionError: `raw` does not fit the option; its only diagnostic says what would.
    """
    result = coerce(info.type, raw)
    if not isinstance(result, Mismatch):
        return result
    problem = OptionProblem(
        kind=ProblemKind.INVALID,
        option=info.name,
        message=f"{info.name}{result.place}: {result.message}",
        help=result.help,
    )
    raise OptionError(diagnostics=(problem.to_diagnostic(),))


def coerce_text(info: OptionInfo, text: str) -> object:
    """Return the value of an option that a text of `--set` means."""
    return coerce_value(info, read_text(info.type, text))
