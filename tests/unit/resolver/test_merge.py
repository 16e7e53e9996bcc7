"""The merge rule on plain values."""

from __future__ import annotations

from etconfig.profile.layer import UNSET
from etconfig.resolver.deciding.merge import merged
from etconfig.schema.declaration import MISSING


def not_needed() -> object:
    raise AssertionError("the baseline was computed although a value replaces it")


class TestMerged:
    """A later value replaces an earlier one, tables merge key by key, and `unset` restores the baseline."""

    def test_the_last_value_replaces_all_others(self) -> None:
        assert merged([1, UNSET, [2, 3]], not_needed) == [2, 3]

    def test_tables_merge_with_the_baseline(self) -> None:
        assert merged([{"a": 1}, {"b": 2}], lambda: {"a": 0, "c": 0}) == {"a": 1, "b": 2, "c": 0}

    def test_a_table_without_a_table_below_it_is_the_value(self) -> None:
        assert merged([{"a": 1}], lambda: MISSING) == {"a": 1}
        assert merged([5, {"a": 1}], not_needed) == {"a": 1}

    def test_unset_forgets_what_came_before(self) -> None:
        assert merged([{"a": 1}, UNSET, {"b": 2}], lambda: {"c": 0}) == {"b": 2, "c": 0}
        assert merged([1, UNSET], lambda: 7) == 7

    def test_without_values_the_baseline_remains(self) -> None:
        assert merged([], lambda: MISSING) is MISSING

    def test_merging_does_not_change_the_tables(self) -> None:
        low, high = {"a": 1}, {"b": 2}
        result = merged([low, high], lambda: MISSING)
        assert result == {"a": 1, "b": 2}
        assert (low, high) == ({"a": 1}, {"b": 2})
