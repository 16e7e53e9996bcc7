from __future__ import annotations

import pytest

from etconfig.base.number_text import format_number, format_seconds


class TestNumbers:
    """Numbers are printed without powers of ten."""

    @pytest.mark.parametrize(
        ("number", "shown"),
        [(0.2814, "0.281"), (9.996, "10"), (99.96, "100"), (999.6, "1,000"), (41_302.7, "41,303")],
    )
    def test_three_digits_or_whole_numbers(self, number: float, shown: str) -> None:
        assert format_number(number) == shown

    @pytest.mark.parametrize(
        ("seconds", "shown"),
        [(9.999e-4, "1,000 µs"), (0.9999, "1,000 ms"), (1.25e-3, "1.25 ms"), (3600.0, "3,600 s")],
    )
    def test_durations_have_the_unit_that_suits_them(self, seconds: float, shown: str) -> None:
        assert format_seconds(seconds) == shown
