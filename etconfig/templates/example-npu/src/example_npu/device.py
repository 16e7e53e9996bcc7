"""The device, simulated with numpy. Replace this module with calls to your driver.

With a driver, `DeviceProgram.__init__` uploads the weights, `run` starts the work and waits for it,
and `release` releases the resources of the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from example_npu.payload import Array, Graph, Step

if TYPE_CHECKING:
    from etconfig.plugin.v1 import Allocator


class Work(NamedTuple):
    """The resources of one run.

    Attributes:
        temporary: Allocates memory that is freed after the run.
        parallel_for: `ExecuteContext.parallel_for`.
        num_threads: The largest number of workers at the same time.
        tile_bytes: The bytes of its input that a linear layer processes at once. Tiles depend on
            nothing else, so results do not depend on the number of workers.
    """

    temporary: Allocator
    parallel_for: Callable[[int, Callable[[int], None], int], None]
    num_threads: int
    tile_bytes: int


class DeviceProgram:
    """A graph on the device with its weights uploaded; it keeps no reference to the payload.

    Args:
        graph: The graph to compute.
        allocator: Memory that lives as long as the delegate.
    """

    def __init__(self, graph: Graph, allocator: Allocator) -> None:
        self.input_shapes = [graph.shapes[value] for value in graph.inputs]
        self.output_shapes = [graph.shapes[value] for value in graph.outputs]
        weights = {value: _copy_of(data, allocator) for value, data in graph.constants.items()}
        self._graph = replace(graph, constants=weights)

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], work: Work) -> None:
        """Compute `outputs`. They are written last, since they may share memory with `inputs`."""
        values = {**self._graph.constants, **dict(zip(self._graph.inputs, inputs, strict=True))}
        for step in self._graph.steps:
            values[step.output] = self._run_step(step, values, work)
        for output, value in zip(outputs, self._graph.outputs, strict=True):
            np.copyto(output, values[value])

    def release(self) -> None:
        """Release the resources of the device. The core frees the memory of the allocator."""

    def _run_step(self, step: Step, values: Mapping[int, Array], work: Work) -> Array:
        result = _new_array(self._graph.shapes[step.output], work.temporary)
        _COMPUTE[step.name]([values[value] for value in step.inputs], result, work)
        return result


def _new_array(shape: tuple[int, ...], allocator: Allocator) -> Array:
    size_bytes = math.prod(shape) * np.dtype(np.float32).itemsize
    array: Array = allocator.allocate(size_bytes).view(np.float32).reshape(shape)
    return array


def _copy_of(constant: Array, allocator: Allocator) -> Array:
    copy = _new_array(constant.shape, allocator)
    np.copyto(copy, constant)
    return copy


def _elementwise(function: Callable[..., object]) -> Callable[[list[Array], Array, Work], None]:
    def compute(inputs: list[Array], result: Array, work: Work) -> None:
        # infinities and NaN are ordinary results, so numpy need not warn
        with np.errstate(all="ignore"):
            function(*inputs, out=result)

    return compute


def _relu(x: Array, out: Array) -> None:
    np.maximum(x, np.float32(0), out=out)


def _linear(inputs: list[Array], result: Array, work: Work) -> None:
    x, weight, *bias = inputs
    rows = x.reshape(-1, x.shape[-1])
    results = result.reshape(-1, result.shape[-1])
    tile_rows = max(1, work.tile_bytes // rows[:1].nbytes)

    def run_tile(index: int) -> None:
        tile = slice(index * tile_rows, (index + 1) * tile_rows)
        with np.errstate(all="ignore"):
            np.matmul(rows[tile], weight.T, out=results[tile])
            if bias:
                np.add(results[tile], bias[0], out=results[tile])

    work.parallel_for(-(-len(rows) // tile_rows), run_tile, work.num_threads)


_COMPUTE: Mapping[str, Callable[[list[Array], Array, Work], None]] = {
    "add": _elementwise(np.add),
    "linear": _linear,
    "mul": _elementwise(np.multiply),
    "relu": _elementwise(_relu),
    "sub": _elementwise(np.subtract),
}
