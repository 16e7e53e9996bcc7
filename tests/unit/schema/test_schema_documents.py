"""JSON Schema and Markdown, both generated from the one declaration."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from npu import INFOS, SPEC
from option_texts import coerce_value

from etconfig.base.plain_data import jsonable
from etconfig.errors import OptionError
from etconfig.schema.declaration import Wire, option
from etconfig.schema.jsonschema import json_schema
from etconfig.schema.option_type import OptionKind
from etconfig.schema.options import BackendOptions
from etconfig.schema.options_reference import markdown_reference
from etconfig.schema.spec import Advice, ApiRange, BackendSpec

SCHEMA = json_schema(SPEC)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

JSON_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 9),
    st.sampled_from([4096, 8192, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 0.5, 1e300]),
    st.sampled_from(
        ["low", "high-power", "LOW", "HIGH", "auto", "8 KiB", "1 B", "20 ms", "3 parsecs", "", "long label"]
    ),
    st.lists(st.sampled_from(["a", 1, True]), max_size=4),
    st.dictionaries(st.sampled_from("ab"), st.sampled_from([1, -1, "x"]), max_size=2),
)


def accepts(option: str, value: object) -> bool:
    try:
        coerce_value(INFOS[option], value)
    except OptionError:
        return False
    return True


class TestJsonSchema:
    """Draft 2020-12; etconfig's own additions stand under x-etconfig-*."""

    def test_it_is_a_valid_schema(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        assert (SCHEMA["$schema"], SCHEMA["title"], SCHEMA["description"]) == (
            "https://json-schema.org/draft/2020-12/schema",
            "NpuBackend",
            "An accelerator for tests.",
        )

    def test_it_is_json(self):
        assert json.loads(json.dumps(SCHEMA)) == SCHEMA

    def test_every_option_has_a_property_and_nothing_else_is_allowed(self):
        assert set(SCHEMA["properties"]) == {*INFOS, "num_threads"}
        assert not VALIDATOR.is_valid({"colour": 1})

    def test_defaults_are_valid(self):
        defaults = {
            name: value["default"] for name, value in SCHEMA["properties"].items() if "default" in value
        }
        assert set(defaults) == set(INFOS) - {"core", "threads"}
        VALIDATOR.validate(defaults)

    @given(st.sampled_from(sorted(INFOS)), JSON_VALUES)
    def test_it_accepts_the_same_values_as_coercion(self, option, value):
        accepted = VALIDATOR.is_valid({option: value})
        # JSON Schema cannot distinguish 1 from 1.0, nor a pattern 8 KiB from 1 B.
        is_looser = INFOS[option].type.kind in (OptionKind.INTEGER, OptionKind.FLOAT) and isinstance(
            value, (int, float, str)
        )
        assert accepted == accepts(option, value) or (accepted and is_looser)

    def test_a_number_with_a_unit_may_be_text(self):
        assert VALIDATOR.is_valid({"cache_bytes": "8 KiB"})
        assert VALIDATOR.is_valid({"cache_bytes": 8192})
        assert not VALIDATOR.is_valid({"cache_bytes": "8 ms"})

    def test_additions_cover_what_json_schema_cannot_express(self):
        threads = SCHEMA["properties"]["threads"]
        assert {key: value for key, value in threads.items() if key.startswith("x-")} == {
            "x-etconfig-applies": "execute",
            "x-etconfig-scope": "process",
            "x-etconfig-unit": "threads",
            "x-etconfig-fromFact": "cpu.available_cores",
            "x-etconfig-wire": {"key": "threads"},
        }
        assert SCHEMA["properties"]["core"]["x-etconfig-required"] is True
        assert SCHEMA["properties"]["timeout"]["x-etconfig-since"] == "2.1"
        assert SCHEMA["properties"]["power_mode"]["x-etconfig-wire"] == {
            "key": "power",
            "values": {"low": 0, "high-power": 1},
        }
        assert SCHEMA["properties"]["methods"]["x-etconfig-wire"] == {"key": "methods", "separator": ","}

    def test_an_option_that_the_option_map_cannot_carry_has_no_wire(self):
        class Local(BackendOptions):
            value: int = option(1, applies="load", doc="A value.", wire=Wire(key=None))

        schema = json_schema(BackendSpec(id="Local", doc="Local.", options=Local, api=ApiRange(1, 1)))
        assert "x-etconfig-wire" not in schema["properties"]["value"]

    def test_former_names_are_accepted_and_marked(self):
        former = SCHEMA["properties"]["num_threads"]
        assert (former["description"], former["deprecated"]) == ("Renamed to threads.", True)
        assert VALIDATOR.is_valid({"num_threads": 2})
        assert not VALIDATOR.is_valid({"num_threads": 0})

    def test_deprecated_options_are_marked_with_the_advice(self):
        verbose = SCHEMA["properties"]["verbose"]
        assert (verbose["deprecated"], verbose["x-etconfig-deprecated"]) == (True, "use tracing")

    @pytest.mark.parametrize("name", ["label", "levels"])
    def test_lengths_are_bounded(self, name):
        too_long = {"label": "x" * 9, "levels": [1, 2, 3]}
        assert not VALIDATOR.is_valid({name: too_long[name]})


class TestMarkdown:
    """A reference table for people."""

    def test_every_option_and_compile_spec_has_a_row(self):
        assert markdown_reference(SPEC) == (
            "## NpuBackend\n"
            "\n"
            "An accelerator for tests.\n"
            "\n"
            "| Option | Type | Default | Applies | Scope | Description |\n"
            "| --- | --- | --- | --- | --- | --- |\n"
            "| `core` | integer: `>= 0`, `<= 3` | required | load | method | Which core. |\n"
            "| `threads` | integer: `>= 1`, in threads | fact `cpu.available_cores` | execute | process |"
            " Worker threads. Formerly `num_threads`. |\n"
            "| `cache_bytes` | integer: `a multiple of 4096`, in bytes | `none` | load | method |"
            " Cache size. |\n"
            "| `timeout` | float: in s | `1.5` | execute | method | Time limit. Since 2.1. |\n"
            '| `power_mode` | choice: `"low"`, `"high-power"` | `"low"` | execute | method |'
            " How fast it is clocked. |\n"
            '| `tile` | choice: `0`, `32`, `"auto"` | `"auto"` | load | method | Rows of a tile. |\n'
            "| `verbose` | boolean | `false` | load | method | Log \\| more. Deprecated: use tracing |\n"
            "| `scale` | float | `1.0` | execute | method | Scale of results. |\n"
            '| `label` | string: `at least 1 character`, `at most 8 characters` | `"npu"` | load | method |'
            " A label. |\n"
            "| `methods` | array of strings | `[]` | load | method | Methods to capture. |\n"
            "| `priorities` | table of integers | `{}` | load | method | Priority by method. |\n"
            "| `levels` | array of integers: `at most 2 items` | `[]` | load | method | Levels. |\n"
            "\n"
            "| Compile spec | Encoding | Description |\n"
            "| --- | --- | --- |\n"
            "| `device` | utf-8 | Device name. |\n"
        )

    def test_a_backend_without_options_says_so(self):
        class Bare(BackendOptions):
            pass

        spec = BackendSpec(id="Bare", doc="Bare.", options=Bare, api=ApiRange(1, 1))
        assert markdown_reference(spec) == "## Bare\n\nBare.\n\nIt has no options.\n"

    def test_recommended_values_are_a_table_of_their_own(self):
        class Options(BackendOptions):
            threads: int | None = option(None, applies="load", doc="Worker threads.")

        advice = [
            Advice("threads", expr="1", when='power.source == "battery" || true', reason="It saves power."),
            Advice("threads", expr="cpu.available_cores"),
        ]
        spec = BackendSpec(id="Cpu", doc="CPU.", options=Options, api=ApiRange(1, 1), advice=advice)
        assert markdown_reference(spec).partition("Worker threads. |\n\n")[2] == (
            "Recommended values; of the rows of an option, the first that applies counts:\n"
            "\n"
            "| Option | Value | Where | Reason |\n"
            "| --- | --- | --- | --- |\n"
            '| `threads` | `1` | `power.source == "battery" \\|\\| true` | It saves power. |\n'
            "| `threads` | `cpu.available_cores` | wherever its facts are known |  |\n"
        )


class TestJsonable:
    """An option's value as plain data for JSON."""

    def test_nested_values_are_converted(self):
        assert jsonable({"a": (INFOS["power_mode"].default, [1])}) == {"a": ["low", [1]]}
