"""The help for a value that breaks a bound."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import model_validator

from etconfig.mistakes.option_values import help_with_value
from etconfig.schema.coerce import Mismatch, coerce
from etconfig.schema.constraints import Ge, Le, MultipleOf
from etconfig.schema.declaration import option
from etconfig.schema.options import BackendOptions
from etconfig.schema.problem import OptionProblem
from etconfig.schema.validate import check_value


class Stepped(BackendOptions):
    """Options with steps."""

    timeout: Annotated[int, MultipleOf(1000)] = option(0, applies="load", unit="us", doc="A limit.")
    lanes: Annotated[int, Ge(4), Le(10), MultipleOf(4)] = option(4, applies="load", doc="Lanes.")
    threads: Annotated[int, Ge(1), Le(16)] = option(1, applies="load", doc="Threads.")
    share: Annotated[float, Ge(0.0)] = option(1.0, applies="load", doc="A share.")
    size: Annotated[int, Ge(1024)] = option("1 KiB", applies="load", unit="bytes", doc="A size.")


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("timeout", "1.5 ms", None),
        ("lanes", 5, None),
        ("size", "1 KB", 'write "1 KiB"'),
        ("size", 3, None),
        ("timeout", "much", "write a number and one of ns, us, ms, s, min, h"),
        ("timeout", 0.5, None),
        ("threads", "-1", None),
        ("threads", "-1.0", None),
        ("threads", "64", None),
        ("threads", "4", "write 4 without quotes"),
        ("threads", "1.5", None),
        ("share", "-0.5", None),
        ("share", "0.5", "write 0.5 without quotes"),
        ("share", "half", None),
    ],
)
def test_only_what_fits_is_suggested(name: str, raw: Any, expected: str | None) -> None:
    wanted = Stepped.option_infos()[name].type
    mismatch = coerce(wanted, raw)
    assert isinstance(mismatch, Mismatch)
    assert help_with_value(mismatch, wanted, raw, lambda value: None).help == expected


class Placed(BackendOptions):
    """Options with a text that has a form of its own."""

    device: str = option("cpu", applies="load", doc="The device.")
    count: int | None = option(None, applies="load", doc="A number.")

    @model_validator(mode="after")
    def check(self) -> Placed:
        """Refuse a device without a name, and a number beside the default device."""
        if self.device.isdecimal():
            raise ValueError(f"device must begin with a name, not {self.device!r}")
        if self.count is not None and self.device == "cpu":
            raise ValueError("count needs another device")
        return self


def test_a_guess_that_the_backend_refuses_is_not_offered() -> None:
    problem = check_value(Placed, Placed.option_infos()["device"], 0)
    assert isinstance(problem, OptionProblem)
    assert problem.respelling is None
    assert problem.help == "\"0\" is refused, too: Placed: device must begin with a name, not '0'"


def test_a_guess_that_needs_another_option_is_offered() -> None:
    problem = check_value(Placed, Placed.option_infos()["count"], "2")
    assert isinstance(problem, OptionProblem)
    assert problem.respelling is not None
    assert problem.help == "write 2 without quotes"


class Listed(BackendOptions):
    """Options with arrays."""

    names: list[str] = option([], applies="load", doc="Names.")
    sizes: list[int] = option([], applies="load", doc="Sizes.")


def test_an_array_without_its_quotes_is_repaired_and_half_of_one_is_not() -> None:
    for name, raw, help in (
        ("names", "[a, b]", 'write ["a", "b"]'),
        ("names", "[a]", 'write ["a"]'),
        ("names", "a, b", 'write ["a", "b"]'),
        ("names", "a", 'write ["a"]'),
        ("names", '["a", "b"]', 'write ["a", "b"] without quotes'),
        ("sizes", "[1, 2]", "write [1, 2] without quotes"),
        ("sizes", "1,2", "write [1, 2]"),
        *(("names", raw, None) for raw in ("[a, b", "a, b]", "[[a], b]", '["a, b]', "[{a}, b]")),
    ):
        problem = check_value(Listed, Listed.option_infos()[name], raw)
        assert isinstance(problem, OptionProblem)
        if help is not None:
            assert (raw, problem.help) == (raw, help)
            assert problem.respelling is not None
        else:
            assert (problem.help or "").startswith("write an array: "), raw
            assert problem.respelling is None, raw
