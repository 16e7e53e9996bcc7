"""Steps that run delegates on a method's tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from etconfig.backend import Value
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Step
from etconfig.kernel.tensor import Tensor
from etconfig.method import DelegateRun
from etconfig.numpy_executor.instructions import instructions_of
from etconfig.numpy_executor.rebinding import Rebinding
from etconfig.program import model


def bind_delegate(run: DelegateRun, arguments: Sequence[object]) -> Step:
    """Return the step that runs a delegate on `arguments`: inputs, then outputs."""
    bound = [_as_value(argument) for argument in arguments]
    args = [*bound]
    resize_output = partial(_resize, arguments, args)

    def step() -> None:
        args[:] = bound  # an earlier run may have resized outputs
        run(args, resize_output)

    return step


def stable_delegates(plan: model.ExecutionPlan, rebinding: Rebinding) -> frozenset[int]:
    """Return the delegates, by index, that get the same arrays at every call.

    All calls of such a delegate have the same arguments, and none of these may be another tensor, shape or
    memory from run to run.
    """
    arguments: dict[int, set[tuple[int, ...]]] = {}
    for index, args in instructions_of(plan, model.DelegateCall):
        arguments.setdefault(index, set()).add(tuple(args))
    return frozenset(
        index
        for index, calls in arguments.items()
        if len(calls) == 1 and not any(rebinding.varies(args) for args in calls)
    )


def _resize(arguments: Sequence[object], args: list[Value], index: int, shape: Sequence[int]) -> Array:
    tensor = arguments[index] if 0 <= index < len(arguments) else None
    if not isinstance(tensor, Tensor):
        raise ValueError(f"argument {index} is not a tensor")
    tensor.resize(tuple(shape))
    args[index] = tensor.array
    return tensor.array


def _as_value(argument: object) -> Value:
    """Return an argument in the form that backends get: an array for a tensor, a list for a list."""
    if isinstance(argument, Tensor):
        argument.ensure_memory()
        return argument.array
    if isinstance(argument, tuple):
        return [_as_value(item) for item in argument]
    return argument  # type: ignore[return-value]  # a scalar, a string or None
