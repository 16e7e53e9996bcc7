"""The runtime half, which etconfig calls. It needs neither torch nor executorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from etconfig.plugin.v1 import (
    Availability,
    Backend,
    ExecuteContext,
    InitContext,
    Processed,
    UpdateContext,
    Value,
)

from example_npu.device import DeviceProgram, Work
from example_npu.options import ExampleNpuOptions
from example_npu.payload import Array, decode


@dataclass
class Handle:
    """One loaded delegate. All of its state is here, none in the backend.

    Attributes:
        program: The graph on the device.
        options: The options in force.
    """

    program: DeviceProgram
    options: ExampleNpuOptions


class ExampleNpuBackend(Backend[ExampleNpuOptions, Handle]):
    """Runs delegates on the device."""

    def availability(self) -> Availability:
        """Report whether the device is present."""
        # With a real device, report what is missing and what to do about it:
        # Availability.no("there is no /dev/example-npu", "load the driver example_npu")
        return Availability.yes()

    def init(
        self,
        context: InitContext[ExampleNpuOptions],
        processed: Processed,
        compile_specs: Mapping[str, bytes],
    ) -> Handle:
        """Read the payload and upload it.

        Raises:
            PayloadError: the payload cannot be used.
            ValueError: the program has a compile spec.
        """
        if compile_specs:
            raise ValueError(f"unknown compile spec {min(compile_specs)!r}; the backend has none")
        program = DeviceProgram(decode(processed.data), context.allocator)
        processed.free()  # nothing references the payload any more
        return Handle(program, context.options)

    def execute(
        self, context: ExecuteContext[ExampleNpuOptions], handle: Handle, args: Sequence[Value]
    ) -> None:
        """Compute the outputs. Raises ValueError if the arguments do not fit the payload."""
        program, options = handle.program, context.options
        shapes = [*program.input_shapes, *program.output_shapes]
        if len(args) != len(shapes):
            raise ValueError(f"the payload takes {len(shapes)} arguments, given {len(args)}")
        tensors = [_tensor(i, args[i], shape) for i, shape in enumerate(shapes)]
        work = Work(
            context.temporary, context.parallel_for, options.num_threads, options.tile_bytes
        )
        count = len(program.input_shapes)
        with context.tracer.span("example-npu"):
            program.run(tensors[:count], tensors[count:], work)

    def update(
        self,
        context: UpdateContext[ExampleNpuOptions],
        handle: Handle,
        changed: frozenset[str],
    ) -> None:
        """Use new options from the next execute on."""
        handle.options = context.options

    def effective_options(self, handle: Handle) -> Mapping[str, object]:
        """Return the options that the delegate uses: the device accepts all of them."""
        return dict(handle.options)

    def destroy(self, handle: Handle) -> None:
        """Release the resources of the device."""
        handle.program.release()


def _tensor(index: int, value: Value, shape: tuple[int, ...]) -> Array:
    if not isinstance(value, np.ndarray) or value.dtype != np.float32 or value.shape != shape:
        found: Any = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else value
        raise ValueError(f"argument {index} is {found}, but the payload takes float32 {shape}")
    return cast("Array", value)
