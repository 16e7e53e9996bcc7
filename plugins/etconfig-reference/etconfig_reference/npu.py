"""`ReferenceNpuBackend`: computes delegates with numpy, and takes as long as a simulated device.

The device has four cores and a clock, see `etconfig_reference.device`. Results are real, time is
simulated: if numpy finishes an execute early, the execute waits for the core. If numpy finishes late,
the execute takes longer than on the device. Every handle has its own core, a thread: two instances on
one core do not wait for each other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from etconfig.plugin.v1 import (
    Availability,
    Backend,
    ExecuteContext,
    InitContext,
    Processed,
    UpdateContext,
    Value,
)
from etconfig_reference.declared import NPU_VARIABLE
from etconfig_reference.delegate import Delegate
from etconfig_reference.device import Core, count_cycles, seconds_of
from etconfig_reference.errors import DeviceError
from etconfig_reference.graph import FLOAT32
from etconfig_reference.numerics import Numerics
from etconfig_reference.options import Fault, Precision, ReferenceNpuOptions
from etconfig_reference.support import load_graph
from etconfig_reference.work import Limits, Work

ON_CHIP_BYTES = 256 * 1024
"""The memory of a core, which limits the size of its tiles."""


def npu_limits() -> Limits:
    """Return the limits of one core."""
    return Limits(num_threads=1, tile_bytes=ON_CHIP_BYTES, accumulate=FLOAT32)


def npu_numerics(options: ReferenceNpuOptions) -> Numerics:
    """Return the precision that options choose."""
    return Numerics(rounds_to_half=options.precision is Precision.FP16, copies_constants=True)


@dataclass(kw_only=True)
class NpuHandle:
    """One loaded delegate, and the work that its simulated core has done so far.

    Attributes:
        delegate: The verified payload.
        options: The options in force.
        core: The simulated core; `destroy` closes it.
        cycles_per_execute: The cycles of one execute on the chosen core.
        executes: The number of executes so far.
        cycles: The cycles of these executes together.
        busy_seconds: The time of these cycles by the device's clock.
    """

    delegate: Delegate
    options: ReferenceNpuOptions
    core: Core
    cycles_per_execute: int
    executes: int = 0
    cycles: int = 0
    busy_seconds: float = 0.0

    def account(self, seconds: float) -> None:
        """Count one execute that took `seconds` of the device's time."""
        self.executes += 1
        self.cycles += self.cycles_per_execute
        self.busy_seconds += seconds


class ReferenceNpuBackend(Backend[ReferenceNpuOptions, NpuHandle]):
    """Runs delegates on one core of a simulated device.

    Args:
        sleep: Waits for a number of seconds; tests pass their own.
    """

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        self._sleep = sleep

    def availability(self) -> Availability:
        """Report whether the device is available, which an environment variable decides."""
        setting = os.environ.get(NPU_VARIABLE, "on")
        if setting == "on":
            return Availability.yes()
        reason = "the simulated device is off" if setting == "off" else "the setting of the device is unknown"
        return Availability.no(
            f"{reason}: {NPU_VARIABLE} is {setting!r}", f"set {NPU_VARIABLE} to on, or unset it"
        )

    def init(
        self,
        context: InitContext[ReferenceNpuOptions],
        processed: Processed,
        compile_specs: Mapping[str, bytes],
    ) -> NpuHandle:
        """Read the payload into the device's memory. Raises PayloadError, CompileSpecError or DeviceError."""
        _inject_fault(Fault.INIT, context.options)
        graph = load_graph("ReferenceNpuBackend", context, processed, compile_specs)
        numerics = npu_numerics(context.options)
        delegate = Delegate(graph, allocator=context.allocator, numerics=numerics)
        # the graph still has views into the payload, which would keep it from being freed
        del graph
        processed.free()
        return NpuHandle(
            delegate=delegate,
            options=context.options,
            core=Core(self._sleep),
            cycles_per_execute=count_cycles(delegate.multiply_accumulates, context.options.core),
        )

    def execute(
        self, context: ExecuteContext[ReferenceNpuOptions], handle: NpuHandle, args: Sequence[Value]
    ) -> None:
        """Compute the outputs, no faster than the device. Raises DelegateArgumentError or DeviceError."""
        _inject_fault(Fault.EXECUTE, context.options)
        limits = vars(npu_limits())
        work = Work(temporary=context.temporary, parallel_for=context.parallel_for, **limits)
        seconds = seconds_of(handle.cycles_per_execute, context.options.power_mode)
        with context.tracer.span(f"npu core {context.options.core}"):
            done = handle.core.start(seconds)
            handle.delegate.run(context, args, work)
            done.result()
        handle.account(seconds)

    def update(
        self, context: UpdateContext[ReferenceNpuOptions], handle: NpuHandle, changed: frozenset[str]
    ) -> None:
        """Use new options from the next execute on. Raises DeviceError."""
        _inject_fault(Fault.UPDATE, context.options)
        handle.options = context.options

    def effective_options(self, handle: NpuHandle) -> Mapping[str, object]:
        """Return all options; the backend adjusts none of them."""
        return dict(handle.options)

    def destroy(self, handle: NpuHandle) -> None:
        """End the thread of the core."""
        handle.core.close()


def _inject_fault(fault: Fault, options: ReferenceNpuOptions) -> None:
    if options.fault is fault:
        raise DeviceError(
            f"core {options.core} does not answer to {fault.value}: the option fault asks for it"
        )
