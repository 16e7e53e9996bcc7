"""`coerce_value`: the one rule for values from TOML and from text."""

from __future__ import annotations

import enum
from typing import Annotated

import pytest
from coerced_values import coerce_value
from npu import INFOS, PowerMode
from option_texts import coerce_text

from etconfig.diagnostics import Severity
from etconfig.errors import OptionError
from etconfig.schema.coerce import Mismatch, coerce, show_value
from etconfig.schema.constraints import Le
from etconfig.schema.option_type import read_option_type


class Colour(str, enum.Enum):
    RED = "red"


def problem_of(option: str, raw: object, read=coerce_value) -> tuple[str, str | None]:
    with pytest.raises(OptionError) as caught:
        read(INFOS[option], raw)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("invalid-value", Severity.ERROR)
    return diagnostic.message, diagnostic.help


class TestCoerceValue:
    """The option's own type, quantities, enum members, arrays for tuples; nothing else."""

    @pytest.mark.parametrize(
        ("option", "raw", "expected"),
        [
            ("core", 3, 3),
            ("cache_bytes", "64 KiB", 65536),
            ("cache_bytes", 4096, 4096),
            ("cache_bytes", None, None),
            ("timeout", "20 ms", 0.02),
            ("timeout", 2.5, 2.5),
            ("power_mode", "low", PowerMode.LOW),
            ("power_mode", "high-power", PowerMode.HIGH),
            ("levels", [2**63 - 1, -(2**63)], [2**63 - 1, -(2**63)]),
            ("power_mode", PowerMode.HIGH, PowerMode.HIGH),
            ("tile", 32, 32),
            ("tile", "auto", "auto"),
            ("verbose", True, True),
            ("label", "x", "x"),
            ("methods", ["a", "b"], ("a", "b")),
            ("methods", ("a",), ("a",)),
            ("levels", [1], [1]),
            ("levels", (1, 2), [1, 2]),
            ("priorities", {"a": 0}, {"a": 0}),
        ],
    )
    def test_a_fitting_value_is_brought_into_the_options_type(self, option, raw, expected):
        value = coerce_value(INFOS[option], raw)
        assert value == expected
        assert type(value) is type(expected)

    @pytest.mark.parametrize(
        ("option", "raw", "expected", "given", "help_text"),
        [
            ("core", "2", "an integer >= 0 and <= 3", "'2' (a string)", "write 2 without quotes"),
            ("core", 2.0, "an integer >= 0 and <= 3", "2.0 (a float)", "write 2"),
            ("core", 2.5, "an integer >= 0 and <= 3", "2.5 (a float)", None),
            ("core", True, "an integer >= 0 and <= 3", "true (a boolean)", None),
            ("core", 4, "an integer >= 0 and <= 3", "4", None),
            ("core", -1, "an integer >= 0 and <= 3", "-1", None),
            ("core", None, "an integer >= 0 and <= 3", "none", None),
            ("core", b"1", "an integer >= 0 and <= 3", "b'1' (a Python bytes)", None),
            ("scale", 1, "a float", "1 (an integer)", "write 1.0"),
            ("scale", "0.5", "a float", "'0.5' (a string)", "write 0.5 without quotes"),
            ("scale", float("inf"), "a float", "inf (a float)", "write a finite number"),
            ("verbose", 0, "true or false", "0 (an integer)", None),
            ("verbose", "true", "true or false", "'true' (a string)", "write true without quotes"),
            (
                "label",
                8,
                "a string, at least 1 character and at most 8 characters",
                "8 (an integer)",
                'write "8"',
            ),
            ("label", "", "a string, at least 1 character and at most 8 characters", "''", None),
            ("tile", True, "one of 0, 32, 'auto'", "true (a boolean)", None),
            ("tile", 1, "one of 0, 32, 'auto'", "1 (an integer)", None),
            ("tile", "atuo", "one of 0, 32, 'auto'", "'atuo' (a string)", "did you mean 'auto'?"),
            ("power_mode", 0, "one of 'low', 'high-power'", "0 (an integer)", None),
            ("power_mode", "HIGH", "one of 'low', 'high-power'", "'HIGH' (a string)", "write 'high-power'"),
            (
                "power_mode",
                "high_power",
                "one of 'low', 'high-power'",
                "'high_power' (a string)",
                "did you mean 'high-power'?",
            ),
            ("methods", "a", "an array, each item a string", "'a' (a string)", None),
            ("levels", [1, 2, 3], "an array, at most 2 items, each item an integer", "[1, 2, 3]", None),
            (
                "priorities",
                [],
                "a table, each value an integer >= 0",
                "[] (an array)",
                None,
            ),
        ],
    )
    def test_anything_else_is_refused_with_expected_and_given_value(
        self, option, raw, expected, given, help_text
    ):
        assert problem_of(option, raw) == (f"{option}: expected {expected}, given {given}", help_text)

    @pytest.mark.parametrize(
        ("option", "raw"),
        [
            ("levels", [2**63]),
            ("levels", [-(2**63) - 1]),
            ("cache_bytes", 2**63),
            ("cache_bytes", "8388608 TiB"),
        ],
    )
    def test_an_integer_of_more_than_64_bits_is_refused(self, option, raw):
        _, help = problem_of(option, raw)
        assert help == "integers have 64 bits: -9223372036854775808 to 9223372036854775807"

    def test_a_quantity_that_is_not_whole_is_refused(self):
        message, help_text = problem_of("cache_bytes", "1.5 B")
        assert message == (
            "cache_bytes: expected an integer, a multiple of 4096, in bytes or as text like "
            "\"512 MiB\", given '1.5 B' (a string)"
        )
        assert help_text == "give a whole number of bytes"

    def test_a_quantity_keeps_to_the_bounds(self):
        assert problem_of("cache_bytes", "1 kB")[0].endswith("given '1 kB'")

    @pytest.mark.parametrize(
        ("annotation", "raw"), [(Annotated[float, Le(1)], 2), (Annotated[int, Le(1)], 2.0)]
    )
    def test_the_other_type_of_number_is_not_advised_outside_of_the_bounds(self, annotation, raw):
        mismatch = coerce(read_option_type(annotation), raw)
        assert isinstance(mismatch, Mismatch)
        assert (mismatch.help, mismatch.respelling) == (None, None)

    def test_a_misspelt_suffix_is_refused_with_the_known_ones(self):
        _, help_text = problem_of("timeout", "3 sec")
        assert help_text == "write a number and one of ns, us, ms, s, min, h"

    def test_the_place_inside_an_array_or_table_is_reported(self):
        assert problem_of("methods", ["a", 1])[0] == "methods[1]: expected a string, given 1 (an integer)"
        assert problem_of("priorities", {"a": -1})[0] == "priorities.a: expected an integer >= 0, given -1"

    def test_an_enum_of_strings_takes_its_own_members(self):
        wanted = read_option_type(Colour)
        assert coerce(wanted, "red") is Colour.RED
        assert coerce(wanted, Colour.RED) is Colour.RED


