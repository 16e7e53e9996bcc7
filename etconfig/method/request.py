"""`method_request`: a request to load a method, with all that etconfig provides for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from etconfig.backend import BoundBackend
from etconfig.kernel.memory import MethodAllocator
from etconfig.method import MethodRequest
from etconfig.method.delegate import DelegateEnvironment
from etconfig.method.delegate_set import DelegateSet
from etconfig.method.inputs import InputChecker
from etconfig.method.worker_threads import Workers
from etconfig.program import model
from etconfig.tracing import NullTracer, RecordingTracer

if TYPE_CHECKING:
    from etconfig.program.model import ExecutionPlan
    from etconfig.program.program import Program


_PYTORCH = ("aten::", "dim_order_ops::", "quantized_decomposed::")
"""Operators whose effects are known from their names: without `_` at the end, they write only to outputs."""

_WRITES_ARGUMENTS = "aten::_native_batch_norm_legit"

_LISTS = (model.TensorList, model.OptionalTensorList)


def written_inputs(plan: model.ExecutionPlan) -> frozenset[int]:
    """Return the inputs without planned memory that an instruction may write to, or make a tensor a view of.

    Most plans have none. Delegates only read their inputs, as their contract says.
    """
    inputs = ((position, index, plan.values[index]) for position, index in enumerate(plan.inputs))
    unplanned = {
        position: index
        for position, index, value in inputs
        if isinstance(value, model.SerializedTensor) and value.allocation_info is None
    }
    written = frozenset(_written_values(plan)) if unplanned else frozenset()
    return frozenset(position for position, index in unplanned.items() if index in written)


def _written_values(plan: model.ExecutionPlan) -> Iterator[int]:
    for chain in plan.chains:
        for instruction in chain.instructions:
            if isinstance(instruction, model.MoveCall):
                yield instruction.move_from
                yield instruction.move_to
            elif isinstance(instruction, model.KernelCall):
                for arg in _written_args(plan.operators[instruction.op_index], instruction.args):
                    value = plan.values[arg]
                    yield from value.items if isinstance(value, _LISTS) else (arg,)


def _written_args(operator: model.Operator, args: tuple[int, ...]) -> tuple[int, ...]:
    """Return the arguments that a kernel call may write to; all of them for an operator that is not known.

    A program gives the outputs of an operator last, and then its result, which is the same.
    """
    is_functional = bool(operator.overload) and operator.name.startswith(_PYTORCH)
    if not is_functional or operator.name.endswith("_") or operator.name == _WRITES_ARGUMENTS:
        return args
    if len(args) > 1 and args[-1] == args[-2]:
        return args[-1:]
    repeated = tuple(arg for arg in args if args.count(arg) > 1)
    return (*repeated, args[-1]) if repeated else args


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
        backends: Backends with their options, by id; backends that the method does not use are ignored.
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
        workers=Workers(f"etconfig-{name}"),
        allocator=MethodAllocator(),
        named_data=program.named_data,
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
        written_inputs=written_inputs(plan),
    )
