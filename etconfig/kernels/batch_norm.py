"""Batch normalisation that takes its statistics from the batch, or from what was gathered of former ones.

Without training, `aten::_native_batch_norm_legit_no_training` of the normalisation family does the work.
"""

from __future__ import annotations

import math

import numpy as np

from etconfig.executor.checks import require, require_floating, require_same_dtype
from etconfig.executor.memory import Array
from etconfig.executor.registry import KernelTable, Step, kernel
from etconfig.executor.tensor import Tensor
from etconfig.kernels import normalisation
from etconfig.kernels.binding import computation_dtype


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
    """Normalise each channel; in training by the batch, whose statistics then update the running ones.

    Shapes: x and out (N, C, *S), weight, bias and running statistics (C,), save_mean and save_invstd (C,),
    or (0,) without training. Dtypes: floating, equal.
    """
    if not training:
        return normalisation.native_batch_norm_no_training.binder(
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
    """The same by the batch alone, whatever `training` says."""
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
    save_mean.resize((channels,))
    save_invstd.resize((channels,))
    count = x.shape[0] * math.prod(x.shape[2:])
    axes = (0, *range(2, x.array.ndim))
    per_channel = (channels, *(1 for _ in x.shape[2:]))
    dtype = computation_dtype(x.dtype)

    def factor(tensor: Tensor) -> Array:
        return tensor.array.astype(dtype, copy=False).reshape(per_channel)

    def run() -> None:
        values = x.array.astype(dtype, copy=False)
        mean = values.mean(axes, dtype=dtype)
        centred = values - mean.reshape(per_channel)
        variance = np.square(centred).mean(axes, dtype=dtype)
        inverse = 1 / np.sqrt(variance + dtype.type(eps))
        centred *= inverse.reshape(per_channel)
        if weight is not None:
            centred *= factor(weight)
        if bias is not None:
            centred += factor(bias)
        np.copyto(out.array, centred, casting="unsafe")
        np.copyto(save_mean.array, mean, casting="unsafe")
        np.copyto(save_invstd.array, inverse, casting="unsafe")
        for kept, fresh in zip(running, (mean, variance * count / max(count - 1, 1)), strict=False):
            mixed = momentum * fresh + (1 - momentum) * kept.array.astype(dtype, copy=False)
            np.copyto(kept.array, mixed, casting="unsafe")

    return run


KERNELS = KernelTable.of_module(globals())
