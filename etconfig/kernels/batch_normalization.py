"""Batch normalization: of each channel by given statistics, or by the batch's. Dtypes: floating, equal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from etconfig.kernel.checks import require, require_floating, require_same_dtype
from etconfig.kernel.memory import Array, Shape
from etconfig.kernel.registry import KernelTable, Step, kernel
from etconfig.kernel.step_makers import computation_dtype, constant, in_dtype, in_sequence
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor


@kernel("aten::_native_batch_norm_legit_no_training.out")
def native_batch_norm_no_training(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
    out: Tensor,
    save_mean: Tensor,
    save_invstd: Tensor,
) -> Step:
    """Normalize each channel by given statistics.

    Shapes: x and out (N, C, *S), weight, bias, running_mean and running_var (C,), save_mean
    and save_invstd (0,).
    """
    require_same_dtype(input=x, running_mean=running_mean, running_var=running_var)
    per_channel = _prepare(x, weight, bias, (running_mean, running_var), out)
    save_mean.resize((0,))
    save_invstd.resize((0,))
    dtype = computation_dtype(x.dtype)
    scale, shift = np.empty(per_channel[0], dtype), np.empty(per_channel[0], dtype)

    def passes(x: Array, mean: Array, variance: Array, *rest: Array) -> Step:
        *factors, out = rest
        weights = factors[:1] if weight is not None else []
        biases = factors[-1:] if bias is not None else []
        return in_sequence(
            ArrayCall(np.add, variance, constant(eps, dtype), scale),
            ArrayCall(np.sqrt, scale, scale),
            ArrayCall(np.reciprocal, scale, scale),
            *(ArrayCall(np.multiply, scale, each, scale) for each in weights),
            ArrayCall(np.multiply, mean, scale, shift),
            ArrayCall(np.negative, shift, shift),
            *(ArrayCall(np.add, shift, each, shift) for each in biases),
            ArrayCall(np.multiply, x, scale.reshape(per_channel), out),
            ArrayCall(np.add, out, shift.reshape(per_channel), out),
        )

    present = [each.array for each in (x, running_mean, running_var, weight, bias) if each is not None]
    return in_dtype(dtype, present, out.array, passes)


@kernel("aten::_native_batch_norm_legit.out")
def native_batch_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
    out: Tensor,
    save_mean: Tensor,
    save_invstd: Tensor,
) -> Step:
    """Normalize each channel; in training by the batch, whose statistics then update the running ones.

    Shapes: x and out (N, C, *S), weight, bias and running statistics (C,), save_mean and save_invstd (C,),
    or (0,) without training.
    """
    if not training:
        return native_batch_norm_no_training.binder(
            x, weight, bias, running_mean, running_var, momentum, eps, out, save_mean, save_invstd
        )
    return _by_batch(
        x, weight, bias, (running_mean, running_var), momentum, eps, (out, save_mean, save_invstd)
    )


@kernel("aten::_native_batch_norm_legit.no_stats_out")
def native_batch_norm_no_stats(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    out: Tensor,
    save_mean: Tensor,
    save_invstd: Tensor,
) -> Step:
    """Normalize each channel by the batch's own statistics, whatever `training` says."""
    return _by_batch(x, weight, bias, (), momentum, eps, (out, save_mean, save_invstd))


def _by_batch(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running: tuple[Tensor, ...],
    momentum: float,
    eps: float,
    outs: tuple[Tensor, Tensor, Tensor],
) -> Step:
    out, save_mean, save_invstd = outs
    per_channel = _prepare(x, weight, bias, running, out)
    save_mean.resize(per_channel[:1])
    save_invstd.resize(per_channel[:1])
    count = x.shape[0] * math.prod(x.shape[2:])
    axes = (0, *range(2, x.array.ndim))
    dtype = computation_dtype(x.dtype)

    def factor(array: Array) -> Array:
        return array.astype(dtype, copy=False).reshape(per_channel)

    def run(
        x: Array, weight: Array | None, bias: Array | None, running: Sequence[Array], outs: Sequence[Array]
    ) -> None:
        values = x.astype(dtype, copy=False)
        mean = values.mean(axes, dtype=dtype)
        centered = values - mean.reshape(per_channel)
        variance = np.square(centered).mean(axes, dtype=dtype)
        inverse = 1 / np.sqrt(variance + dtype.type(eps))
        centered *= inverse.reshape(per_channel)
        if weight is not None:
            centered *= factor(weight)
        if bias is not None:
            centered += factor(bias)
        for target, result in zip(outs, (centered, mean, inverse), strict=True):
            np.copyto(target, result, casting="unsafe")
        for kept, fresh in zip(running, (mean, variance * count / max(count - 1, 1)), strict=False):
            mixed = momentum * fresh + (1 - momentum) * kept.astype(dtype, copy=False)
            np.copyto(kept, mixed, casting="unsafe")

    factors = (None if each is None else each.array for each in (weight, bias))
    return ArrayCall(run, x.array, *factors, [each.array for each in running], [each.array for each in outs])


def _prepare(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, running: Iterable[Tensor], out: Tensor
) -> Shape:
    """Check the common requirements; return the shape in which arrays (C,) broadcast to x."""
    require_floating("input", x)
    require(x.array.ndim >= 2, "input must have a channel dimension, but has shape {}", x.shape)
    require_same_dtype(input=x, weight=weight, bias=bias, out=out)
    channels = x.shape[1]
    for each in (weight, bias, *running):
        require(
            each is None or each.shape == (channels,),
            "weight, bias and running statistics must have shape ({},)",
            channels,
        )
    out.resize(x.shape)
    return (channels, *(1 for _ in x.shape[2:]))


KERNELS = KernelTable.of_module(globals())
