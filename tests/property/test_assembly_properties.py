"""Options that are made without pydantic are those that pydantic makes."""

from __future__ import annotations

import copy
import enum
import pickle
import subprocess
import sys
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Interval
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    Field,
    GetCoreSchemaHandler,
    PrivateAttr,
    ValidationError,
    field_validator,
)

from etconfig.schema.constraints import Ge, Gt, Le, Len, Lt, MultipleOf
from etconfig.schema.declaration import option
from etconfig.schema.options import BackendOptions, model_validator
from etconfig.schema.problem import OptionProblem
from etconfig.schema.validate import assemble_options, build_options, check_value


class Mode(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Plain(BackendOptions):
    """One option of each kind that pydantic has nothing to add to, and a check of the whole."""

    flag: bool = option(False, applies="load", doc="A flag.")
    count: Annotated[int, Ge(0), Le(2**40)] = option(1, applies="load", doc="A number.")
    step: Annotated[int, Interval(gt=-9, lt=100), MultipleOf(4)] = option(4, applies="load", doc="A number.")
    needed: int = option(applies="load", doc="Somebody must say it.")
    ratio: Annotated[float, Gt(0), Lt(10.5)] = option(1.0, applies="load", doc="A number.")
    free: float = option(0.0, applies="load", doc="A number.")
    label: str = option("", applies="load", doc="A text.")
    name: Annotated[str, Len(1, 4)] = option("a", applies="load", doc="A text.")
    mode: Mode = option("low", applies="load", doc="A choice.")
    level: Literal[1, 2, "all"] = option(1, applies="load", doc="A choice.")
    limit: int | None = option(None, applies="load", doc="A number, or none.")
    bounded: Annotated[int, Ge(0), Le(9)] | None = option(None, applies="load", doc="A number, or none.")
    listed: tuple[Annotated[int, Ge(0)], ...] | None = option(None, applies="load", doc="Numbers, or none.")
    sizes: Annotated[tuple[Annotated[int, Ge(1)], ...], Len(0, 3)] = option(
        [1], applies="load", doc="Numbers."
    )

    @model_validator(mode="after")
    def _check(self) -> Plain:
        if self.count == 13:
            raise ValueError("count must not be 13")
        return self


class IntegerOf(int):
    """An integer of somebody's own."""


class TextOf(str):
    """A text of somebody's own."""

    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


RAW: dict[str, st.SearchStrategy[object]] = {
    "flag": st.booleans(),
    "count": st.integers(-1, 20) | st.sampled_from([13, 2**40, 2**40 + 1, 10**400, IntegerOf(7), True, "1"]),
    "step": st.integers(-12, 104),
    "needed": st.integers() | st.builds(IntegerOf, st.integers()),
    "ratio": st.floats(0, 11) | st.sampled_from([0.0, 10.5, float("nan"), float("inf"), 1]),
    "free": st.floats(),
    "label": st.text() | st.builds(TextOf, st.text()) | st.sampled_from(["\ud800", "a\udc80"]),
    "name": st.text(max_size=6) | st.builds(TextOf, st.text(max_size=6)) | st.just("\ud800"),
    "mode": st.sampled_from([*Mode, "low", "HIGH", "no"]),
    "level": st.sampled_from([1, 2, "all", True, 1.0, "1", IntegerOf(1)]),
    "limit": st.none() | st.integers(),
    "bounded": st.none() | st.integers(-1, 10) | st.booleans(),
    "listed": st.none() | st.lists(st.integers(-1, 3), max_size=2),
    "sizes": st.lists(st.integers(-1, 3), max_size=4) | st.just((1, IntegerOf(2))),
}


def checked(raw: dict[str, object]) -> dict[str, object]:
    """The values that `check_value` accepts."""
    found = {name: check_value(Plain, Plain.option_infos()[name], value) for name, value in raw.items()}
    return {name: value for name, value in found.items() if not isinstance(value, OptionProblem)}


class TestPlainClasses:
    """`assemble_options` gives what the class itself gives, in every respect that can be seen."""

    @given(st.fixed_dictionaries({}, optional=RAW))
    def test_both_ways_make_the_same_or_refuse_the_same(self, raw):
        values = checked(raw)
        made = assemble_options(Plain, values)
        if made is None:
            with pytest.raises(ValidationError):
                Plain(**values)
            return
        expected = Plain(**values)
        assert made == expected
        assert expected == made
        assert type(made) is Plain
        assert hash(made) == hash(expected)
        assert list(made) == list(expected)
        assert [type(value) for _, value in made] == [type(value) for _, value in expected]
        assert repr(made) == repr(expected)
        assert made.model_fields_set == expected.model_fields_set
        assert made.__getstate__() == expected.__getstate__()
        assert made.model_dump() == expected.model_dump()
        assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == expected

    def test_they_are_frozen(self):
        with pytest.raises(ValidationError, match="Instance is frozen"):
            assemble_options(Plain, {"needed": 1}).count = 2

    def test_a_missing_option_is_told(self):
        problems = build_options(Plain, {}).problems
        assert [problem.message for problem in problems] == ["Plain.needed is required and not set"]

    def test_a_check_of_the_whole_is_told(self):
        problems = build_options(Plain, {"needed": 1, "count": 13}).problems
        assert [problem.message for problem in problems] == ["Plain: count must not be 13"]

    def test_an_option_that_is_not_there_is_left_to_pydantic(self):
        assert assemble_options(Plain, {"needed": 1, "nedeed": 2}) is None


class Changeable(BackendOptions):
    """Arrays and tables, which each object has for itself."""

    counts: dict[str, Annotated[int, Ge(1)]] = option({"a": 1}, applies="load", doc="Numbers by name.")
    words: Annotated[dict[str, str], Len(0, 2)] = option({}, applies="load", doc="Texts by name.")
    sizes: Annotated[list[Annotated[int, Ge(1)]], Len(0, 3)] = option([1], applies="load", doc="Numbers.")
    maybe: list[str] | None = option(None, applies="load", doc="Texts, or none.")


KEYS = st.sampled_from(["a", "b", "c"]) | st.builds(TextOf, st.just("d")) | st.just("\ud800") | st.just(1)
CHANGEABLE_RAW: dict[str, st.SearchStrategy[object]] = {
    "counts": st.dictionaries(KEYS, st.integers(0, 3) | st.booleans()),
    "words": st.dictionaries(KEYS, st.text(max_size=3)),
    "sizes": st.lists(st.integers(0, 3) | st.booleans(), max_size=4),
    "maybe": st.none() | st.lists(st.text(max_size=2)),
}


class TestChangeableValues:
    """Arrays and tables are made without pydantic, too, and are those that pydantic makes."""

    @given(st.fixed_dictionaries({}, optional=CHANGEABLE_RAW))
    def test_both_ways_make_the_same(self, raw):
        found = {
            name: check_value(Changeable, Changeable.option_infos()[name], value)
            for name, value in raw.items()
        }
        values = {name: value for name, value in found.items() if not isinstance(value, OptionProblem)}
        made, expected = assemble_options(Changeable, values), Changeable(**values)
        assert made == expected
        assert repr(made) == repr(expected)
        assert made.model_dump() == expected.model_dump()
        assert {type(key) for key in made.counts} <= {str}


def option_class(annotation: Any, default: object, **extras: Any) -> type[BackendOptions]:
    """A class with one option, and whatever else it shall have."""
    fields = {
        "__annotations__": {"value": annotation},
        "__module__": __name__,
        "value": option(default, applies="load", doc="A value."),
    }
    return type("Special", (BackendOptions,), fields | extras)


def core_schema(cls: Any, source: Any, handler: GetCoreSchemaHandler) -> Any:
    return handler(source)


class TestOtherClasses:
    """If pydantic checks or does more than etconfig knows, pydantic makes the options."""

    @pytest.mark.parametrize(
        ("annotation", "default", "extras"),
        [
            (list[list[int]], [[1]], {}),
            (tuple[list[int], ...], [], {}),
            (dict[str, list[int]], {}, {}),
            (list[Annotated[int, AfterValidator(abs)]], [1], {}),
            (Annotated[str, Field(pattern="^a")], "a", {}),
            (Annotated[int, AfterValidator(abs)], 1, {}),
            (tuple[Annotated[int, AfterValidator(abs)], ...], [], {}),
            (Annotated[int, Field(validate_default=True)], 1, {}),
            (Annotated["int | None", Ge(1)], None, {}),
            (int, 1, {"_check": field_validator("value")(lambda value: value)}),
            (int, 1, {"_check": model_validator(mode="before")(lambda values: values)}),
            (int, 1, {"_note": PrivateAttr(default=1), "__annotations__": {"value": int, "_note": int}}),
            (int, 1, {"__init__": lambda self, **values: BackendOptions.__init__(self, **values)}),
            (int, 1, {"model_post_init": lambda self, context: None}),
            (int, 1, {"__get_pydantic_core_schema__": classmethod(core_schema)}),
        ],
    )
    def test_only_pydantic_makes_them(self, annotation, default, extras):
        assert assemble_options(option_class(annotation, default, **extras), {"value": default}) is None

    @pytest.mark.parametrize(
        ("annotation", "default", "value"),
        [(list[int], [1], [1, 2]), (dict[str, int], {"a": 1}, {"a": 2}), (list[list[int]], [[1]], [[2]])],
    )
    def test_values_that_can_change_are_not_shared(self, annotation, default, value):
        shared = option_class(annotation, default)
        first, second = (build_options(shared, {"value": value}).options for _ in range(2))
        assert first.value == second.value == value
        assert first.value is not second.value
        assert first.value is not value
        first, second = (build_options(shared, {}).options for _ in range(2))
        assert first.value == second.value == default
        assert first.value is not second.value

    def test_a_check_that_returns_another_object_is_left_to_pydantic(self):
        other = option_class(int, 1, _check=model_validator(mode="after")(lambda self: self.model_copy()))
        assert assemble_options(other, {"value": 2}) is None


def test_defining_and_making_plain_options_builds_no_validator():
    """The first one that pydantic builds makes it import importlib.metadata."""
    code = (
        "import sys\n"
        "from etconfig.schema.declaration import option\n"
        "from etconfig.schema.options import BackendOptions\n"
        "from etconfig.schema.validate import assemble_options, build_options\n"
        "class Options(BackendOptions):\n"
        "    value: int = option(1, applies='load', doc='A value.')\n"
        "assert build_options(Options, {'value': 2}).options.value == 2\n"
        "assert 'importlib.metadata' not in sys.modules\n"
        "assert Options(value=2) == build_options(Options, {'value': 2}).options\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
