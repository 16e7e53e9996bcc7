"""Steps that run delegates on a method's tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from etconfig.backend import ResizeOutput, Value
from etconfig.kernel.memory import Array
from etconfig.kernel.tensor import Tensor
from etconfig.method import DelegateRun


class DelegateStep(partial[None]):
    """The step that runs a delegate."""

    # a `partial`, as `ArrayCall`
    __slots__ = ()

    def __new__(cls, run: DelegateRun, arguments: Sequence[object], bound: Sequence[Value]) -> DelegateStep:
        """Return the step for these arguments, and their arrays."""
        args = [*bound]
        return super().__new__(cls, _run, run, arguments, bound, args, partial(_resize, arguments, args))

    @property
    def bound(self) -> Sequence[Value]:
        """The arguments as the backend gets them."""
        bound: Sequence[Value] = self.args[2]
        return bound

    def with_bound(self, bound: Sequence[Value]) -> DelegateStep:
        """Return the step for other arrays."""
        return DelegateStep(self.args[0], self.args[1], bound)


def bind_delegate(run: DelegateRun, arguments: Sequence[object]) -> DelegateStep:
    """Return the step that runs a delegate on `arguments`: inputs, then outputs."""
    return DelegateStep(run, arguments, [_as_value(argument) for argument in arguments])


def _run(run: DelegateRun, _: Any, bound: Sequence[Value], args: list[Value], resize: ResizeOutput) -> None:
    args[:] = bound  # an earlier run may have resized outputs
    run(args, resize)


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
