"""Random tensors and dropout.

The numbers come from the Method's own generator, which starts at the same seed in every Method: runs
can be repeated, and Methods do not affect each other. They are not PyTorch's numbers; only shape,
dtype and distribution are the same.
"""

from __future__ import annotations

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import (
    broadcast_shape,
    is_floating,
    require,
    require_dtype,
    require_floating,
    require_rank,
    require_same_dtype,
)
from etconfig.kernel.memory import Array, Scratch, Shape
from etconfig.kernel.registry import Ints, KernelTable, Step, kernel
from etconfig.kernel.step_makers import (
    BOOL,
    DType,
    computation_dtype,
    constant,
    copy_step,
    in_sequence,
    ufunc_step,
)
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor


@kernel("aten::rand.out")
def rand(size: Ints, out: Tensor, *, scratch: Scratch) -> Step:
    """Draw uniform numbers in [0, 1). Dtypes: floating."""
    require_floating("out", out)
    out.resize(size)
    # more bits than the dtype has could round up to 1
    bits = np.finfo(np.float16).nmant if out.dtype == np.float16 else 7
    if out.dtype.itemsize < 4:
        return ArrayCall(_draw_fractions, scratch.generator, bits, out.array)
    return ArrayCall(_draw_uniform, scratch.generator, out.array)


def _draw_fractions(random: np.random.Generator, bits: int, out: Array) -> None:
    np.copyto(out, random.integers(0, 1 << bits, out.shape) / (1 << bits), casting="unsafe")


def _draw_uniform(random: np.random.Generator, out: Array) -> None:
    np.copyto(out, random.random(out.shape, out.dtype))


@kernel("aten::randn.out")
def randn(size: Ints, out: Tensor, *, scratch: Scratch) -> Step:
    """Draw normal numbers of mean 0 and variance 1. Dtypes: floating."""
    require_floating("out", out)
    out.resize(size)
    return ArrayCall(_draw_normal, scratch.generator, computation_dtype(out.dtype), out.array)


def _draw_normal(random: np.random.Generator, dtype: DType, out: Array) -> None:
    np.copyto(out, random.standard_normal(out.shape, dtype), casting="unsafe")


@kernel("aten::rand_like.out")
def rand_like(self: Tensor, memory_format: int | None, out: Tensor, *, scratch: Scratch) -> Step:
    """Draw uniform numbers in [0, 1), in the shape of `self`."""
    step: Step = rand.binder(self.shape, out, scratch=scratch)
    return step


@kernel("aten::randn_like.out")
def randn_like(self: Tensor, memory_format: int | None, out: Tensor, *, scratch: Scratch) -> Step:
    """Draw normal numbers of mean 0 and variance 1, in the shape of `self`."""
    step: Step = randn.binder(self.shape, out, scratch=scratch)
    return step


@kernel("aten::randint.low_out")
def randint_low(low: int, high: int, size: Ints, out: Tensor, *, scratch: Scratch) -> Step:
    """Draw whole numbers from `low` to below `high`."""
    require(low < high, "there are no numbers from {} to below {}", low, high)
    if not is_floating(out.dtype) and out.dtype != BOOL:
        limits = np.iinfo(out.dtype)
        fits = limits.min <= low and high - 1 <= limits.max
        require(fits, "{} to {} do not fit {}", low, high - 1, out.dtype.name)
    out.resize(size)
    return ArrayCall(_draw_integers, scratch.generator, low, high, out.array)


def _draw_integers(random: np.random.Generator, low: int, high: int, out: Array) -> None:
    np.copyto(out, random.integers(low, high, out.shape), casting="unsafe")


@kernel("aten::randint.out")
def randint(high: int, size: Ints, out: Tensor, *, scratch: Scratch) -> Step:
    """Draw whole numbers from 0 to below `high`."""
    step: Step = randint_low.binder(0, high, size, out, scratch=scratch)
    return step


@kernel("aten::randint_like.out")
def randint_like(
    self: Tensor, high: int, memory_format: int | None, out: Tensor, *, scratch: Scratch
) -> Step:
    """Draw whole numbers from 0 to below `high`, in the shape of `self`."""
    step: Step = randint_low.binder(0, high, self.shape, out, scratch=scratch)
    return step


