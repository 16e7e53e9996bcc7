"""`BackendOptions` and `option()`: what a declaration means, and which ones are refused."""

from __future__ import annotations

import enum
import re
import warnings
from typing import Annotated, Any, ClassVar, Literal, Optional

import pytest
from npu import INFOS, NpuOptions, PowerMode
from pydantic import ValidationError

from etconfig.schema.constraints import Ge, Gt, Le, Len, Lt, MultipleOf
from etconfig.schema.declaration import MISSING, Applies, Scope, Wire, option
from etconfig.schema.option_type import OptionKind
from etconfig.schema.options import BackendOptions
from etconfig.schema.units import Unit


class Mode(enum.Enum):
    OFF = "off"
    ON = "on"


class Numbered(enum.Enum):
    ONE = 1


class Empty(enum.Enum):
    pass


def options_class(annotation: Any, **declaration: Any) -> type[BackendOptions]:
    declaration = {"applies": "load", "doc": "An option.", **declaration}
    namespace = {
        "__annotations__": {"value": annotation},
        "value": option(**declaration),
        "__module__": __name__,
    }
    return type("Options", (BackendOptions,), namespace)


class TestOptionInfo:
    """Each option states type, constraint, default or fact, applies, scope, unit, doc, history, wire."""

    def test_names_come_in_the_order_of_declaration(self):
        assert list(INFOS)[:4] == ["core", "threads", "cache_bytes", "timeout"]

    def test_an_option_without_default_and_fact_is_required(self):
        assert [name for name, info in INFOS.items() if info.is_required] == ["core"]
        assert INFOS["core"].default is MISSING
        assert repr(MISSING) == "MISSING"

    def test_the_infos_contain_the_declarations(self):
        info = INFOS["threads"]
        assert (info.name, info.doc, info.from_fact) == ("threads", "Worker threads.", "cpu.available_cores")
        assert (info.applies, info.scope, info.unit) == (Applies.EXECUTE, Scope.PROCESS, Unit.THREADS)
        assert info.renamed_from == ("num_threads",)
        assert INFOS["verbose"].deprecated == "use tracing"
        assert INFOS["timeout"].since == "2.1"

    def test_constraints_and_choices_are_given_in_words(self):
        assert INFOS["core"].constraints == (">= 0", "<= 3")
        assert INFOS["label"].constraints == ("at least 1 character", "at most 8 characters")
        assert INFOS["power_mode"].choices == ("low", "high-power")
        assert INFOS["tile"].choices == (0, 32, "auto")

    def test_the_wire_key_is_the_name_by_default(self):
        assert INFOS["core"].wire == Wire(key="core")
        assert INFOS["power_mode"].wire.key == "power"
        assert options_class(int, wire="other").option_infos()["value"].wire == Wire(key="other")
        assert options_class(int, wire=Wire(key=None)).option_infos()["value"].wire.key is None

    def test_the_infos_cannot_be_changed(self):
        with pytest.raises(TypeError, match="does not support item assignment"):
            INFOS["core"] = INFOS["threads"]  # type: ignore[index]

    def test_an_inherited_option_is_an_option(self):
        class More(NpuOptions):
            extra: int = option(1, applies="load", doc="More.")

        assert list(More.option_infos()) == [*INFOS, "extra"]
        assert More(core=0, threads=1).extra == 1
        assert More.former_names() == {"num_threads": "threads"}

    def test_class_variables_are_not_options(self):
        class Versioned(BackendOptions):
            VERSION: ClassVar[int] = 3

        assert dict(Versioned.option_infos()) == {}

    @pytest.mark.parametrize(
        ("annotation", "name", "expected"),
        [
            (bool, "boolean", "true or false"),
            (int, "integer", "an integer"),
            (float, "float", "a float"),
            (str, "string", "a string"),
            (Mode, "choice", "one of 'off', 'on'"),
            (Literal["a"], "choice", "'a'"),
            (Literal["a", 1], "choice", "one of 'a', 1"),
            (int | None, "integer", "an integer"),
            (Optional[str], "string", "a string"),  # noqa: UP045 (both spellings must work)
            (list[str], "array of strings", "an array, each item a string"),
            (tuple[int, ...], "array of integers", "an array, each item an integer"),
            (dict[str, float], "table of floats", "a table, each value a float"),
            (list[list[float]], "array of arrays of floats", None),
            (Annotated[int, Gt(0), Lt(9)], "integer", "an integer > 0 and < 9"),
            (Annotated[float, Ge(0.5)], "float", "a float >= 0.5"),
            (Annotated[int, Le(4)] | None, "integer", "an integer <= 4"),
            (Annotated[int | None, Le(4)], "integer", "an integer <= 4"),
            (
                Annotated[list[Annotated[int, Ge(0)]], Len(1)],
                "array of integers",
                "an array, at least 1 item, each item an integer >= 0",
            ),
            (Annotated[dict[str, str], Len(2, 3)], "table of strings", None),
        ],
    )
    def test_types_are_named_in_the_terms_of_toml(self, annotation, name, expected):
        info = options_class(annotation).option_infos()["value"]
        assert str(info.type) == name
        assert expected is None or info.expected == expected

    @pytest.mark.parametrize(
        ("value", "is_multiple"), [(0.3, True), (0.0, True), (0.35, False), (-0.2, True)]
    )
    def test_a_multiple_of_a_float_allows_for_rounding(self, value, is_multiple):
        info = options_class(Annotated[float, MultipleOf(0.1)]).option_infos()["value"]
        (constraint,) = info.type.constraints
        assert constraint.is_satisfied(value) is is_multiple
        assert info.constraints == ("a multiple of 0.1",)

    def test_a_quantity_shows_how_to_write_it(self):
        info = options_class(int, unit="bytes").option_infos()["value"]
        assert info.expected == 'an integer, in bytes or as text like "512 MiB"'
        assert info.type.kind is OptionKind.INTEGER