class TestShowValue:
    """A value as TOML would write it, shortened."""

    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            (True, "true"),
            (False, "false"),
            (None, "none"),
            ("a", "'a'"),
            (1.5, "1.5"),
            (PowerMode.LOW, "'low'"),
        ],
    )
    def test_values_look_as_in_toml(self, value, shown):
        assert show_value(value) == shown

    def test_long_values_are_cut(self):
        assert show_value("x" * 100) == "'" + "x" * 56 + "..."

    def test_a_number_too_large_to_write_is_named(self):
        assert show_value(10**5000) == "a very large integer"


class TestCoerceText:
    """Text from --set is read by the option's type."""

    @pytest.mark.parametrize(
        ("option", "text", "expected"),
        [
            ("core", "3", 3),
            ("core", "0x2", 2),
            ("core", "+1", 1),
            ("cache_bytes", "64 KiB", 65536),
            ("cache_bytes", "8_192", 8192),
            ("cache_bytes", '"8 KiB"', 8192),
            ("timeout", "2.5", 2.5),
            ("timeout", "1e-3", 0.001),
            ("timeout", "20 ms", 0.02),
            ("power_mode", "low", PowerMode.LOW),
            ("power_mode", '"high-power"', PowerMode.HIGH),
            ("tile", "32", 32),
            ("tile", "auto", "auto"),
            ("verbose", "true", True),
            ("label", "true", "true"),
            ("label", "1", "1"),
            ("label", "'a b'", "a b"),
            ("label", r'"a\tb"', "a\tb"),
            ("methods", '["a", "b"]', ("a", "b")),
            ("levels", "[1]", [1]),
            ("priorities", '{"a": 1}', {"a": 1}),
        ],
    )
    def test_text_becomes_a_value_of_the_option(self, option, text, expected):
        value = coerce_text(INFOS[option], text)
        assert value == expected
        assert type(value) is type(expected)

    @pytest.mark.parametrize(
        ("option", "text", "given"),
        [
            ("core", "two", "'two' (a string)"),
            ("core", "01", "'01' (a string)"),
            ("core", "1.0", "1.0 (a float)"),
            ("core", "1" * 65, f"'{'1' * 56}... (a string)"),
            ("scale", "1", "1 (an integer)"),
            ("scale", "inf", "'inf' (a string)"),
            ("verbose", "yes", "'yes' (a string)"),
            ("verbose", "True", "'True' (a string)"),
            ("methods", "a,b", "'a,b' (a string)"),
            ("methods", "[" * 100_000, f"'{'[' * 56}... (a string)"),
        ],
    )
    def test_other_text_is_refused(self, option, text, given):
        assert problem_of(option, text, coerce_text)[0].endswith(f"given {given}")

    def test_an_open_quote_is_text(self):
        assert coerce_text(INFOS["label"], '"a') == '"a'
