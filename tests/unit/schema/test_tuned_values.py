"""The values that `etconfig tune` tries: those declared, and those that follow from a type."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest

from etconfig.plugin.v1 import BackendOptions, Ge, Le, TuneRange, option
from etconfig.schema.tuned_values import values_of_type
from etconfig.schema.units import Unit


def values(annotation: Any, unit: str | None = None, cores: int = 6) -> tuple[object, ...]:
    """Return the values that follow from the type of an option."""
    made = type(
        "Made",
        (BackendOptions,),
        {
            "__annotations__": {"x": annotation},
            "__module__": __name__,
            "x": option(doc="X.", applies="load", unit=unit),
        },
    )
    info = made.option_infos()["x"]
    return values_of_type(info.type, info.unit, cores)


def test_values_follow_from_types() -> None:
    cases: list[tuple[Any, str | None, tuple[object, ...]]] = [
        (bool, None, (False, True)),
        (bool | None, None, (False, True)),
        (Literal["a", "b"], None, ("a", "b")),
        (int, "threads", (1, 2, 4, 6)),
        (Annotated[int, Ge(0), Le(4)] | None, "threads", (1, 2, 4)),
        (Annotated[int, Ge(0), Le(3)], None, (0, 1, 2, 3)),
        (Annotated[int, Ge(0), Le(2**31)], None, ()),
        (int, None, ()),
        (int, "bytes", ()),
        (float, None, ()),
        (str, None, ()),
        (str | None, None, ()),
        (list[str], None, ()),
        (dict[str, str], None, ()),
    ]
    assert [(kind, unit, values(kind, unit)) for kind, unit, _ in cases] == cases


def test_threads_are_powers_of_two_up_to_the_cores() -> None:
    ladders = {cores: values(int, Unit.THREADS.value, cores) for cores in (1, 2, 3, 8, 12)}
    assert ladders == {1: (1, 2), 2: (1, 2), 3: (1, 2, 3), 8: (1, 2, 4, 8), 12: (1, 2, 4, 8, 12)}


def test_ranges_have_their_ends_and_points_between() -> None:
    assert TuneRange(1, 16, log=True).values() == (1, 2, 4, 8, 16)
    assert TuneRange(0, 100).values() == (0, 25, 50, 75, 100)
    assert TuneRange(0.5, 1.0, points=3).values() == (0.5, 0.75, 1.0)
    assert TuneRange(1, 3).values() == (1, 2, 3)
    for wrong in ((3, 3), (4, 3)):
        with pytest.raises(ValueError, match="is not a range to try"):
            TuneRange(*wrong)
    with pytest.raises(ValueError, match="is not a range to try"):
        TuneRange(0, 3, log=True)


def test_declarations_are_checked() -> None:
    class Right(BackendOptions):
        mode: Literal["a", "b", "c"] = option("a", doc="M.", applies="load", tune=("a", "c"))
        size: Annotated[int, Ge(1)] = option(1, doc="S.", applies="load", tune=TuneRange(1, 8, log=True))
        cache: bool = option(False, doc="C.", applies="load", tune=False)

    tried = {name: info.tune for name, info in Right.option_infos().items()}
    assert tried == {"mode": ("a", "c"), "size": TuneRange(1, 8, log=True), "cache": False}
    cases: list[tuple[Any, Any, str]] = [
        (int, "12", "tune of option() is '12'; expected True, False, a TuneRange or values"),
        (int, 3, "tune of option() is 3; expected True, False, a TuneRange or values"),
        (str, True, "Wrong.x has tune=True, but nothing to try follows from its type, string"),
        (int, (1, "a"), "Wrong.x has the value 'a' in tune: expected an integer"),
        (Annotated[int, Le(4)], TuneRange(1, 9), "Wrong.x has the value 5 in tune: expected an integer <= 4"),
    ]
    for kind, tune, message in cases:
        with pytest.raises(TypeError) as caught:
            type(
                "Wrong",
                (BackendOptions,),
                {
                    "__annotations__": {"x": kind},
                    "__module__": __name__,
                    "x": option(doc="X.", applies="load", tune=tune),
                },
            )
        assert str(caught.value).startswith(message)
