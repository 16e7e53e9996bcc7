"""Tables of options inside options: declaration, values, errors with places, and every form of the schema."""

from __future__ import annotations

import copy
import pickle
from typing import Annotated, Any, Literal, Optional

import jsonschema
import pytest
from engine_tables import Cpu, Gpu, Limits
from option_texts import coerce_text
from pydantic import ValidationError

from etconfig.base.plain_data import jsonable
from etconfig.plugin.v1 import (
    EXECUTORCH,
    ApiRange,
    BackendOptions,
    BackendSpec,
    Ge,
    Len,
    OptionTable,
    Wire,
    cache_key,
    model_validator,
    option,
    wire_options,
)
from etconfig.schema.coerce import show_value
from etconfig.schema.jsonschema import json_schema
from etconfig.schema.option_type import OptionKind
from etconfig.schema.options_reference import markdown_reference
from etconfig.schema.signature import schema_signature
from etconfig.schema.validate import change_options, validate_options


class Options(BackendOptions):
    engines: Annotated[tuple[Cpu | Gpu, ...], Len(0, 2)] = option(
        ({"engine": "cpu"},), applies="load", invalidates_cache=True, doc="The engines in order."
    )
    engine: Cpu | Gpu | None = option(None, applies="load", doc="One engine.")
    limits: Limits = option({"memory": "2 KiB"}, applies="load", doc="The limits.")
    by_name: dict[str, Cpu] = option({}, applies="load", doc="Engines by name.")


SPEC = BackendSpec(id="Tabled", doc="A backend.", options=Options, api=ApiRange(1, 1))
GPU = {"engine": "gpu", "device": 1, "limits": {"memory": "1 MiB"}}


def problem(**values: object) -> tuple[str, str | None]:
    """Return the message and the help of the only problem."""
    (found,) = validate_options(SPEC, values).problems
    return found.message, found.help


class TestValues:
    """A table becomes an object of the class that the discriminator chooses; it is one value."""

    def test_defaults_are_objects(self) -> None:
        assert Options().engines == (Cpu(),)
        assert Options().limits == Limits(memory=2048)
        assert Options().engine is None

    def test_tables_become_objects(self) -> None:
        options = validate_options(SPEC, {"engines": [GPU, {"engine": "cpu", "threads": 2}]}).options
        assert isinstance(options, Options)
        gpu, cpu = options.engines
        assert isinstance(gpu, Gpu)
        assert (gpu.device, gpu.limits.memory, gpu.limits.streams) == (1, 2**20, ())
        assert cpu == Cpu(threads=2)

    def test_a_class_can_be_called_with_tables_or_objects(self) -> None:
        assert Options(engines=[GPU]) == Options(engines=(Gpu(device=1, limits=Limits(memory=2**20)),))  # type: ignore[arg-type]

    def test_a_wrong_table_is_refused_by_a_call_too(self) -> None:
        with pytest.raises(
            ValidationError, match=r"\[0\]\.devise: expected an option of Gpu, given 'devise'"
        ):
            Options(engines=[{**GPU, "devise": 1}])  # type: ignore[arg-type]

    def test_objects_are_frozen_hashable_and_can_be_copied(self) -> None:
        options = Options(engines=(Gpu(device=1),))
        assert pickle.loads(pickle.dumps(options)) == copy.deepcopy(options) == options
        assert hash(options.engines) == hash((Gpu(device=1),))
        with pytest.raises(ValidationError):
            options.engines[0].engine = "cpu"  # type: ignore[assignment]

    def test_they_are_plain_data_for_json(self) -> None:
        plain = Options(engines=(Gpu(device=1),)).to_jsonable()["engines"]
        limits = {"memory": 1024, "streams": []}
        assert plain == [{"engine": "gpu", "device": 1, "mode": "low", "limits": limits}]
        assert jsonable({"a": Cpu()}) == {"a": {"engine": "cpu", "threads": None, "is_fast": False}}

    def test_text_of_an_override_is_json(self) -> None:
        info = Options.option_infos()["engine"]
        assert coerce_text(info, '{"engine": "cpu", "threads": 3}') == Cpu(threads=3)

    def test_they_are_shown_as_tables(self) -> None:
        assert show_value((Cpu(threads=1),)) == "[{'engine': 'cpu', 'threads': 1}]"

    def test_long_ones_show_what_tells_them_apart(self) -> None:
        streams = Limits(memory=2**40, streams=(2**40, 2**41))
        tables = (Gpu(device=2**40, mode="high", limits=streams), Cpu(), Gpu(device=1, limits=Limits()))
        assert show_value(tables) == "[{'engine': 'gpu', ...}, {'engine': 'cpu'}, {'engine': 'gpu', ...}]"

    def test_options_are_changed_as_a_whole(self) -> None:
        class Live(BackendOptions):
            mode: Slow | Fast = option({"kind": "slow"}, applies="execute", doc="The mode.")

        changed = change_options(Live, Live(), {"mode": {"kind": "fast", "level": 2}})
        assert isinstance(changed, Live)
        assert changed.mode == Fast(level=2)

    def test_a_table_has_checks_of_its_own(self) -> None:
        class Ordered(BackendOptions):
            window: Window = option({}, applies="load", doc="The window.")

        spec = BackendSpec(id="B", doc="A.", options=Ordered, api=ApiRange(1, 1))
        (found,) = validate_options(spec, {"window": {"low": 3, "high": 2}}).problems
        assert found.message.startswith("B.window: expected a table of low, high, given {")
        assert found.help == "low must not be above high"
        assert validate_options(spec, {"window": {"low": 2, "high": 3}}).problems == ()

    def test_equal_tables_have_equal_cache_keys(self) -> None:
        def key(options: Options) -> str:
            return cache_key(options, payload_hash="1", engine_version="1")

        assert key(Options()) == key(Options(engines=[{"engine": "cpu"}]))  # type: ignore[arg-type]
        assert key(Options()) != key(Options(engines=(Cpu(threads=1),)))


