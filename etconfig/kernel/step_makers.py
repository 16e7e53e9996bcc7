"""Functions that make steps, shared by all families of kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from etconfig.kernel.checks import is_floating, promote, require
from etconfig.kernel.memory import Array, Scratch, Shape
from etconfig.kernel.registry import Scalar, Step
from etconfig.kernel.steps import ArrayCall, Copy, StepSequence
from etconfig.kernel.tensor import Tensor

DType = np.dtype[Any]

BOOL = np.dtype(np.bool_)
INT64 = np.dtype(np.int64)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)

_KEYWORD_OUT = (np.maximum, np.minimum)
"""The ufuncs for which numpy 2.4 deprecates a positional `out`, which is faster for all others."""


def computation_dtype(dtype: DType) -> DType:
    """Return the dtype to compute in: float32 for 16-bit floats, as in PyTorch, else the dtype itself."""
    return FLOAT32 if is_floating(dtype) and dtype.itemsize < FLOAT32.itemsize else dtype


def result_dtype(first: Tensor, second: Tensor | Scalar) -> DType:
    """Return the dtype in which PyTorch computes with these two.

    A number, or a tensor of rank 0 beside one of a higher rank, decides only if it is of a
    higher category (boolean, integer, floating).
    Source: torch.result_type, aten/src/ATen/native/TypeProperties.cpp.
    """
    if not isinstance(second, Tensor):
        return _with_weak(first.dtype, _dtype_of(second))
    if first.dtype == second.dtype:
        return first.dtype
    if first.array.ndim == 0 < second.array.ndim:
        return _with_weak(second.dtype, first.dtype)
    if second.array.ndim == 0 < first.array.ndim:
        return _with_weak(first.dtype, second.dtype)
    return promote(first.dtype, second.dtype)


def _with_weak(dtype: DType, weak: DType) -> DType:
    return dtype if _category(dtype) >= _category(weak) else weak


def _dtype_of(number: Scalar) -> DType:
    """Return the dtype that PyTorch gives a number by default."""
    return {bool: BOOL, int: INT64, float: FLOAT32}[type(number)]


def _category(dtype: DType) -> int:
    if dtype.kind == "c":
        return 3
    return 2 if is_floating(dtype) else int(dtype != BOOL)


def require_castable(dtype: DType, out: Tensor) -> None:
    """Refuse to write floats to integers, or numbers to booleans, as PyTorch does."""
    if dtype != out.dtype and _category(dtype) > _category(out.dtype):
        raise ValueError(f"a result of dtype {dtype.name} cannot be written to {out.dtype.name}")


def constant(number: Scalar, dtype: DType) -> Array:
    """Return a number as an array of rank 0, which numpy processes twice as fast as a Python number.

    Raises:
        ValueError: the number does not fit the dtype.
    """
    if dtype.kind in "iu" and not isinstance(number, float):
        largest = np.iinfo(dtype).max
        # as in PyTorch, a negative number wraps in an unsigned type
        require(-largest - 1 <= number <= largest, "{} does not fit {}", number, dtype.name)
    return np.array(number).astype(dtype)


def wrapped(number: Scalar, dtype: DType) -> Array:
    """Return such an array where PyTorch lets every number wrap, as in arithmetic and comparisons."""
    return np.array(number).astype(dtype)


def ufunc_step(
    ufunc: np.ufunc, inputs: Sequence[Array], out: Array, dtype: DType, out_dtype: DType | None = None
) -> Step:
    """Return the step that applies `ufunc`, computing in `dtype`, with results in `out_dtype`.

    `out_dtype` defaults to `dtype`. Where the dtypes agree, the call converts nothing; otherwise numpy
    converts block by block.
    """
    out_dtype = dtype if out_dtype is None else out_dtype
    inputs, out = _of_one_rank(inputs, out)
    if out.dtype != out_dtype or any(each.dtype != dtype for each in inputs):
        signature = (*(dtype for _ in inputs), out_dtype)
        return ArrayCall(ufunc, *inputs, out=out, signature=signature, casting="unsafe")
    if ufunc in _KEYWORD_OUT:
        return ArrayCall(ufunc, *inputs, out=out)
    return ArrayCall(ufunc, *inputs, out)


def _of_one_rank(inputs: Sequence[Array], out: Array) -> tuple[Sequence[Array], Array]:
    """Return dense arrays of one size flattened if their ranks differ, since numpy then takes twice as long.

    Numbers, which have rank 0, stay as they are.
    """
    ranks = {out.ndim, *[each.ndim for each in inputs]}
    if len(ranks) == 1 or 0 in ranks or any(each.size != out.size for each in inputs):
        return inputs, out
    arrays = (*inputs, out)
    if not all(each.flags.c_contiguous for each in arrays):
        return inputs, out
    return [each.reshape(-1) for each in inputs], out.reshape(-1)


def copy_step(out: Array, source: Array) -> Step:
    """Return the step that copies, broadcasting and converting as PyTorch does: numpy's unsafe cast."""
    if out.dtype == source.dtype:
        return Copy(out, source)
    return ArrayCall(np.copyto, out, source, casting="unsafe")


def in_sequence(*steps: Step) -> Step:
    """Return one step that runs all of `steps`."""
    return steps[0] if len(steps) == 1 else StepSequence(*steps)


