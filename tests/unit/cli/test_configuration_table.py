"""Tables of configurations: what they leave out, and when they number."""

from __future__ import annotations

from etconfig.cli.rendering.configuration_table import ConfigurationTable

HEADERS = ("CONFIGURATION", "RATIO", "PEAK", "ERROR")


def test_columns_that_say_nothing_are_left_out() -> None:
    table = ConfigurationTable.of(HEADERS, [("a", "1", "", ""), ("b=1", "0.9", "", "0")], name=0)
    assert table.headers == ["CONFIGURATION", "RATIO"]
    assert table.rows == [["a", "1"], ["b=1", "0.9"]]
    assert (table.names, table.legend) == (["a", "b=1"], ())


def test_long_names_are_numbers_with_a_legend() -> None:
    rows = [("0.9", "x" * 70, "8 KiB"), *[("1", "y", "9 KiB")] * 9]
    table = ConfigurationTable.of(("RATIO", "OPTIONS", "MEMORY"), rows, name=1)
    assert table.headers == ["#", "RATIO", "MEMORY"]
    assert table.rows[0] == ["1", "0.9", "8 KiB"]
    assert table.legend[0] == f" 1  {'x' * 70}"
    assert table.legend[-1] == "10  y"


def test_the_incumbent_may_be_number_0() -> None:
    rows = [("as configured", "1", "", ""), ("z" * 80, "failed", "", "")]
    assert ConfigurationTable.of(HEADERS, rows, name=0, first=0).names == ["0", "1"]
