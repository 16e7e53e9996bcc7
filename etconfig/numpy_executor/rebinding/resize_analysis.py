"""What a bound step can reach: whether running it might give a tensor another shape."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, EllipsisType, FunctionType, MethodType, NoneType

import numpy as np

from etconfig.kernel.memory import Array
from etconfig.kernel.steps import Passes
from etconfig.kernel.tensor import Tensor

_COMPILED = (np.ufunc, BuiltinFunctionType, type(np.copyto))
"""Functions of numpy, and of Python in C: they know nothing of tensors."""

_DATA = (np.ndarray, np.generic, np.dtype, bool, int, float, str, slice, NoneType, EllipsisType)

_MAX_DEPTH = 8
"""So deep functions are looked into that are bound to others."""


def may_resize(step: Callable[[], object]) -> bool:
    """Whether running a step might give a tensor another shape: if it holds a tensor, or who knows what."""
    if type(step) is Passes:
        return any(map(may_resize, step.steps))
    if isinstance(step, partial) and isinstance(step.func, _COMPILED):
        return False
    return _holds_more_than_data(step, _MAX_DEPTH)


def _holds_more_than_data(value: object, depth: int) -> bool:
    if isinstance(value, (*_DATA, *_COMPILED)):
        return False
    held: list[object] = []
    if isinstance(value, tuple):
        held += value
    elif isinstance(value, Passes):
        held += value.steps
    elif isinstance(value, partial):
        held += (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, FunctionType):
        held += [cell.cell_contents for cell in value.__closure__ or ()]
        held += (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
    else:
        return True
    return depth == 0 or any(_holds_more_than_data(each, depth - 1) for each in held)


def view_given_by(step: Callable[[], object]) -> tuple[Tensor, Array, object] | None:
    """If all that a step does is to make a tensor a certain view: the tensor, its array, and its token."""
    if type(step) is not partial or type(step.func) is not MethodType or len(step.args) != 2 or step.keywords:
        return None
    tensor, function = step.func.__self__, step.func.__func__
    return (tensor, *step.args) if isinstance(tensor, Tensor) and function is Tensor.rebind else None
