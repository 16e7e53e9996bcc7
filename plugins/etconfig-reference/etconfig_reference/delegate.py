"""`Delegate`: a loaded payload, which both backends run, each in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from etconfig_reference.errors import DelegateArgumentError, InvalidGraphError
from etconfig_reference.graph import DTYPES, FLOATS, INTEGERS, Array, Graph, ValueType, computed_dtype
from etconfig_reference.numerics import Numerics
from etconfig_reference.plan import Plan, Step
from etconfig_reference.work import Work

if TYPE_CHECKING:
    from etconfig.plugin.v1 import Allocator, ExecuteContext, Value


class Delegate:
    """A graph with its constants prepared for `numerics`, and a plan for the latest input shapes.

    Args:
        graph: The graph to compute.
        allocator: Allocates memory for converted constants; the others stay where they are.
        numerics: The precision of the computation.

    Raises:
        InvalidGraphError: the graph cannot be computed.
    """

    def __init__(self, graph: Graph, *, allocator: Allocator, numerics: Numerics) -> None:
        self._plan = Plan(graph)
        self._numerics = numerics
        with np.errstate(over="ignore"):
            self._constants = {
                value: numerics.prepare_constant(constant, allocator)
                for value, constant in graph.constants.items()
            }
        self._graph = replace(graph, constants=self._constants)

    @property
    def multiply_accumulates(self) -> tuple[int, ...]:
        """The multiply-accumulates of each operation, for inputs of the latest shapes."""
        return tuple(step.op.multiply_accumulates for step in self._plan.steps)

    def run(self, context: ExecuteContext[Any], args: Sequence[Value], work: Work) -> None:
        """Compute the outputs from the inputs.

        Args:
            context: Resizes outputs; its tracer gets a span for each operation, with the index of the
                operation as debug id.
            args: Inputs, then outputs, in the types of the program. Outputs are written last, so
                one may share its memory with an input.
            work: Memory and workers.

        Raises:
            DelegateArgumentError: an argument is missing, or has another type or shape.
        """
        graph = self._graph
        if len(args) != len(graph.inputs) + len(graph.outputs):
            raise DelegateArgumentError(
                f"takes {len(graph.inputs)} input(s) and {len(graph.outputs)} output(s), "
                f"given {len(args)} arguments"
            )
        inputs = [_take_input(i, args[i], graph.values[value]) for i, value in enumerate(graph.inputs)]
        self._fit_plan(inputs)
        outputs = [
            self._fit_output(context, i, args[i], value)
            for i, value in enumerate(graph.outputs, start=len(inputs))
        ]
        values = {**self._constants, **dict(zip(graph.inputs, map(_computed, inputs), strict=True))}
        # infinities and NaN are ordinary results here, so numpy need not warn
        with np.errstate(all="ignore"):
            arena = work.temporary.allocate(self._plan.arena_bytes)
            for index, step in enumerate(self._plan.steps):
                with context.tracer.span(step.op.name, debug_id=index):
                    values[step.output] = self._run_step(step, values, arena, work)
            for output, value in zip(outputs, graph.outputs, strict=True):
                np.copyto(output, values[value], casting="unsafe")

    def _run_step(self, step: Step, values: dict[int, Array], arena: Array, work: Work) -> Array:
        dtype = self._graph.values[step.output].dtype
        result: Array = np.ndarray(step.op.output_shape, computed_dtype(dtype), arena, step.arena_offset)
        if result.size:
            step.op.run([values[value] for value in step.inputs], result, work)
            self._numerics.round(result, DTYPES[dtype])
        return result

    def _fit_plan(self, inputs: Sequence[Array]) -> None:
        """Make a new plan if inputs with dynamic shapes have other sizes than before."""
        shapes = tuple(array.shape for array in inputs)
        if shapes == self._plan.input_shapes:
            return
        try:
            self._plan = Plan(self._graph, shapes)
        except InvalidGraphError as error:
            raise DelegateArgumentError(f"inputs of shapes {list(shapes)} do not fit: {error}") from None

    def _fit_output(self, context: ExecuteContext[Any], index: int, arg: Value, value: int) -> Array:
        """Return the array to write an output into, resized for the shapes of these inputs."""
        expected, shape = self._graph.values[value], self._plan.shapes[value]
        if expected.dynamic and isinstance(arg, np.ndarray) and arg.shape != shape:
            arg = context.resize_output(index, shape)
        return _check_array(index, arg, expected)


_NUMBERS = {bool: ("bool",), int: tuple(INTEGERS), float: tuple(FLOATS)}
"""The types of values that can be passed as Python numbers."""


def _take_input(index: int, arg: Value, value: ValueType) -> Array:
    if value.shape == () and value.dtype in _NUMBERS.get(type(arg), ()):
        return np.asarray(arg, DTYPES[value.dtype])
    return _check_array(index, arg, value)


def _check_array(index: int, arg: Value, value: ValueType) -> Array:
    if not isinstance(arg, np.ndarray):
        raise DelegateArgumentError(f"argument {index} must be {value}, given {type(arg).__name__}")
    if arg.dtype != DTYPES[value.dtype] or not value.admits(arg.shape):
        raise DelegateArgumentError(f"argument {index} must be {value}, given {arg.dtype.name} {arg.shape}")
    return arg


def _computed(array: Array) -> Array:
    return array.astype(computed_dtype(array.dtype.name), copy=False)
