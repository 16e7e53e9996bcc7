"""`Plan`: the steps of a graph that was found to make sense."""

from __future__ import annotations

import math
from typing import NamedTuple

from etconfig_reference.errors import InvalidGraphError
from etconfig_reference.graph import Graph, Operation
from etconfig_reference.ops import OPS, Op

_ALIGNMENT_BYTES = 64
_FLOAT32_BYTES = 4


class Step(NamedTuple):
    """One operation and where in the arena its result lies."""

    op: Op
    inputs: tuple[int, ...]
    output: int
    arena_offset: int


class Plan:
    """A graph whose every value is computed once, before it is used, in the shape that it claims.

    Attributes:
        steps: What to run, in order.
        arena_bytes: Memory for the results of all steps.

    Raises:
        InvalidGraphError: the graph cannot be computed; the message names the operation.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known = set(graph.constants)
        self.arena_bytes = 0
        for value in graph.inputs:
            self._define(value, "inputs")
        self.steps = tuple(self._plan_step(i, operation) for i, operation in enumerate(graph.operations))
        self._check_known(graph.outputs, "outputs")

    def _plan_step(self, index: int, operation: Operation) -> Step:
        where = f"operations[{index}] ({operation.name})"
        if operation.name not in OPS:
            raise InvalidGraphError(f"{where}: there is no such operation, only {', '.join(OPS)}")
        self._check_known(operation.inputs, where)
        shapes = [self._graph.shapes[value] for value in operation.inputs]
        try:
            op = OPS[operation.name](shapes, operation.attributes)
        except ValueError as error:
            raise InvalidGraphError(f"{where}: {error}") from None
        claimed = self._graph.shapes[operation.output]
        if op.output_shape != claimed:
            raise InvalidGraphError(f"{where}: its result has shape {op.output_shape}, not {claimed}")
        self._define(operation.output, where)
        return Step(op, operation.inputs, operation.output, self._reserve(operation.output))

    def _check_known(self, values: tuple[int, ...], where: str) -> None:
        for value in values:
            if value not in self._known:
                raise InvalidGraphError(f"{where}: value {value} is used before it is computed")

    def _define(self, value: int, where: str) -> None:
        if value in self._known:
            raise InvalidGraphError(f"{where}: value {value} is there already")
        self._known.add(value)

    def _reserve(self, value: int) -> int:
        offset = self.arena_bytes
        size_bytes = math.prod(self._graph.shapes[value]) * _FLOAT32_BYTES
        self.arena_bytes = offset + size_bytes + -size_bytes % _ALIGNMENT_BYTES
        return offset