class Slow(OptionTable):
    kind: Literal["slow"] = "slow"


class Fast(OptionTable):
    kind: Literal["fast"] = "fast"
    level: int = option(1, applies="execute", doc="The level.")


class Window(OptionTable):
    low: int = option(0, applies="load", doc="The lowest.")
    high: int = option(9, applies="load", doc="The highest.")

    @model_validator(mode="after")
    def _in_order(self) -> Window:
        if self.low > self.high:
            raise ValueError("low must not be above high")
        return self


class TestProblems:
    """A message names the place inside the table, what was expected, and the likely correction."""

    def test_an_unknown_field(self) -> None:
        assert problem(engines=[{"engine": "cpu"}, {**GPU, "devise": 1}]) == (
            "Tabled.engines[1].devise: expected an option of Gpu, given 'devise'",
            "did you mean 'device'?",
        )

    def test_a_field_like_none_of_them(self) -> None:
        assert problem(engine={"engine": "cpu", "zzzzzz": 1})[1] == "it has engine, threads, is_fast"

    def test_a_field_of_another_table_of_the_union(self) -> None:
        message, _ = problem(engine={"engine": "cpu", "device": 1})
        assert message == "Tabled.engine.device: expected an option of Cpu, given 'device'"

    def test_an_unknown_discriminator(self) -> None:
        assert problem(engine={"engine": "cpuu"}) == (
            "Tabled.engine.engine: expected one of 'cpu', 'gpu', given 'cpuu' (a string)",
            "did you mean 'cpu'?",
        )

    def test_a_name_that_the_engine_has_for_a_table(self) -> None:
        class Npu(OptionTable):
            also_called = ("NeuralEngine",)
            engine: Literal["npu"] = "npu"

        class Engines(BackendOptions):
            engines: tuple[Cpu | Npu, ...] = option((), applies="load", doc="The engines in order.")

        (found,) = validate_options(Engines, {"engines": [{"engine": "neuralengine"}]}).problems
        assert found.help == "did you mean 'npu'?"
        for wrong, example in (("NeuralEngine", '[{ engine = "npu" }]'), ("mkl", '[{ engine = "cpu" }]')):
            (found,) = validate_options(Engines, {"engines": wrong}).problems
            assert found.help is not None
            assert found.help.startswith(f"write an array: {example} in a file")

    def test_a_missing_discriminator(self) -> None:
        assert problem(engine={"threads": 1}) == (
            "Tabled.engine: expected a table with engine, given {'threads': 1}",
            "write engine = \"...\" in it, with one of 'cpu', 'gpu'",
        )

    def test_a_missing_required_field(self) -> None:
        assert problem(engine={"engine": "gpu"}) == (
            "Tabled.engine: expected a table with device, given {'engine': 'gpu'}",
            "add device, an integer",
        )

    def test_a_value_of_a_nested_table_with_its_guess(self) -> None:
        assert problem(engine={**GPU, "limits": {"memory": "1 GByte"}})[0].startswith(
            "Tabled.engine.limits.memory: expected an integer, in bytes"
        )
        message, help = problem(by_name={"a": {"engine": "cpu", "threads": "3"}})
        assert message.startswith("Tabled.by_name.a.threads: expected an integer >= 1 and <= 9, given '3'")
        assert help == "write 3 without quotes"

    def test_no_table_at_all(self) -> None:
        assert problem(engine="gpu") == (
            "Tabled.engine: expected a table with engine = 'cpu' or 'gpu', given 'gpu' (a string)",
            """write a table: { engine = "gpu" } in a file, '{"engine": "gpu"}' with --set in a shell""",
        )

    @pytest.mark.parametrize(
        ("option", "raw", "help"),
        [
            (
                "engines",
                "cpu",
                """write an array: [{ engine = "cpu" }] in a file, """
                """'[{"engine": "cpu"}]' with --set in a shell""",
            ),
            (
                "by_name",
                "cpu",
                """write a table: { name = { engine = ... } } in a file, """
                """'{"name": {"engine": ...}}' with --set in a shell""",
            ),
        ],
    )
    def test_an_array_or_table_in_another_form(self, option: str, raw: str, help: str) -> None:
        assert problem(**{option: raw})[1] == help

    def test_each_mistake_of_one_value_is_a_problem(self) -> None:
        wrong = {"engine": "cpu", "threads": "x", "zzzzzz": 1}
        values = {"engines": [{**GPU, "devise": 1, "limits": {"memry": 1, "streams": [True, "y"]}}, wrong]}
        found = validate_options(SPEC, values).problems
        assert [(each.path, each.is_key) for each in found] == [
            ((0, "limits", "memry"), True),
            ((0, "limits", "streams", 0), False),
            ((0, "limits", "streams", 1), False),
            ((0, "devise"), True),
            ((1, "threads"), False),
            ((1, "zzzzzz"), True),
        ]
        assert all(not each.further for each in found)
        assert found[0].message.startswith("Tabled.engines[0].limits.memry: expected an option of Limits")

    def test_of_very_many_mistakes_the_first_are_problems(self) -> None:
        found = validate_options(SPEC, {"by_name": {str(n): 1 for n in range(1000)}}).problems
        assert len(found) == 20

    def test_the_bounds_of_the_array_count(self) -> None:
        assert problem(engines=[{"engine": "cpu"}] * 3)[0].startswith("Tabled.engines: expected an array, at")