KEPT_STEPS = 20_000
"""The most steps that are made when one instruction is bound; more would take too much memory."""


def run_through(scratch: Scratch, make: Callable[[], Iterator[Step]]) -> Step:
    """Return one step that runs the steps of `make`: made once, or for each run if there are too many."""
    most = int(min(KEPT_STEPS, scratch.steps_left))
    steps = list(islice(make(), most + 1))
    scratch.steps_left = max(scratch.steps_left - len(steps), 0)
    if len(steps) <= most:
        return in_sequence(*steps)

    return ArrayCall(_run_each, in_same_memory(scratch, make))


def _run_each(make: Callable[[], Iterator[Step]]) -> None:
    for step in make():
        step()


def in_same_memory(scratch: Scratch, make: Callable[[], Iterator[Step]]) -> Callable[[], Iterator[Step]]:
    """Return `make` for calls while a method runs: its steps do not use memory that is reserved now."""
    start = scratch.start

    def make_again() -> Iterator[Step]:
        with scratch.starting_at(start):
            yield from make()

    return make_again


def in_dtype(
    dtype: DType,
    inputs: Sequence[Array],
    out: Array,
    bind: Callable[..., Step],
    scratch: Scratch | None = None,
) -> Step:
    """Return the step of `bind(*inputs, out)`, with converted copies of arrays that have another dtype.

    This serves work of several passes, each of which would otherwise convert by itself.
    Constants, which are read-only, are converted once.

    Args:
        dtype: The dtype to compute in.
        inputs: The arrays that are read.
        out: The array that is written.
        bind: Makes the step for arrays of `dtype`.
        scratch: Where the copies lie; without it, each step has memory of its own. Memory that `bind` gets
            from it does not overlap the copies; memory that was requested before does.
    """
    if out.dtype == dtype and all(each.dtype == dtype for each in inputs):
        return bind(*inputs, out)
    inputs = [_converted(each, dtype, scratch) for each in inputs]
    models = [np.empty_like(each, dtype) for each in inputs if each.dtype != dtype]
    models += [np.empty(out.shape, dtype)] if out.dtype != dtype else []
    with _memory_for(models, scratch) as memory:
        stand_ins = iter(memory)
        arrays = [each if each.dtype == dtype else next(stand_ins) for each in (*inputs, out)]
        step = bind(*arrays)
    before = [copy_step(new, old) for new, old in zip(arrays, inputs, strict=False) if new is not old]
    after = [] if arrays[-1] is out else [copy_step(out, arrays[-1])]
    return in_sequence(*before, step, *after)


def _converted(array: Array, dtype: DType, scratch: Scratch | None) -> Array:
    """Return a constant in `dtype`, converted once if there is a scratch; any other array as it is."""
    if array.dtype == dtype or array.flags.writeable:
        return array
    return array.astype(dtype) if scratch is None else scratch.kept(array, dtype, lambda: array.astype(dtype))


@contextmanager
def _memory_for(models: Sequence[Array], scratch: Scratch | None) -> Iterator[Sequence[Array]]:
    """Reserve arrays with the shapes and strides of `models`: `models` themselves without a scratch."""
    if scratch is None:
        yield models
        return
    with scratch.reserved(*[((each.size,), each.dtype) for each in models]) as blocks:
        yield [
            np.ndarray(each.shape, each.dtype, block, 0, each.strides)
            for each, block in zip(models, blocks, strict=True)
        ]


def is_empty(tensor: Tensor) -> bool:
    """Return whether a tensor has no elements.

    Its other sizes may then be arbitrarily large, so no work may depend on them.
    """
    return not tensor.array.size


def reshaped_copy_step(out: Array, source: Array) -> Step:
    """Return the step that copies in logical order between arrays of one size but different shapes."""
    if out.flags.c_contiguous:
        return copy_step(out.reshape(source.shape), source)
    if source.flags.c_contiguous:
        return copy_step(out, source.reshape(out.shape))
    return ArrayCall(_copy_reshaped, out, source)


def _copy_reshaped(out: Array, source: Array) -> None:
    np.copyto(out, source.reshape(out.shape))


def copy_selected(out: Array, source: Array, place: tuple[slice | Array, ...]) -> None:
    """Copy the elements of `source` that numpy's indexing selects with `place`."""
    np.copyto(out, source[place])


def viewed_as(array: Array, shape: Shape) -> Array:
    """Return a view with axes split, or with axes of size 1 added or removed: any strides allow this."""
    if array.shape == shape:
        return array
    view: Array = array.reshape(shape)
    if array.size and not np.may_share_memory(view, array):
        raise ValueError(f"{array.shape} has no view of shape {shape}")
    return view


def packed(array: Array, shape: Shape, scratch: Scratch) -> tuple[Array, list[Step]]:
    """Return the elements in row-major order as `shape`, and the steps that keep them up to date.

    This is a view where the memory allows it. Otherwise it is a copy: of a constant made once, of
    anything else made at each run.
    """
    if not array.flags.writeable:
        return scratch.kept(array, shape, lambda: array.reshape(shape)), []
    dense = array.reshape(shape)
    return dense, [] if np.may_share_memory(dense, array) else [reshaped_copy_step(dense, array)]


def write_resized(out: Tensor, values: Array) -> None:
    """Give `out` the size of the values, which depends on the data, and write the values to it."""
    out.resize(values.shape)
    np.copyto(out.array, values)
