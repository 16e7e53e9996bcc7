"""`Delegate`: a loaded payload. Both backends run it, each in its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from etconfig_reference.errors import CompileSpecError, DelegateArgumentError
from etconfig_reference.graph import Array, Shape
from etconfig_reference.payload import decode_graph
from etconfig_reference.plan import Plan
from etconfig_reference.work import Work

if TYPE_CHECKING:
    from etconfig.plugin.v1 import Allocator, Processed, Tracer, Value

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)


@dataclass(frozen=True, kw_only=True)
class Numerics:
    """How exactly a delegate computes.

    Attributes:
        accumulate: The type that sums are kept in.
        rounds_to_half: Weights and every result are rounded to float16.
    """

    accumulate: np.dtype[np.floating[Any]] = FLOAT32
    rounds_to_half: bool = False

    def prepare_constant(self, constant: Array, allocator: Allocator) -> Array:
        """The constant as the operations need it: itself, or a converted copy."""
        if not self.rounds_to_half and self.accumulate == constant.dtype:
            return constant
        memory = allocator.allocate(constant.size * self.accumulate.itemsize)
        prepared: Array = np.ndarray(constant.shape, self.accumulate, memory)
        np.copyto(prepared, constant)
        self.round(prepared)
        return prepared

    def round(self, result: Array) -> None:
        """Round in place. A value beyond the range of float16 becomes infinite."""
        if self.rounds_to_half:
            np.copyto(result, result.astype(np.float16))


class Delegate:
    """A payload that was read and verified, with its constants as `numerics` wants them.

    Args:
        processed: The payload; float32 constants stay views into it.
        compile_specs: Must be empty: there are none.
        allocator: Memory for converted constants.
        numerics: How to compute.

    Raises:
        PayloadError: the payload cannot be used.
        CompileSpecError: there is a compile spec.
    """

    def __init__(
        self,
        processed: Processed,
        compile_specs: Mapping[str, bytes],
        *,
        allocator: Allocator,
        numerics: Numerics,
    ) -> None:
        if compile_specs:
            raise CompileSpecError(f"compile spec {min(compile_specs)!r} is not known; there are none")
        self._graph = decode_graph(processed.data)
        self._plan = Plan(self._graph)
        self._numerics = numerics
        with np.errstate(over="ignore"):
            self._constants = {
                value: numerics.prepare_constant(constant, allocator)
                for value, constant in self._graph.constants.items()
            }

    @property
    def multiply_accumulates(self) -> tuple[int, ...]:
        """How much work each operation is."""
        return tuple(step.op.multiply_accumulates for step in self._plan.steps)

    def run(self, args: Sequence[Value], work: Work, tracer: Tracer) -> None:
        """Compute the outputs from the inputs.

        Args:
            args: Inputs, then outputs, float32, in the shapes of the program. Outputs are written
                last, so one may share its memory with an input.
            work: Memory and workers.
            tracer: Gets a span for each operation, with its index as debug id.

        Raises:
            DelegateArgumentError: an argument is missing, or has another dtype or shape.
        """
        inputs, outputs = self._check_arguments(args)
        values = {**self._constants, **dict(zip(self._graph.inputs, inputs, strict=True))}
        arena = work.temporary.allocate(self._plan.arena_bytes)
        # infinities and NaN are results here, no events
        with np.errstate(all="ignore"):
            for index, step in enumerate(self._plan.steps):
                result: Array = np.ndarray(step.op.output_shape, FLOAT32, arena, step.arena_offset)
                with tracer.span(step.op.name, debug_id=index):
                    step.op.run([values[value] for value in step.inputs], result, work)
                    self._numerics.round(result)
                values[step.output] = result
            for output, value in zip(outputs, self._graph.outputs, strict=True):
                np.copyto(output, values[value])

    def _check_arguments(self, args: Sequence[Value]) -> tuple[list[Array], list[Array]]:
        graph = self._graph
        expected = (*graph.inputs, *graph.outputs)
        if len(args) != len(expected):
            raise DelegateArgumentError(
                f"takes {len(graph.inputs)} input(s) and {len(graph.outputs)} output(s), "
                f"given {len(args)} arguments"
            )
        arrays = [
            _check_argument(i, arg, graph.shapes[value])
            for i, (arg, value) in enumerate(zip(args, expected, strict=True))
        ]
        return arrays[: len(graph.inputs)], arrays[len(graph.inputs) :]


def _check_argument(index: int, arg: Value, shape: Shape) -> Array:
    if not isinstance(arg, np.ndarray):
        raise DelegateArgumentError(f"argument {index} must be float32 {shape}, given {type(arg).__name__}")
    if arg.dtype != FLOAT32 or arg.shape != shape:
        raise DelegateArgumentError(
            f"argument {index} must be float32 {shape}, given {arg.dtype.name} {arg.shape}"
        )
    return arg