def declare(**fields: tuple[Any, Any]) -> type[BackendOptions]:
    """Declare a class of options with these annotations and values."""
    annotations = {name: annotation for name, (annotation, _) in fields.items()}
    values = {name: value for name, (_, value) in fields.items()}
    return type("Declared", (BackendOptions,), {"__annotations__": annotations, **values})


def declare_table(**fields: tuple[Any, Any]) -> type[OptionTable]:
    annotations = {name: annotation for name, (annotation, _) in fields.items()}
    values = {name: value for name, (_, value) in fields.items()}
    return type("Table", (OptionTable,), {"__annotations__": annotations, **values})


class TestDeclaration:
    """A class that breaks a rule is refused when it is defined; the message names the option."""

    @pytest.mark.parametrize("annotation", [Cpu | Gpu, Optional[Cpu | Gpu], list[Cpu | Gpu], dict[str, Cpu]])  # noqa: UP045
    def test_where_tables_may_be(self, annotation: Any) -> None:
        options = declare(engine=(annotation, option(doc="An engine.", applies="load")))
        assert options.option_infos()["engine"].type.has_tables

    @pytest.mark.parametrize(
        ("annotation", "message"),
        [
            (Cpu | Limits, "tables of a union need exactly one common field .*these share none"),
            (Cpu | int, r"of unions, only `T \| None` is supported"),
            (Annotated[Cpu, Ge(1)], "which bounds numbers"),
        ],
    )
    def test_types_that_are_refused(self, annotation: Any, message: str) -> None:
        with pytest.raises(TypeError, match=message):
            declare(engine=(annotation, option(doc="An engine.", applies="load")))

    def test_two_tables_with_one_text_are_refused(self) -> None:
        other = declare_table(engine=(Literal["cpu"], "cpu"))
        with pytest.raises(TypeError, match="of which two have the same engine: cpu, cpu"):
            declare(engine=(Cpu | other, option(doc="An engine.", applies="load")))

    def test_two_common_fields_are_refused(self) -> None:
        one, two = (
            declare_table(kind=(Literal[name], name), tag=(Literal[name], name))  # type: ignore[valid-type]
            for name in ("a", "b")
        )
        with pytest.raises(TypeError, match="these share kind, tag"):
            declare(engine=(one | two, option(doc="An engine.", applies="load")))

    def test_a_field_applies_when_its_option_does(self) -> None:
        with pytest.raises(
            TypeError, match=r"applies at execute in scope method, but Cpu\.threads in it at load"
        ):
            declare(engine=(Cpu, option({}, doc="An engine.", applies="execute")))

    @pytest.mark.parametrize(
        "argument",
        [
            {"from_fact": "cpu.count"},
            {"deprecated": "Use another."},
            {"renamed_from": "old"},
            {"wire": "key"},
            {"invalidates_cache": True},
        ],
    )
    def test_a_field_has_nothing_of_a_backends_option(self, argument: dict[str, Any]) -> None:
        with pytest.raises(TypeError, match=f"is inside a table and has {next(iter(argument))}"):
            declare_table(size=(int, option(1, doc="The size.", applies="load", **argument)))

    def test_a_wire_key_is_refused(self) -> None:
        for wire in ("key", Wire(key="key", separator=",")):
            with pytest.raises(TypeError, match="has a wire key, but ExecuTorch's option map has no tables"):
                declare(engine=(tuple[Cpu, ...], option((), doc="An engine.", applies="load", wire=wire)))

    def test_a_backend_has_options_and_not_a_table(self) -> None:
        with pytest.raises(TypeError, match="must not be an OptionTable"):
            BackendSpec(id="B", doc="A.", options=Cpu, api=ApiRange(1, 1))

    def test_a_unit_is_for_numbers(self) -> None:
        with pytest.raises(TypeError, match="has the unit bytes, but a table is not a number"):
            declare(engine=(Cpu, option({}, doc="An engine.", applies="load", unit="bytes")))

    def test_a_wrong_default_is_named(self) -> None:
        with pytest.raises(TypeError, match=r"engine has a wrong default\.engine: expected one of"):
            declare(engine=(Cpu | Gpu, option({"engine": "x"}, doc="An engine.", applies="load")))


