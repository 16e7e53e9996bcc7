"""Equal values are one object, so that work for one serves all."""

from __future__ import annotations

import copy
import pickle

import pytest

from etconfig.base.scalar_types import ScalarType
from etconfig.program.bulk.shared_values import SharedValues, different, pick, share
from etconfig.program.model import Bool, EValue, Int, SerializedTensor, TensorShapeDynamism


def tensor(*sizes: int) -> SerializedTensor:
    dim_order = tuple(range(len(sizes)))
    return SerializedTensor(ScalarType.FLOAT, sizes, dim_order, 0, None, TensorShapeDynamism.STATIC)


class TestSharedValues:
    """A tuple of values that also has the distinct ones."""

    def test_items_for_the_distinct_values_are_spread_over_all(self) -> None:
        values = SharedValues.of([Int(7), None], [0, 1, 0])
        assert values == (Int(7), None, Int(7))
        assert values[0] is values[2]
        assert values.spread(["seven", "nothing"]) == ("seven", "nothing", "seven")
        assert different(values) == [Int(7), None]

    def test_equal_tensors_and_integers_of_any_tuple_are_found(self) -> None:
        values: tuple[EValue, ...] = (tensor(2), Int(1), tensor(3), tensor(2), Bool(True), Int(1))
        shared = share(values)
        assert shared == values
        assert shared.places == [0, 1, 2, 0, 3, 1]
        assert [type(each) for each in shared] == [type(each) for each in values]  # Int(1) equals Bool(True)
        assert share(shared) is shared
        assert different(values) is values

    @pytest.mark.parametrize("copied", [copy.copy, lambda values: pickle.loads(pickle.dumps(values))])
    def test_a_copy_keeps_the_distinct_values(self, copied: object) -> None:
        values = copied(share((tensor(2), tensor(2))))  # type: ignore[operator]  # a function
        assert values == (tensor(2), tensor(2))
        assert values.spread("a") == ("a", "a")

    @pytest.mark.parametrize("places", [[], [1], [1, 0, 1]])
    def test_any_number_of_items_is_picked(self, places: list[int]) -> None:
        assert pick(places, "ab") == tuple("ab"[place] for place in places)
