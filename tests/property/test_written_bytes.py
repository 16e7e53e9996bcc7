"""The bytes that a plan has written so far, compared with a plain set of bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from etconfig.program.shared_state import _Bytes

RANGES = st.tuples(st.integers(0, 40), st.integers(1, 12)).map(lambda each: (each[0], sum(each)))


@given(st.lists(RANGES, max_size=30), st.lists(RANGES, min_size=1, max_size=10))
def test_ranges_overlap_as_their_bytes_do(added: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    ranges, known = _Bytes(), set[int]()
    for start, end in added:
        ranges.add(start, end)
        known.update(range(start, end))
        for first, last in asked:
            assert ranges.overlap(first, last) is not known.isdisjoint(range(first, last))
