"""Variants of each call in the tables: other dtypes, no elements, no dimensions, NaN, other layouts.

Eager PyTorch decides whether a variant has results or is refused. A variant that PyTorch only does not
implement, for example for a dtype, proves nothing and is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from kernel_case_recording import Call, arguments, call, overload
from kernel_case_table import Case, T, bf16, f16, f32, f64, i8, i16, i32, i64, u8

FLOATING = (f64, f16, bf16)
INTEGERS = (i64, i32, i16, i8, u8)
DIMENSIONS = frozenset({"dim", "dim0", "dim1", "axis"})
INDICES = frozenset({"index", "indices"})
UNCHECKED = frozenset({"aten::max_pool2d_with_indices_backward.grad_input"})
"""PyTorch does not check their indices, and writes out of bounds."""

NOT_VARIED = ("quantized_decomposed::", "llama::", "aten::_embedding_bag.out")
"""Their parameters depend on each other, and some of ExecuTorch's own kernels end the process."""

REFUSALS = frozenset({"dim out of range", "index out of range"})
"""Kinds of variants in which PyTorch's refusal counts, too."""


def variant_calls(cases: Sequence[Case]) -> Iterator[tuple[int, str, Case, Call, bool]]:
    """Yield all variants: the number of the case, its name, itself, the call, and whether it is refused."""
    for index, base in enumerate(cases):
        outs: list[Any] = []
        for kind, each in variants(base):
            try:
                made = call(each, seed=index)
            except (RuntimeError, IndexError, ValueError, AssertionError):
                if kind in REFUSALS:
                    yield index, kind, each, Call(arguments(each, index), outs), True
                continue
            outs = outs or made.outs
            yield index, kind, each, made, False


def variants(each: Case) -> Iterator[tuple[str, Case]]:
    """Yield the case itself and its variants, each with its name."""
    yield "as it is", each
    if each.operator.startswith(NOT_VARIED):
        return
    tensors = list(_tensors((each.args, each.out)))
    given = {tensor.dtype for tensor in _tensors(each.args)}
    dtypes = given | {out for out in each.out if isinstance(out, torch.dtype)}
    is_complex = any(dtype.is_complex for dtype in dtypes)
    for dtype in FLOATING if f32 in given and not is_complex else ():
        yield str(dtype), _retyped(each, f32, dtype)
    if given <= set(INTEGERS) and len(dtypes) == 1:
        (old,) = dtypes
        yield from ((str(dtype), _retyped(each, old, dtype)) for dtype in INTEGERS if dtype != old)
    for size in sorted({size for tensor in tensors for size in tensor.shape} - {0}):
        yield f"no {size}", _mapped(each, lambda t, size=size: _without(t, size))
    if tensors and not any(tensor.values for tensor in tensors):
        yield "rank 0", _mapped(each, lambda t: replace(t, shape=()))
    if any(tensor.dtype.is_floating_point for tensor in tensors):
        yield "special", _mapped(each, lambda t: replace(t, is_special=t.dtype.is_floating_point))
    if any(len(tensor.shape) == 4 for tensor in tensors) and not each.channels_last:
        last = _mapped(each, lambda t: replace(t, channels_last=len(t.shape) == 4))
        yield "channels last", replace(last, channels_last=True)
    yield from _moved_dimensions(each)
    yield from _moved_indices(each)


def _moved_dimensions(each: Case) -> Iterator[tuple[str, Case]]:
    ranks = [len(arg.shape) for arg in each.args if isinstance(arg, T)]
    for place, name in enumerate(_names(each)):
        value = each.args[place]
        if name not in DIMENSIONS or not ranks or type(value) is not int:
            continue
        rank = max(ranks[0], 1)
        yield (
            "dim from the other end",
            _with_argument(each, place, value - rank if value >= 0 else value + rank),
        )
        yield "dim out of range", _with_argument(each, place, rank + 1)


def _moved_indices(each: Case) -> Iterator[tuple[str, Case]]:
    if each.operator in UNCHECKED:
        return
    for place, name in enumerate(_names(each)):
        value = each.args[place]
        if name in INDICES and isinstance(value, T) and value.dtype in (i32, i64):
            yield (
                "index out of range",
                _with_argument(each, place, replace(value, values=None, low=99, high=100)),
            )


def _names(each: Case) -> list[str]:
    parameters = overload(each.operator)._schema.arguments
    return [parameter.name for parameter in parameters[: len(each.args)]]


def _with_argument(each: Case, place: int, value: Any) -> Case:
    return replace(each, args=(*each.args[:place], value, *each.args[place + 1 :]))


def _retyped(each: Case, given: torch.dtype, wanted: torch.dtype) -> Case:
    def retype(value: Any) -> Any:
        if isinstance(value, T):
            return replace(value, dtype=retype(value.dtype))
        if isinstance(value, (list, tuple)):
            return type(value)(map(retype, value))
        return wanted if value is given else value

    return replace(each, args=retype(each.args), out=retype(each.out))


def _without(tensor: T, size: int) -> T:
    """Replace sizes of `size` by 0, and given values by others."""
    if size not in tensor.shape:
        return tensor
    shape = tuple(0 if each == size else each for each in tensor.shape)
    return replace(tensor, shape=shape, values=None if tensor.values is None else [])


def _mapped(each: Case, change: Callable[[T], T]) -> Case:
    def mapped(value: Any) -> Any:
        if isinstance(value, T):
            return change(value)
        return type(value)(map(mapped, value)) if isinstance(value, (list, tuple)) else value

    return replace(each, args=mapped(each.args), out=mapped(each.out))


def _tensors(value: Any) -> Iterator[T]:
    if isinstance(value, T):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)