class TestDefaults:
    """A default may be written as in TOML, and must be valid."""

    def test_defaults_are_brought_into_the_options_type(self):
        options = NpuOptions(core=0, threads=1)
        assert options.power_mode is PowerMode.LOW
        assert options.timeout == 1.5
        assert options.tile == "auto"

    def test_none_is_a_default(self):
        assert INFOS["cache_bytes"].default is None
        assert not INFOS["cache_bytes"].is_required

    def test_a_mutable_default_is_not_shared(self):
        first, second = NpuOptions(core=0, threads=1), NpuOptions(core=0, threads=1)
        first.levels.append(1)
        assert second.levels == []

    @pytest.mark.parametrize(
        ("annotation", "default", "problem"),
        [
            (int, "four", "expected an integer, given 'four' (a string)"),
            (Annotated[int, Ge(1)], 0, "expected an integer >= 1, given 0"),
            (Mode, "of", "expected one of 'off', 'on', given 'of' (a string)"),
            (float, float("nan"), "expected a float, given nan (a float); write a finite number"),
            (
                int,
                2**63,
                "expected an integer, given 9223372036854775808 (an integer); integers have 64 bits: "
                "-9223372036854775808 to 9223372036854775807",
            ),
            (int, None, "expected an integer, given none"),
        ],
    )
    def test_a_wrong_default_is_refused_when_the_class_is_created(self, annotation, default, problem):
        with pytest.raises(TypeError) as caught:
            options_class(annotation, default=default)
        assert str(caught.value) == f"Options.value has a wrong default: {problem}"

    def test_a_wrong_item_of_a_default_is_pointed_at(self):
        with pytest.raises(TypeError, match=r"^Options\.value has a wrong default\[1\]: expected a string"):
            options_class(list[str], default=["a", 2])


class TestStrictness:
    """strict=True, extra="forbid", frozen=True; `True` is not an int."""

    @pytest.mark.parametrize(
        "values",
        [
            {"core": True},
            {"core": "1"},
            {"core": 1.0},
            {"core": 4},
            {"power_mode": "low"},
            {"methods": ["a"]},
        ],
    )
    def test_python_code_must_pass_the_exact_type(self, values):
        with pytest.raises(ValidationError):
            NpuOptions(**{"core": 0, "threads": 1, **values})

    def test_unknown_names_are_refused(self):
        with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
            NpuOptions(core=0, threads=1, cores=2)

    def test_options_cannot_be_changed(self):
        options = NpuOptions(core=0, threads=1)
        with pytest.raises(ValidationError, match="Instance is frozen"):
            options.core = 1

    def test_a_float_must_be_finite(self):
        with pytest.raises(ValidationError, match="finite number"):
            NpuOptions(core=0, threads=1, scale=float("nan"))

    def test_an_option_with_a_fact_must_be_passed_by_hand(self):
        with pytest.raises(ValidationError, match="threads"):
            NpuOptions(core=0)


