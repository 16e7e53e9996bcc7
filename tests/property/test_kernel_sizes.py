"""A size costs a program nothing if another one is 0: no kernel may take more time or memory."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from every import every
from kernel_cases import KernelCase, Recorded, case_ids, load_cases
from mutations import sharded

from etconfig.errors import KernelArgumentError
from etconfig.kernel.memory import Scratch, allocate_zeroed
from etconfig.kernel.tensor import Tensor
from etconfig.kernels import builtin_kernels
from etconfig.numpy_executor.compiled_plan import Block, CompiledPlan

KERNELS = builtin_kernels()
LARGEST = 2**31 - 1
MOST_BYTES = 32 << 20
"""More than any of the calls takes, and less than one array of LARGEST elements."""

CASES = sharded(load_cases())


def replaced(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value in which `change` was applied to everything that is not a list."""
    if isinstance(value, tuple):
        return tuple(replaced(each, change) for each in value)
    return change(value)


def is_possible(case: KernelCase, sizes: Mapping[int, int]) -> bool:
    """Return whether tensors of the large size have no elements, and strides that numpy can count."""
    found = []

    def look(value: Any) -> None:
        if isinstance(value, Recorded):
            shape = [sizes.get(size, size) for size in value.array.shape]
            has_strides = math.prod(filter(None, shape)) < 2**58
            found.append((0 in shape or LARGEST not in shape) and has_strides)

    replaced((*case.arguments, *case.outputs), look)
    return all(found)


def sizes_of(case: KernelCase) -> set[int]:
    found: set[int] = set()

    def look(value: Any) -> None:
        if isinstance(value, Recorded):
            found.update(value.array.shape)

    replaced((*case.arguments, *case.outputs), look)
    return found - {0}


def resized(case: KernelCase, sizes: Mapping[int, int], *, with_numbers: bool) -> Iterator[object]:
    """The call's arguments and outputs with other sizes, all alike; with other numbers, too."""

    def change(value: Any) -> Any:
        if isinstance(value, Recorded):
            shape = tuple(sizes.get(size, size) for size in value.array.shape)
            memory = allocate_zeroed(math.prod(shape) * value.array.itemsize)
            return Tensor(value.scalar_type, shape, value.dim_order, memory)
        if with_numbers and type(value) is int:
            return sizes.get(value, value)
        return value

    return (replaced(value, change) for value in (*case.arguments, *case.outputs))


@pytest.mark.timeout(120)
@every("case", CASES, ids=case_ids(CASES))
def test_a_size_costs_nothing_if_another_one_is_0(case: KernelCase) -> None:
    kernel = KERNELS[case.operator]
    pairs = itertools.permutations(sorted(sizes_of(case)), 2)
    for (large, small), with_numbers in itertools.product(pairs, (True, False)):
        sizes = {large: LARGEST, small: 0}
        if not is_possible(case, sizes):
            continue
        arguments = [*resized(case, sizes, with_numbers=with_numbers)]
        tracemalloc.start()
        try:
            with np.errstate(all="ignore"):
                step = kernel.bind(case.operator, Scratch(), arguments)
                CompiledPlan("forward", [[Block((step,), (case.operator,), 1, 1)]], 1).run()
        except KernelArgumentError as error:
            assert error.operator == case.operator  # noqa: PT017  either outcome is right
        finally:
            _, peak_bytes = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert peak_bytes < MOST_BYTES, [getattr(each, "shape", each) for each in arguments]
