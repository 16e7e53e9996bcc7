"""`Bound`: what configurations must keep, such as `memory < 64 MiB`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from etconfig.base.records import record
from etconfig.schema.units import Unit, parse_quantity

_FORM = re.compile(r"\s*(\w+)\s*<\s*(\S.*?)\s*")
_UNITS: Mapping[str, Unit | None] = {"memory": Unit.BYTES, "latency": Unit.NANOSECONDS, "error": None}


@record(frozen=True)
class Bound:
    """An upper bound.

    Attributes:
        name: `memory`, `latency` or `error`.
        limit: The limit, in bytes, nanoseconds or as a share.
        text: The bound as it was written.
    """

    name: str
    limit: float
    text: str

    def problem(self, found: float | None) -> str | None:
        """Return the way in which a measured value breaks the bound, or None; an unknown one does."""
        if found is None:
            return f"its {self.name} is unknown, but {self.text} is asked for"
        return None if found < self.limit else f"its {self.name} breaks {self.text}"


def parse_bound(text: str) -> Bound:
    """Return the bound that a text means.

    Raises:
        ValueError: it means none; the message says how to write one.
    """
    match = _FORM.fullmatch(text)
    if match is None or match[1] not in _UNITS:
        raise ValueError(f"{text!r} is not a bound; write memory < 64 MiB, latency < 5 ms or error < 0.001")
    unit = _UNITS[match[1]]
    try:
        limit = float(match[2]) if unit is None else float(parse_quantity(match[2], unit))
    except ValueError as error:
        raise ValueError(f"{text!r} is not a bound: {error}") from None
    if not 0 < limit < math.inf:
        raise ValueError(f"{text!r} is not a bound: the limit must be above 0 and finite")
    return Bound(match[1], limit, f"{match[1]} < {match[2]}")
