"""Backward passes that ExecuTorch has kernels for: convolution and max pooling."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import (
    require,
    require_dtype,
    require_floating,
    require_rank,
    require_same_dtype,
)
from etconfig.kernel.memory import Array, Scratch
from etconfig.kernel.registry import Bools, Ints, KernelTable, Step, kernel
from etconfig.kernel.step_makers import (
    computation_dtype,
    constant,
    in_dtype,
    in_sequence,
    is_empty,
    packed,
    run_through,
)
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.windows.convolution import multiplication
from etconfig.kernels.windows.pooling_windows import Windows, spread


@kernel("aten::convolution_backward.out")
def convolution_backward(
    grad_output: Tensor,
    x: Tensor,
    weight: Tensor,
    bias_sizes: Ints | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
    output_mask: Bools,
    grad_input: Tensor,
    grad_weight: Tensor,
    grad_bias: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Compute the gradients of a convolution's input, weight and bias, as far as `output_mask` requests them.

    Shapes: as for `aten::convolution`; each gradient has the shape of the tensor that it belongs to.
    Dtypes: floating, equal.
    """
    require_floating("input", x)
    require_rank("input", x, 3, 4, 5)
    require_rank("weight", weight, x.array.ndim)
    require_rank("grad_output", grad_output, x.array.ndim)
    require(len(output_mask) == 3, "output_mask must have 3 elements, not {}", output_mask)
    require(groups >= 1, "groups must be positive, not {}", groups)
    require_same_dtype(grad_output=grad_output, input=x, weight=weight)
    windows = Windows.of(weight.shape[2:], stride, padding, dilation, x.array.ndim - 2)
    large, small = (grad_output, x) if transposed else (x, grad_output)
    added = spread("output_padding", output_padding, x.array.ndim - 2, at_least=0) if transposed else ()
    _check_sizes(large, small, weight, windows, groups, added)
    steps: list[Step] = []
    if output_mask[0]:
        grad_input.resize(x.shape)
        back = partial(
            multiplication, windows=windows, groups=groups, transposed=not transposed, scratch=scratch
        )
        steps.append(_run_in_dtype(back, grad_output, weight, grad_input, scratch))
    if output_mask[1]:
        grad_weight.resize(weight.shape)
        products = partial(_weight_gradient, windows=windows, groups=groups, scratch=scratch)
        steps.append(_run_in_dtype(products, large, small, grad_weight, scratch))
    if output_mask[2]:
        grad_bias.resize((grad_output.shape[1],))
        axes = (0, *range(2, grad_output.array.ndim))
        steps.append(
            in_dtype(
                computation_dtype(x.dtype),
                (grad_output.array,),
                grad_bias.array,
                lambda x, out: ArrayCall(np.add.reduce, x, axis=axes, out=out),
                scratch,
            )
        )
    return in_sequence(*steps)


def _run_in_dtype(
    work: Callable[..., Iterator[Step]], left: Tensor, right: Tensor, out: Tensor, scratch: Scratch
) -> Step:
    """Return the steps of `work` on two tensors, in the dtype that their convolution is computed in."""
    return in_dtype(
        computation_dtype(left.dtype),
        (left.array, right.array),
        out.array,
        lambda left, right, out: run_through(scratch, partial(work, left, right, out)),
        scratch,
    )


def _check_sizes(
    large: Tensor, small: Tensor, weight: Tensor, windows: Windows, groups: int, added: Ints
) -> None:
    """Require an element of `small` for each window over `large`, whose output padding does not count."""
    require(
        large.shape[:2] == (small.shape[0], weight.shape[1] * groups)
        and small.shape[1] == weight.shape[0]
        and weight.shape[0] % groups == 0,
        "{}, {} and weight {} in {} groups do not fit together",
        large.shape,
        small.shape,
        weight.shape,
        groups,
    )
    sizes = tuple(size - extra for size, extra in zip_longest(large.shape[2:], added, fillvalue=0))
    counts = windows.count(sizes)
    require(
        counts == small.shape[2:],
        "there are {} windows over {}, not {}",
        counts,
        large.shape,
        small.shape[2:],
    )


def _weight_gradient(
    large: Array, small: Array, out: Array, windows: Windows, groups: int, scratch: Scratch
) -> Iterator[Step]:
    """Yield the steps that, for each position in a window, multiply elements by their windows' gradients."""
    yield ArrayCall(np.ndarray.fill, out, 0)
    if not large.size:  # without elements, the other sizes may be arbitrarily large
        return
    counts, channels = small.shape[2:], large.shape[1]
    count = math.prod(counts)
    padding, columns, product = scratch.arrays(
        ((channels, *windows.padded_sizes(counts)), large.dtype),
        ((channels, *counts), large.dtype),
        ((groups, len(out) // groups, channels // groups), large.dtype),
    )
    rows = columns.reshape(groups, channels // groups, count).swapaxes(1, 2)
    for image, gradient in zip(large, small, strict=True):
        source, preparation = windows.padded(image, padding, constant(0, large.dtype))
        yield from preparation
        gradients, packing = packed(gradient, (groups, len(gradient) // groups, count), scratch)
        yield from packing
        for offset in windows.offsets:
            place: tuple[Any, ...] = (slice(None), slice(None), *offset)
            yield ArrayCall(np.copyto, columns, windows.at(source, offset, counts))
            yield ArrayCall(np.matmul, gradients, rows, product)
            yield ArrayCall(np.add, out[place], product.reshape(out[place].shape), out[place])


@kernel("aten::max_pool2d_with_indices_backward.grad_input")
def max_pool2d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool,
    indices: Tensor,
    grad_input: Tensor,
) -> Step:
    """Add each gradient to the place that its maximum came from.

    Shapes: self and grad_input (N, C, H, W) or (C, H, W), grad_output and indices (..., OH, OW).
    """
    require_floating("self", self)
    require_rank("self", self, 3, 4)
    require_same_dtype(self=self, grad_output=grad_output, grad_input=grad_input)
    require_dtype("indices", indices, {ScalarType.LONG})
    require(
        grad_output.shape == indices.shape and grad_output.shape[:-2] == self.shape[:-2],
        "grad_output {} and indices {} do not fit self {}",
        grad_output.shape,
        indices.shape,
        self.shape,
    )
    grad_input.resize(self.shape)
    if is_empty(grad_input):
        return in_sequence()
    area = self.shape[-2] * self.shape[-1]
    planes = math.prod(self.shape[:-2])
    starts = np.arange(planes)[:, np.newaxis] * area

    def run(indices: Array, gradients: Array, out: Array) -> None:
        places = indices.reshape(planes, -1) if indices.size else indices.reshape(planes, 0)
        if places.size and not 0 <= places.min() <= places.max() < area:
            raise ValueError(f"an index is out of range for {area} elements")
        values = gradients.reshape(places.shape).astype(np.float64)
        sums = np.bincount((places + starts).ravel(), values.ravel(), planes * area)
        np.copyto(out, sums.reshape(out.shape), casting="unsafe")

    return ArrayCall(run, indices.array, grad_output.array, grad_input.array)


KERNELS = KernelTable.of_module(globals())
