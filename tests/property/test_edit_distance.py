"""The distance of two names equals that of the plain definition."""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from etconfig.diagnostics.suggest import edit_distance


def defined_distance(a: str, b: str) -> int:
    """Return the fewest insertions, deletions, replacements and swaps of neighbors, by recursion."""

    @cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        found = min(
            distance(i - 1, j) + 1,
            distance(i, j - 1) + 1,
            distance(i - 1, j - 1) + (a[i - 1] != b[j - 1]),
        )
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            found = min(found, distance(i - 2, j - 2) + 1)
        return found

    return distance(len(a), len(b))


@given(st.text("abc", max_size=9), st.text("abc", max_size=9), st.integers(0, 9))
def test_the_distance_is_the_defined_one_up_to_the_limit(a: str, b: str, limit: int) -> None:
    assert edit_distance(a, b, limit) == min(defined_distance(a, b), limit + 1)