class TestRefusedDeclarations:
    """Every field is declared with option(); a broken rule is reported with class and option."""

    @pytest.mark.parametrize("namespace", [{"value": 1}, {}])
    def test_a_field_without_option_is_refused(self, namespace):
        with pytest.raises(TypeError, match=r"^Options\.value must be declared with option\(\.\.\.\)$"):
            type("Options", (BackendOptions,), {"__annotations__": {"value": int}, **namespace})

    @pytest.mark.parametrize("doc", ["", "  "])
    def test_an_empty_doc_is_refused(self, doc):
        with pytest.raises(TypeError, match=r"^Options\.value needs a doc: say what the option does$"):
            options_class(int, doc=doc)

    def test_a_missing_doc_is_refused(self):
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'doc'"):
            option(applies="load")  # type: ignore[call-arg]

    @pytest.mark.parametrize(
        ("annotation", "problem"),
        [
            (bytes, "has the type bytes; supported are bool, int, float, str, enums of strings, "),
            (complex, "has the type complex; supported are bool, "),
            (int | str, "has the type int | str; of unions, only `T | None` is supported"),
            (tuple[int, str], "has the type tuple[int, str]; of tuples, only `tuple[T, ...]` is supported"),
            (dict[int, str], "has the type dict[int, str]; keys of a table must be str"),
            (Numbered, "has the type Numbered; its values must be str"),
            (Empty, "has the type Empty; its values must be str"),
            (Literal[True], "has the type typing.Literal[True]; its values must be str or int"),
        ],
    )
    def test_other_types_are_refused(self, annotation, problem):
        with pytest.raises(TypeError) as caught:
            options_class(annotation)
        assert str(caught.value).startswith(f"Options.value {problem}")

    @pytest.mark.parametrize(
        ("annotation", "problem"),
        [
            (Annotated[str, Ge(1)], "has the bound Ge(1), which bounds numbers, but its type is string"),
            (Annotated[bool, Le(1)], "has the bound Le(1), which bounds numbers, but its type is boolean"),
            (Annotated[list[int], Gt(0)], "has the bound Gt(0), which bounds numbers, but its type is array"),
            (
                list[Annotated[str, Lt(3)]],
                "has the bound Lt(3), which bounds numbers, but its type is string",
            ),
            (
                Annotated[int, Len(1)],
                "has the bound MinLen(1), which bounds the length of strings, arrays and tables, but its "
                "type is integer",
            ),
            (Annotated[int, MultipleOf(0)], "has the bound MultipleOf(0), which is not above 0"),
            (Annotated[int, MultipleOf(-2)], "has the bound MultipleOf(-2), which is not above 0"),
            (Annotated[int, Ge("1")], "has the bound Ge('1'), which is not a number"),  # type: ignore[arg-type]
        ],
    )
    def test_a_bound_that_bounds_nothing_is_refused(self, annotation, problem):
        with pytest.raises(TypeError) as caught:
            options_class(annotation)
        assert str(caught.value) == f"Options.value {problem}"

    def test_a_unit_needs_a_number(self):
        with pytest.raises(TypeError, match=r"^Options\.value has the unit bytes, but str is not a number$"):
            options_class(str, unit="bytes")

    def test_a_name_that_pydantic_uses_is_refused(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(TypeError, match=r"^Options\.copy hides an attribute of BackendOptions; "):
                type(
                    "Options",
                    (BackendOptions,),
                    {"__annotations__": {"copy": int}, "copy": option(applies="load", doc="Copies.")},
                )

    def test_a_name_that_would_break_dict_is_refused(self):
        with pytest.raises(
            TypeError, match=r"^Options\.keys is what dict\(options\) would call; choose another"
        ):
            type(
                "Options",
                (BackendOptions,),
                {"__annotations__": {"keys": int}, "keys": option(applies="load", doc="Keys.")},
            )

    @pytest.mark.parametrize("former", [["threads"], ["old", "old"]])
    def test_a_former_name_that_is_taken_is_refused(self, former):
        with pytest.raises(
            TypeError, match=r"^More\.more: its former name '(threads|old)' is already taken$"
        ):

            class More(NpuOptions):
                more: int = option(applies="load", doc="More.", renamed_from=former)

    def test_the_strictness_cannot_be_relaxed(self):
        with pytest.raises(
            TypeError, match=r"^Lax must not change model_config: options are strict and frozen$"
        ):

            class Lax(BackendOptions):
                model_config = {"extra": "allow"}  # noqa: RUF012 (pydantic's own way)

    def test_wire_values_are_those_of_the_choices(self):
        with pytest.raises(TypeError, match=r"^Options\.value needs a wire value for each of its choices"):
            options_class(Mode, wire=Wire(key="mode", values={"off": 0}))

    def test_a_wire_separator_is_for_arrays(self):
        with pytest.raises(TypeError, match=r"^Options\.value has a wire separator, but is not an array$"):
            options_class(int, wire=Wire(key="value", separator=","))

    def test_a_wire_key_has_no_nul(self):
        with pytest.raises(
            ValueError, match=r"^wire key 'a\\x00b' contains a NUL, at which ExecuTorch ends it$"
        ):
            Wire(key="a\0b")

    def test_only_an_integer_is_sent_as_text(self):
        with pytest.raises(
            TypeError, match=r"^Options\.value is sent as text by its wire, but is not an int"
        ):
            options_class(bool, wire=Wire(key="value", as_text=True))

    @pytest.mark.parametrize("wire", ["threads", Wire(key="threads")])
    def test_two_options_cannot_be_sent_under_one_key(self, wire):
        with pytest.raises(
            TypeError,
            match=r"^More\.more has the wire key 'threads', as has threads: one would replace the other; "
            r"give each a key of its own$",
        ):

            class More(NpuOptions):
                more: int = option(1, applies="load", doc="More.", wire=wire)

    def test_options_that_are_not_sent_share_no_key(self):
        class Local(BackendOptions):
            first: int = option(1, applies="load", doc="First.", wire=Wire(key=None))
            second: int = option(2, applies="load", doc="Second.", wire=Wire(key=None))

        assert [info.wire.key for info in Local.option_infos().values()] == [None, None]

    @pytest.mark.parametrize("key", ["", "k" * 64])
    def test_a_wire_key_has_at_most_63_bytes(self, key):
        with pytest.raises(ValueError, match=r"must have 1 to 63 bytes$"):
            Wire(key=key)

    @pytest.mark.parametrize(
        ("field", "problem"),
        [
            ({"applies": "late"}, "applies of option() is 'late'; expected one of 'load', 'execute'"),
            ({"scope": "all"}, "scope of option() is 'all'; expected one of 'method', 'process'"),
            ({"unit": "miles"}, "unit of option() is 'miles'; expected one of 'bytes', 'ns', "),
        ],
    )
    def test_unknown_words_are_refused(self, field, problem):
        with pytest.raises(ValueError, match=f"^{re.escape(problem)}"):
            option(**{"applies": "load", "doc": "An option.", **field})


class TestToJsonable:
    """Enums by value; tuples as lists."""

    def test_every_kind_of_value_becomes_json(self):
        options = NpuOptions(core=1, threads=2, methods=("a", "b"), priorities={"a": 1}, levels=[3])
        assert options.to_jsonable() == {
            "core": 1,
            "threads": 2,
            "cache_bytes": None,
            "timeout": 1.5,
            "power_mode": "low",
            "tile": "auto",
            "verbose": False,
            "scale": 1.0,
            "label": "npu",
            "methods": ["a", "b"],
            "priorities": {"a": 1},
            "levels": [3],
        }


class TestArgumentsOfOption:
    """Arguments of `option()` with a wrong type are refused where they are written."""

    @pytest.mark.parametrize(
        "arguments",
        [
            {"deprecated": True},
            {"deprecated": ""},
            {"since": 0.2},
            {"since": " "},
            {"from_fact": 5},
            {"from_fact": ""},
            {"wire": 5},
            {"renamed_from": [5]},
        ],
    )
    def test_what_is_not_a_text_is_refused(self, arguments):
        (name,) = arguments
        with pytest.raises(TypeError, match=rf"^{name} of option\(\) is "):
            options_class(int, default=1, **arguments)
