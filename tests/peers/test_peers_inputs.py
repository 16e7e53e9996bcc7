"""Torch tensors as inputs, of every type that both support, without unnecessary copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plans import PlanBuilder

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import InvalidInputError
from etconfig.kernel.tensor import DTYPES
from etconfig.method.foreign import as_array, flatten

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]


def torch_type(scalar_type: ScalarType) -> Any:
    import torch

    return getattr(torch, DTYPES[scalar_type].name, None)


SHARED = [each for each in ScalarType if not each.name.startswith(("Q", "BITS", "FLOAT8"))]
"""The types whose values both compare."""


@pytest.mark.parametrize("scalar_type", SHARED, ids=lambda each: each.name)
def test_a_tensor_of_every_type_is_viewed_without_a_copy(scalar_type: ScalarType) -> None:
    import torch

    tensor = torch.tensor([[0, 1, 0], [1, 1, 0]]).to(torch_type(scalar_type))
    array = as_array(tensor)
    assert (array.dtype, array.tolist()) == (DTYPES[scalar_type], tensor.tolist())
    tensor[0, 0] = 1
    assert array[0, 0] == 1


@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e4m3fn"])
def test_eight_bit_floats_are_accepted(name: str) -> None:
    import torch

    array = as_array(torch.tensor([1.0, 2.0]).to(getattr(torch, name)))
    assert (array.dtype.name, array.astype(np.float32).tolist()) == (name, [1, 2])


def test_strides_and_gradients_do_not_matter_to_bfloat16() -> None:
    import torch

    tensor = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).t().requires_grad_()
    assert as_array(tensor).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_parameters_and_lazily_evaluated_tensors_are_accepted() -> None:
    import torch

    assert as_array(torch.nn.Parameter(torch.ones(2))).tolist() == [1, 1]
    numbers = torch.tensor([1 + 2j])
    assert as_array(numbers.conj()).tolist() == [1 - 2j]
    assert as_array(numbers.conj().imag).tolist() == [-2]


def test_a_tensor_that_changes_later_does_not_change_results() -> None:
    import torch

    builder = PlanBuilder()
    x, out = (builder.tensor(2, dtype=ScalarType.BFLOAT16) for _ in range(2))
    builder.inputs, builder.outputs = [x], [x, out]
    builder.add_(x, x, out)
    method = builder.load()
    tensor = torch.tensor([1.0, 2.0], dtype=torch.bfloat16)
    same, doubled = method.execute([tensor])
    tensor[:] = 9
    method.execute([torch.zeros(2, dtype=torch.bfloat16)])
    assert (same.tolist(), doubled.tolist()) == ([1, 2], [2, 4])


def test_another_type_is_named() -> None:
    import torch

    builder = PlanBuilder()
    builder.inputs = [builder.tensor(2)]
    with pytest.raises(InvalidInputError, match=r"float32 and shape .* given dtype bfloat16; convert it"):
        builder.load().execute([torch.zeros(2, dtype=torch.bfloat16)])
    with pytest.raises(InvalidInputError, match=r"given Tensor, which gives no array: .*meta device"):
        builder.load().execute([torch.zeros(2, device="meta")])


def test_nested_values_are_flattened_as_in_torch() -> None:
    from torch.utils._pytree import tree_flatten

    nested = ({"b": 1, "a": [2, (3,)]}, [4, {}], (), 5)
    assert list(flatten(nested)) == tree_flatten(nested)[0]
