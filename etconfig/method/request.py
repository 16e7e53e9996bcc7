"""`method_request`: a request to load a method, with all that etconfig provides for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from etconfig.backend import BoundBackend
from etconfig.kernel.memory import MethodAllocator
from etconfig.method import MethodRequest
from etconfig.method.delegate import DelegateEnvironment
from etconfig.method.delegate_set import DelegateSet
from etconfig.method.inputs import InputChecker
from etconfig.method.workers import Workers
from etconfig.method.written_inputs import written_inputs
from etconfig.program.model import SerializedTensor
from etconfig.tracing import NullTracer, RecordingTracer

if TYPE_CHECKING:
    from etconfig.program.model import ExecutionPlan
    from etconfig.program.program import Program


def method_request(
    program: Program,
    plan: ExecutionPlan,
    backends: Mapping[str, BoundBackend],
    *,
    instance: str | None = None,
    tracer: RecordingTracer | None = None,
    optimize: bool = True,
    memory: Sequence[Any] = (),
) -> MethodRequest:
    """Make the request to load a method, with a host for delegates that etconfig's backends serve.

    Args:
        program: The verified program.
        plan: Its method to load.
        backends: Backends with their options, by id; those that the method does not use are ignored.
        instance: The named instance, or None for the default one.
        tracer: Records events under the label of the instance; None records nothing.
        optimize: True if the executor may omit work that changes no output beyond rounding.
        memory: The arenas of the caller, as `check_memory` returns them.
    """
    name = plan.name
    track = None if tracer is None else tracer.track(name if instance is None else f"{name}@{instance}")
    environment = DelegateEnvironment(
        method=name,
        instance=instance,
        named_data=program.named_data,
        workers=Workers(f"etconfig-{name}"),
        allocator=MethodAllocator(),
        tracer=NullTracer() if track is None else track,
    )
    needed = dict.fromkeys(delegate.id for delegate in plan.delegates)
    bound = {backend: backends[backend] for backend in needed if backend in backends}
    return MethodRequest(
        name=name,
        instance=instance,
        backends=bound,
        check_inputs=InputChecker(plan).check,
        host=DelegateSet(program, plan, bound, environment),
        tracer=track,
        optimize=optimize,
        memory=memory,
        written_inputs=_written_inputs(plan),
    )


def _written_inputs(plan: ExecutionPlan) -> frozenset[int]:
    """Return the inputs without planned memory that instructions may write to; most plans have none such."""
    inputs = ((position, plan.values[index]) for position, index in enumerate(plan.inputs))
    unplanned = {
        position
        for position, value in inputs
        if isinstance(value, SerializedTensor) and value.allocation_info is None
    }
    return written_inputs(plan) & unplanned if unplanned else frozenset()
