"""The help for a value that breaks a bound."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from etconfig.schema import BackendOptions, option
from etconfig.schema.coerce import Mismatch, coerce
from etconfig.schema.constraints import Ge, Le, MultipleOf
from etconfig.schema.value_help import help_with_value


class Stepped(BackendOptions):
    """Options with steps."""

    timeout: Annotated[int, MultipleOf(1000)] = option(0, applies="load", unit="us", doc="A limit.")
    lanes: Annotated[int, Ge(4), Le(10), MultipleOf(4)] = option(4, applies="load", doc="Lanes.")
    size: Annotated[int, Ge(1024)] = option("1 KiB", applies="load", unit="bytes", doc="A size.")


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("timeout", "1.5 ms", "write 1000 or 2000"),
        ("timeout", 1999, "write 1000 or 2000"),
        ("lanes", 5, "write 4 or 8"),
        ("lanes", 2, "write 4"),
        ("lanes", 10, "write 8"),
        ("lanes", 40, None),
        ("size", "1 KB", 'write "1 KiB"'),
        ("size", 3, None),
        ("timeout", "much", "write a number and one of ns, us, ms, s, min, h"),
        ("timeout", 0.5, "write a whole number"),
    ],
)
def test_a_multiple_nearby_is_suggested(name: str, raw: Any, expected: str | None) -> None:
    wanted = Stepped.option_infos()[name].type
    mismatch = coerce(wanted, raw)
    assert isinstance(mismatch, Mismatch)
    assert help_with_value(mismatch, wanted, raw).help == expected
