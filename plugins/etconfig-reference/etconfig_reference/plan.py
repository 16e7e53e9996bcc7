"""`Plan`: the steps of a verified graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from etconfig_reference.errors import InvalidGraphError
from etconfig_reference.graph import Graph, Operation, Shape, computed_dtype
from etconfig_reference.ops import OPS, Op
from etconfig_reference.work import Limits

_ALIGNMENT_BYTES = 64


class Step(NamedTuple):
    """One operation, and the place of its result in the arena."""

    op: Op
    inputs: tuple[int, ...]
    output: int
    arena_offset: int


class Plan:
    """A graph in which each value is computed once, before its use, in its declared type and shape.

    Args:
        graph: The graph to compute.
        input_shapes: The shapes of its inputs; by default the largest.

    Attributes:
        input_shapes: The shapes of the inputs that the plan is for.
        shapes: The shape of every value, by its index.
        steps: The steps, in execution order.
        arena_bytes: The memory for the results of all steps.

    Raises:
        InvalidGraphError: the graph cannot be computed; the message names the operation.
    """

    def __init__(self, graph: Graph, input_shapes: Sequence[Shape] | None = None) -> None:
        if input_shapes is None:
            input_shapes = [graph.values[value].shape for value in graph.inputs]
        self._values = graph.values  # and not the graph, whose constants would keep the payload
        self.shapes = {value: graph.values[value].shape for value in graph.constants}
        self.input_shapes = tuple(input_shapes)
        self.arena_bytes = 0
        for value, shape in zip(graph.inputs, input_shapes, strict=True):
            self._define(value, shape, "inputs")
        self.steps = tuple(self._plan_step(i, operation) for i, operation in enumerate(graph.operations))
        self._check_known(graph.outputs, "outputs")

    def _plan_step(self, index: int, operation: Operation) -> Step:
        where = f"operations[{index}] ({operation.name})"
        if operation.name not in OPS:
            raise InvalidGraphError(f"{where}: there is no such operation, only {', '.join(OPS)}")
        self._check_known(operation.inputs, where)
        kind, claimed = OPS[operation.name], self._values[operation.output]
        try:
            op = kind([self.shapes[value] for value in operation.inputs], operation.attributes)
            kind.check_dtypes([self._values[value].dtype for value in operation.inputs], claimed.dtype)
        except ValueError as error:
            raise InvalidGraphError(f"{where}: {error}") from None
        if not claimed.admits(op.output_shape):
            raise InvalidGraphError(f"{where}: its result has shape {op.output_shape}, not {claimed.shape}")
        self._define(operation.output, op.output_shape, where)
        return Step(op, operation.inputs, operation.output, self._reserve(operation.output))

    def _check_known(self, values: tuple[int, ...], where: str) -> None:
        for value in values:
            if value not in self.shapes:
                raise InvalidGraphError(f"{where}: value {value} is used before it is computed")

    def _define(self, value: int, shape: Shape, where: str) -> None:
        if value in self.shapes:
            raise InvalidGraphError(f"{where}: value {value} is there already")
        self.shapes[value] = shape

    def temporary_bytes(self, limits: Limits) -> int:
        """Return the temporary memory of one run: the results of all steps, and what the steps take."""
        forms = (
            form
            for step in self.steps
            if math.prod(step.op.output_shape)
            for form in step.op.temporaries(limits, self._dtype(step.output))
        )
        return self.arena_bytes + sum(_aligned(math.prod(shape) * dtype.itemsize) for shape, dtype in forms)

    def _reserve(self, value: int) -> int:
        offset = self.arena_bytes
        self.arena_bytes = offset + _aligned(math.prod(self.shapes[value]) * self._dtype(value).itemsize)
        return offset

    def _dtype(self, value: int) -> np.dtype[Any]:
        return computed_dtype(self._values[value].dtype)


def _aligned(size_bytes: int) -> int:
    return size_bytes + -size_bytes % _ALIGNMENT_BYTES
