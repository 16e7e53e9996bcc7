"""Quantities: text with a unit for byte sizes and times."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etconfig.schema.units import Unit, parse_quantity

QUANTIFIED = [unit for unit in Unit if unit.suffixes]


class TestParseQuantity:
    """Strings with units for byte sizes and durations, exact."""

    @pytest.mark.parametrize(
        ("text", "unit", "expected"),
        [
            ("512 MiB", Unit.BYTES, 512 * 2**20),
            ("512MiB", Unit.BYTES, 512 * 2**20),
            ("64 KiB", Unit.BYTES, 65536),
            ("1.5 kB", Unit.BYTES, 1500),
            ("1 KB", Unit.BYTES, 1000),
            ("3 TiB", Unit.BYTES, 3 * 2**40),
            ("20 ms", Unit.MICROSECONDS, 20_000),
            ("20 ms", Unit.NANOSECONDS, 20_000_000),
            ("2 h", Unit.SECONDS, 7200),
            ("0.1 s", Unit.MILLISECONDS, 100),
            ("5 us", Unit.MILLISECONDS, Fraction(5, 1000)),
        ],
    )
    def test_a_number_and_a_suffix_give_the_exact_amount_in_the_unit(self, text, unit, expected):
        assert parse_quantity(text, unit) == expected

    @pytest.mark.parametrize(
        "text",
        ["", "MiB", "512", "512 mib", "-1 MiB", "1  MiB", " 1 MiB", "1 MiB ", "1e3 MiB", "1. MiB", "٣ MiB"],
    )
    def test_other_text_is_refused_with_the_known_suffixes(self, text):
        with pytest.raises(ValueError, match=r"^write a number and one of B, kB, KB, MB, GB, TB, KiB, "):
            parse_quantity(text, Unit.BYTES)

    def test_a_byte_size_is_not_a_time(self):
        with pytest.raises(ValueError, match=r"^write a number and one of ns, us, ms, s, min, h$"):
            parse_quantity("1 MiB", Unit.SECONDS)

    def test_more_than_20_digits_are_refused_unread(self):
        with pytest.raises(ValueError, match="write a number"):
            parse_quantity("1" * 21 + " B", Unit.BYTES)

    @given(st.integers(0, 10**15), st.sampled_from(QUANTIFIED), st.data())
    def test_a_whole_number_of_any_suffix_is_that_many_times_its_size(self, number, unit, data):
        suffix = data.draw(st.sampled_from(sorted(unit.suffixes)))
        assert parse_quantity(f"{number} {suffix}", unit) == number * unit.suffixes[suffix]


class TestUnit:
    """Only byte sizes and times accept text."""

    def test_units_with_suffixes_have_an_example_that_parses(self):
        for unit in QUANTIFIED:
            assert unit.example is not None
            assert parse_quantity(unit.example, unit) > 0

    def test_units_without_suffixes_have_no_example(self):
        assert [unit for unit in Unit if not unit.suffixes and unit.example] == []