class TestForms:
    """Every form of the schema has the tables."""

    def test_the_json_schema_accepts_what_the_check_accepts(self) -> None:
        schema = json_schema(SPEC)
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        for values in (
            {"engines": [GPU, {"engine": "cpu"}]},
            {"engine": {"engine": "cpu", "threads": 9}},
            {"limits": {"streams": [1, 2]}},
            {"by_name": {"a": {"engine": "cpu"}}},
            {"by_name": {"a": {}}},
        ):
            assert validator.is_valid(values)
            assert not validate_options(SPEC, values).problems
        for values in (
            {"engines": [{"engine": "gpu"}]},
            {"engines": [{**GPU, "devise": 1}]},
            {"engine": {"threads": 9}},
            {"engine": {"engine": "tpu"}},
            {"engine": {"engine": "cpu", "threads": 10}},
            {"limits": {"streams": [1, 2, 3]}},
        ):
            assert not validator.is_valid(values)
            assert validate_options(SPEC, values).problems

    def test_the_reference_lists_the_fields(self) -> None:
        text = markdown_reference(SPEC)
        assert "| `engines` | array of tables with engine = 'cpu' or 'gpu'" in text
        assert "The tables of `engines[]`; `engine` chooses one of them:" in text
        assert '| `engine` | choice: `"cpu"`, `"gpu"` | required | Chooses the table. |' in text
        assert "| `device` of gpu | integer | required | The device, which is required. |" in text
        assert "The table `engines[].limits`:" in text
        assert "| `memory` | integer: in bytes | `1024` | The memory. |" in text

    def test_a_changed_field_changes_the_signature(self) -> None:
        def signature(annotation: Any) -> Any:
            options = declare(engine=(annotation, option(doc="An engine.", applies="load")))
            return schema_signature(BackendSpec(id="B", doc="A.", options=options, api=ApiRange(1, 1)))

        def table(doc: str = "The size.", default: int = 1, annotation: Any = int) -> type[OptionTable]:
            return declare_table(size=(annotation, option(default, doc=doc, applies="load")))

        usual = signature(table())
        assert signature(table(doc="Another text.")) == usual
        assert signature(table(default=2)) != usual
        assert signature(table(annotation=Annotated[int, Ge(1)])) != usual
        assert signature(Cpu | Gpu) == signature(Gpu | Cpu) != signature(Cpu)

    def test_a_runtime_without_tables_refuses_them_by_name(self) -> None:
        options = Options(engine=Cpu(threads=1))
        wired, problems = wire_options("Tabled", options, EXECUTORCH)
        assert wired == []
        assert [each.message for each in problems] == [
            f"{EXECUTORCH.name} cannot carry Tabled.engine: it consists of tables"
        ]
        assert problems[0].help == "leave engine unset for this target"

    def test_the_kind_has_a_name(self) -> None:
        assert Options.option_infos()["limits"].type.kind is OptionKind.RECORD
        assert str(Options.option_infos()["limits"].type) == "table of memory, streams"
