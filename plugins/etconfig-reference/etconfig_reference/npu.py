"""`ReferenceNpuBackend`: computes delegates with numpy and takes as long as a simulated device.

The device has four cores and a clock, see `etconfig_reference.device`. Results are real;
time is simulated: an execute that numpy finished early sleeps until the device would be
done. One that numpy finished late takes longer than on the device. Every handle has its
core to itself: two instances on one core do not wait for each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from etconfig.plugin.v1 import Backend, ExecuteContext, InitContext, Processed, UpdateContext, Value
from etconfig_reference.delegate import FLOAT32, Delegate, Numerics
from etconfig_reference.device import count_cycles, seconds_of
from etconfig_reference.options import Precision, ReferenceNpuOptions
from etconfig_reference.work import Work

ON_CHIP_BYTES = 256 * 1024
"""The memory of a core, which bounds the tiles that it works on."""


@dataclass(kw_only=True)
class NpuHandle:
    """One loaded delegate and what its simulated core has done so far.

    Attributes:
        delegate: The verified payload.
        options: The options in force.
        cycles_per_execute: What one execute costs on the chosen core.
        executes: How many executes there were.
        cycles: How many cycles they took together.
        busy_seconds: How long these took by the device's clock.
    """

    delegate: Delegate
    options: ReferenceNpuOptions
    cycles_per_execute: int
    executes: int = 0
    cycles: int = 0
    busy_seconds: float = 0.0

    def account(self, seconds: float) -> None:
        """Add one execute that took `seconds` of the device's time."""
        self.executes += 1
        self.cycles += self.cycles_per_execute
        self.busy_seconds += seconds


class ReferenceNpuBackend(Backend[ReferenceNpuOptions, NpuHandle]):
    """Runs delegates on one core of a simulated device.

    Args:
        sleep: Waits for so many seconds; tests put their own here.
    """

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        self._sleep = sleep

    def init(
        self,
        context: InitContext[ReferenceNpuOptions],
        processed: Processed,
        compile_specs: Mapping[str, bytes],
    ) -> NpuHandle:
        """Read and verify the payload. Raises PayloadError or CompileSpecError."""
        numerics = Numerics(rounds_to_half=context.options.precision is Precision.FP16)
        delegate = Delegate(processed, compile_specs, allocator=context.allocator, numerics=numerics)
        return NpuHandle(
            delegate=delegate,
            options=context.options,
            cycles_per_execute=count_cycles(delegate.multiply_accumulates, context.options.core),
        )

    def execute(
        self, context: ExecuteContext[ReferenceNpuOptions], handle: NpuHandle, args: Sequence[Value]
    ) -> None:
        """Compute the outputs, not faster than the device. Raises DelegateArgumentError."""
        started = time.perf_counter()
        work = Work(
            temporary=context.temporary,
            parallel_for=context.parallel_for,
            num_threads=1,
            tile_bytes=ON_CHIP_BYTES,
            accumulate=FLOAT32,
        )
        seconds = seconds_of(handle.cycles_per_execute, context.options.power_mode)
        with context.tracer.span(f"npu core {context.options.core}"):
            handle.delegate.run(args, work, context.tracer)
            self._sleep(max(0.0, seconds - (time.perf_counter() - started)))
        handle.account(seconds)

    def update(
        self, context: UpdateContext[ReferenceNpuOptions], handle: NpuHandle, changed: frozenset[str]
    ) -> None:
        """Take on a new power mode, from the next execute on."""
        handle.options = context.options

    def effective_options(self, handle: NpuHandle) -> Mapping[str, object]:
        """All options; none is adjusted to the device."""
        return dict(handle.options)