@kernel("aten::randint_like.low_dtype_out")
def randint_like_low(
    self: Tensor, low: int, high: int, memory_format: int | None, out: Tensor, *, scratch: Scratch
) -> Step:
    """Draw whole numbers from `low` to below `high`, in the shape of `self`."""
    step: Step = randint_low.binder(low, high, self.shape, out, scratch=scratch)
    return step


@kernel("aten::randperm.out")
def randperm(n: int, out: Tensor, *, scratch: Scratch) -> Step:
    """Draw a permutation of the numbers from 0 to below `n`. Shapes: out (n,)."""
    require(n >= 0, "n must not be negative, but is {}", n)
    if out.dtype.kind in "iu":
        require(n - 1 <= np.iinfo(out.dtype).max, "{} does not fit {}", n - 1, out.dtype.name)
    out.resize((n,))
    return ArrayCall(_draw_permutation, scratch.generator, out.array)


def _draw_permutation(random: np.random.Generator, out: Array) -> None:
    np.copyto(out, random.permutation(out.size), casting="unsafe")


# --- distributions with parameters ---------------------------------------------------------
# a generator of PyTorch's own cannot be in a program, so that the parameter is None


@kernel("aten::uniform.out")
def uniform(
    self: Tensor, low: float, high: float, generator: int | None, out: Tensor, *, scratch: Scratch
) -> Step:
    """Draw uniform numbers in [low, high), in the shape of `self`."""
    require_floating("out", out)
    require(low <= high, "low {} is above high {}", low, high)
    out.resize(self.shape)
    return ArrayCall(_draw_between, scratch.generator, low, high, out.array)


def _draw_between(random: np.random.Generator, low: float, high: float, out: Array) -> None:
    np.copyto(out, low + (high - low) * random.random(out.shape), casting="unsafe")


@kernel("aten::exponential.out")
def exponential(self: Tensor, lambd: float, generator: int | None, out: Tensor, *, scratch: Scratch) -> Step:
    """Draw exponential numbers of rate `lambd`, which are positive, in the shape of `self`."""
    require_floating("out", out)
    require(lambd > 0, "lambd must be positive, not {}", lambd)
    out.resize(self.shape)
    return ArrayCall(_draw_exponential, scratch.generator, 1 / lambd, out.array)


def _draw_exponential(random: np.random.Generator, scale: float, out: Array) -> None:
    drawn = random.standard_exponential(out.shape) * scale
    # a program takes the logarithm next; 0 would become infinite
    np.copyto(out, np.maximum(drawn, _smallest(out.dtype)), casting="unsafe")


def _smallest(dtype: DType) -> float:
    """Return the smallest normal number of a floating dtype."""
    return float(np.finfo(np.float16).tiny) if dtype == np.float16 else float(np.finfo(np.float32).tiny)


@kernel("aten::normal.Tensor_float_out")
def normal_means(mean: Tensor, std: float, generator: int | None, out: Tensor, *, scratch: Scratch) -> Step:
    """Draw normal numbers around each of the means."""
    return _normal(mean.shape, mean.array, np.array(std), out, scratch)


@kernel("aten::normal.float_Tensor_out")
def normal_deviations(
    mean: float, std: Tensor, generator: int | None, out: Tensor, *, scratch: Scratch
) -> Step:
    """Draw normal numbers of one mean with each of the standard deviations."""
    return _normal(std.shape, np.array(mean), std.array, out, scratch)


@kernel("aten::normal.Tensor_Tensor_out")
def normal_both(mean: Tensor, std: Tensor, generator: int | None, out: Tensor, *, scratch: Scratch) -> Step:
    """Draw normal numbers around means with standard deviations; both broadcast."""
    return _normal(broadcast_shape(mean.shape, std.shape), mean.array, std.array, out, scratch)


@kernel("aten::normal.float_float_out")
def normal_numbers(
    mean: float, std: float, size: Ints, generator: int | None, out: Tensor, *, scratch: Scratch
) -> Step:
    """Draw normal numbers of one mean and standard deviation."""
    return _normal(size, np.array(mean), np.array(std), out, scratch)


def _normal(size: Shape, mean: Array, std: Array, out: Tensor, scratch: Scratch) -> Step:
    require_floating("out", out)
    out.resize(size)
    return ArrayCall(_draw_scaled, scratch.generator, mean, std, out.array)


def _draw_scaled(random: np.random.Generator, mean: Array, std: Array, out: Array) -> None:
    deviations = std.astype(np.float64)
    require(bool((deviations >= 0).all()), "a standard deviation is negative")
    np.copyto(out, random.standard_normal(out.shape) * deviations + mean.astype(np.float64), casting="unsafe")


@kernel("aten::multinomial.out")
def multinomial(
    self: Tensor, num_samples: int, replacement: bool, generator: int | None, out: Tensor, *, scratch: Scratch
) -> Step:
    """Draw indices with the probabilities of a row, which need not add up to 1.

    Shapes: self (n,) or (rows, n), out (num_samples,) or (rows, num_samples). Dtypes: self floating, out
    int64.
    """
    require_floating("self", self)
    require_rank("self", self, 1, 2)
    require_dtype("out", out, {ScalarType.LONG})
    count = self.shape[-1]
    require(num_samples > 0, "num_samples must be positive, not {}", num_samples)
    require(
        replacement or num_samples <= count,
        "{} of {} cannot be drawn without replacement",
        num_samples,
        count,
    )
    out.resize((*self.shape[:-1], num_samples))
    return ArrayCall(_draw_indices, scratch.generator, replacement, self.array, out.array)


def _draw_indices(random: np.random.Generator, replacement: bool, weights: Array, out: Array) -> None:
    rows = weights.astype(np.float64).reshape(-1, weights.shape[-1])
    is_valid = bool(np.isfinite(rows).all()) and bool((rows >= 0).all())
    require(is_valid, "a probability is negative, infinite or NaN")
    require(bool((rows.sum(1) > 0).all()), "the probabilities of a row add up to 0")
    count = out.shape[-1]
    if replacement:
        bounds = np.cumsum(rows, 1)
        drawn = random.random((len(rows), count)) * bounds[:, -1:]
        chosen = [np.searchsorted(*each, side="right") for each in zip(bounds, drawn, strict=True)]
        np.copyto(out, np.array(chosen, np.int64).reshape(out.shape))
        return
    possible = (rows > 0).sum(1).min(initial=count)  # type: ignore[call-overload]  # numpy 2.5
    require(possible >= count, "{} samples without replacement, but only {} are possible", count, possible)
    # the smallest of exponential numbers, each with the rate of its weight, is drawn with its probability
    with np.errstate(divide="ignore"):
        arrivals = random.standard_exponential(rows.shape) / rows
    np.copyto(out, np.argsort(arrivals, 1)[:, :count].reshape(out.shape))


@kernel("aten::native_dropout.out")
def native_dropout(
    x: Tensor, p: float, train: bool | None, out: Tensor, mask: Tensor, *, scratch: Scratch
) -> Step:
    """Set each element to zero with probability p, and scale the others by 1 / (1 - p).

    Shapes: x, out and mask (*S). Dtypes: x and out floating, equal; mask bool, true where
    an element is kept. Without `train`, which None stands for too, all are kept as they are.
    """
    require_floating("input", x)
    require_same_dtype(input=x, out=out)
    require_dtype("mask", mask, {ScalarType.BOOL})
    require(0 <= p <= 1, "p must be from 0 to 1, not {}", p)
    out.resize(x.shape)
    mask.resize(x.shape)
    if train is False:
        return in_sequence(copy_step(out.array, x.array), ArrayCall(np.ndarray.fill, mask.array, True))
    dtype = computation_dtype(x.dtype)
    scale = constant(1 / (1 - p) if p < 1 else 0.0, dtype)
    return in_sequence(
        ArrayCall(_draw_kept, scratch.generator, p, mask.array),
        ufunc_step(np.multiply, (x.array, mask.array), out.array, dtype),
        ufunc_step(np.multiply, (out.array, scale), out.array, dtype),
    )


def _draw_kept(random: np.random.Generator, p: float, kept: Array) -> None:
    np.copyto(kept, random.random(kept.shape, np.float32) >= p)


KERNELS = KernelTable.of_module(globals())
