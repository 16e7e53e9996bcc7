"""Calls of the operators that exports of common blocks contain and ExecuTorch has no kernels for.

They come last, since the position of a case is the seed of its numbers.
"""

from __future__ import annotations

import torch
from kernel_case_edges import SCALAR_INDEX
from kernel_case_table import (
    SPECIAL,
    T,
    bf16,
    boolean,
    c64,
    c128,
    case,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    image,
    inf,
    nan,
    t,
    u8,
    v,
)

FLOATS = (f32, f64, f16, bf16)

# --- sorting, order statistics ----------------------------------------------------------------

TIES = T(i64, (2, 6), values=[3, 1, 3, 2, 1, 3, 0, 0, 5, 5, 0, 5])
for descending in (False, True):
    for dtype in (f32, bf16, i32):
        case("sort.values", t(dtype, 3, 7), -1, descending, out=(dtype, i64))
    case("sort.values", SPECIAL, 0, descending, out=(f32, i64))
    case("sort.values", t(f32), -1, descending, out=(f32, i64))
    case("sort.values", t(boolean, 8), 0, descending, out=(boolean, i64))
    case("sort.values_stable", TIES, True, 1, descending, out=(i64, i64))
    case("sort.values_stable", t(u8, 4, 3), None, 0, descending, out=(u8, i64))
DISTINCT = T(f32, (3, 5), values=[5, 1, 4, 2, 3, -1, -2, 8, 7, 0, 2.5, nan, 1.5, 9, nan])
for keepdim in (False, True):
    for name in ("median.dim_values", "nanmedian.dim_values"):
        case(name, DISTINCT, 1, keepdim, out=(f32, i64))
        case(name, t(f64, 4, 3), 0, keepdim, out=(f64, i64))
    case("kthvalue.values", DISTINCT, 2, -1, keepdim, out=(f32, i64))
    case("kthvalue.values", t(f32, 4, 3), 4, 0, keepdim, out=(f32, i64))
    case("mode.values", TIES, 1, keepdim, out=(i64, i64))
    case("mode.values", DISTINCT, -1, keepdim, out=(f32, i64))
for name in ("median.out", "nanmedian.out"):
    case(name, DISTINCT)
    case(name, t(bf16, 4, 3), out=bf16)
    case(name, t(i32, 7), out=i32)

# --- places among boundaries, histograms, unique elements -------------------------------------

BOUNDS = v(f32, -1.0, 0.0, 0.0, 1.5, 3.0)
for right in (False, True):
    case("bucketize.Tensor_out", SPECIAL, BOUNDS, False, right, out=i64)
    case("bucketize.Tensor_out", t(i64, 3, 4), v(i64, -3, 0, 2), True, right, out=i32)
    case("bucketize.Tensor_out", v(bf16, -2.0, 0.0, 1.0), v(bf16, -1.0, 0.0, 1.0), False, right, out=i64)
    case("bucketize.Scalar_out", 1.5, BOUNDS, False, right, out=i64)
    case("searchsorted.Tensor_out", BOUNDS, t(f32, 2, 3), False, right, None, None, out=i64)
    case("searchsorted.Scalar_out", BOUNDS, 0.0, True, right, None, None, out=i32)
ROWS = T(f32, (2, 3), values=[-1.0, 0.0, 1.0, 0.0, 0.5, 2.0])
case("searchsorted.Tensor_out", ROWS, t(f32, 2, 4), False, False, "right", None, out=i64)
case(
    "searchsorted.Tensor_out",
    v(f32, 3.0, 1.0, 2.0),
    t(f32, 5),
    False,
    False,
    "left",
    v(i64, 1, 2, 0),
    out=i64,
)
case("histc.out", t(f32, 4, 5), 6, -1, 1)
case("histc.out", t(f32, 30), 4, 0, 0)
case("histc.out", v(f64, 2.0, 2.0), 3, 0, 0, out=f64)
for inverse, counts in ((True, True), (False, False)):
    case("_unique2.out", TIES, True, inverse, counts, out=(i64, i64, i64))
    case("_unique2.out", v(f32, 2, nan, -0.5, 2, 7), True, inverse, counts, out=(f32, i64, i64))
    case("unique_consecutive.out", v(i32, 1, 1, 2, 2, 1), inverse, counts, None, out=(i32, i64, i64))
    case(
        "unique_consecutive.out",
        T(i64, (2, 3), values=[1, 1, 2, 3, 3, 4]),
        inverse,
        counts,
        1,
        out=(i64, i64, i64),
    )

# --- prefixes -----------------------------------------------------------------------------------

for dim in (0, -1):
    case("cumprod.out", t(f32, 3, 4), dim, None)
    case("cummax.out", t(f32, 3, 4), dim, out=(f32, i64))
    case("cummin.out", t(i32, 3, 4), dim, out=(i32, i64))
    case("_logcumsumexp.out", t(f32, 3, 4), dim)
case("cumprod.out", t(i32, 5), 0, None, out=i64)
case("cumprod.out", t(bf16, 5, low=0.5, high=1.5), 0, None, out=bf16)
for name in ("cummax.out", "cummin.out"):
    case(name, SPECIAL, 0, out=(f32, i64))
    case(name, t(bf16, 2, 6), 1, out=(bf16, i64))
    case(name, t(f32), 0, out=(f32, i64))
case("logcumsumexp.out", v(f32, -inf, -inf, 100.0, 1000.0, inf, nan, 1.0), 0)

# --- elementwise functions ----------------------------------------------------------------------

for name in ("silu.out", "hardswish.out", "hardsigmoid.out", "exp2.out", "erfc.out"):
    case(name, SPECIAL)
    for dtype in FLOATS:
        case(name, t(dtype, 3, 5, low=-5, high=5), out=dtype)
case("silu.out", image(1, 3, 4, 5), channels_last=True)
for name in ("digamma.out", "lgamma.out", "i0.out"):
    case(name, v(f32, 0.3, 1.0, 2.5, 7.0, -0.3, -2.5, 30.0, inf, nan))
    case(name, v(f64, 0.3, 1.0, 2.5, 7.0, -0.3, -2.5, 30.0), out=f64)
case("lgamma.out", v(f32, 0.0, -1.0, -2.0, -inf))
case("digamma.out", v(f32, 0.0, -0.0, -1.0, -2.0, -inf))
for dtype in (f32, f64):
    case("erfinv.out", v(dtype, 0.0, -0.0, 0.5, -0.5, 0.71, 0.9999, -0.99999, 1.0, -1.0, 1.5, nan), out=dtype)
case("exp2.out", t(i64, 5))
case("angle.out", SPECIAL)
case("angle.out", t(i32, 5))
case("angle.out", t(c64, 3, 4))
case("frexp.Tensor_out", v(f32, 0.0, -0.0, 1.0, -3.75, 1e-30, 6e10), out=(f32, i32))
case("frexp.Tensor_out", v(f16, 0.25, -3.0, 100.0), out=(f16, i32))
for dtype in (f32, f16, bf16, f64):
    for decimals in (2, 0, -1):
        case("round.decimals_out", T(dtype, (4, 5), -99, 99), decimals, out=dtype)
case("round.decimals_out", v(f32, 0.25, 0.35, -0.25, 2.5, nan, inf), 1)
for dtype in (f32, bf16, i32, u8, boolean):
    case("signbit.out", t(dtype, 7), out=boolean)
case("signbit.out", SPECIAL, out=boolean)
SIGNED = v(f32, 0.0, -0.0, inf, -inf, nan, 2.0)
case("copysign.out", v(f32, 1.0, 1.0, -2.0, 3.0, nan, 0.0), SIGNED)
case("copysign.out", t(f16, 3, 1), t(f16, 4), out=f16)
case("copysign.out", t(i32, 4), t(f32, 4))
case("copysign.out", t(i64, 4), t(i64, 4))
for number in (-1.0, 0.0, -3, 2):  # a program cannot carry -0.0
    case("copysign.Scalar_out", SIGNED, number)
    case("copysign.Scalar_out", t(i32, 4), number)
case("hypot.out", SPECIAL, T(f32, (14,)))
case("hypot.out", t(bf16, 4), t(bf16, 4), out=bf16)
case("hypot.out", t(f64, 3, 1), t(f64, 4), out=f64)
case("nextafter.out", SPECIAL, T(f32, (14,)))
case("nextafter.out", t(f64, 4), t(f64, 4), out=f64)
for name in ("gcd.out", "lcm.out"):
    for dtype in (i64, i32, u8):
        case(name, t(dtype, 3, 5), t(dtype, 5), out=dtype)
    case(name, t(i32, 4), t(i64, 4), out=i64)
for name in ("fmax.out", "fmin.out"):
    case(name, v(f32, 1, nan, -inf, 2, nan), v(f32, 2, 1, 3, nan, nan))
    case(name, t(i32, 3, 1), t(i32, 4), out=i32)
    case(name, t(bf16, 4), t(bf16, 4), out=bf16)
case("ldexp.out", t(f32, 3, 4), t(i32, 4))
case("ldexp.out", t(f32, 4), t(f32, 4))
for name in ("__lshift__", "__rshift__"):
    for dtype in (i64, i32, i16, i8, u8):
        case(f"{name}.Scalar_out", t(dtype, 6), 2, out=dtype)
        case(f"{name}.Tensor_out", t(dtype, 6), T(dtype, (6,), 0, 5), out=dtype)
    case(f"{name}.Scalar_out", v(i32, 5, -5, 1, -1), 40, out=i32)
    case(f"{name}.Tensor_out", t(i64, 3, 1), T(i64, (4,), 0, 5), out=i64)

# --- products -----------------------------------------------------------------------------------

for dtype in FLOATS:
    case(
        "_trilinear.out",
        t(dtype, 3, 4),
        t(dtype, 2, 4, 5),
        t(dtype, 3, 5),
        [1, 3],
        [0],
        [1, 2],
        [2, 3],
        1,
        out=dtype,
    )
case("_trilinear.out", t(f32, 3), t(f32, 4), t(f32, 3), [1], [0], [1], [0, 1], 0)
case("_trilinear.out", t(i32, 2, 3), t(i32, 2, 3), t(i32, 2, 3), [], [], [], [], 0, out=i32)
for dtype in (f32, f64, bf16, i64):
    case("addmv.out", t(dtype, 3), t(dtype, 3, 4), t(dtype, 4), 1, 1, out=dtype)
    case("addbmm.out", t(dtype, 3, 5), t(dtype, 2, 3, 4), t(dtype, 2, 4, 5), 1, 1, out=dtype)
case("addmv.out", v(f32, nan, nan, nan), t(f32, 3, 4), t(f32, 4), 0, 0.5)
case("addmv.out", t(f32), t(f32, 3, 4), t(f32, 4), 0.5, 2)
case("addbmm.out", t(f32, 5), t(f32, 2, 3, 4), t(f32, 2, 4, 5), 0.5, 2)
for p in (0, 1, 2, 3.5, inf, -inf, -1.0):
    case("dist.out", t(f32, 3, 4), t(f32, 4), p)
case("dist.out", t(bf16, 3), t(bf16, 3), 2, out=bf16)
DOMINANT = T(f32, (2, 3, 3), values=[4, 1, 0.5, 1, 5, 0.25, 0.5, 0.25, 3, 2, -1, 0, -1, 2, -1, 0, -1, 2])
case("linalg_inv_ex.inverse", DOMINANT, False, out=(f32, i32))
case("linalg_cholesky_ex.L", DOMINANT, False, False, out=(f32, i32))
case("linalg_cholesky_ex.L", DOMINANT, True, False, out=(f32, i32))

# --- creation -----------------------------------------------------------------------------------

for offset in (0, 1, -2, 9):
    case("tril_indices.out", 3, 4, offset, out=T(i64, (2, len(torch.tril_indices(3, 4, offset)[0])), 0, 1))
    case("triu_indices.out", 3, 4, offset, out=T(i64, (2, len(torch.triu_indices(3, 4, offset)[0])), 0, 1))
for name in ("fft_fftfreq.out", "fft_rfftfreq.out"):
    case(name, 7, 0.5)
    case(name, 8, 1.0)
for length in (0, 1, 2, 9):
    for name in ("bartlett", "blackman", "hamming", "hann", "kaiser"):
        case(f"{name}_window.out", length)
        for periodic in (False, True):
            arguments = (12.0,) if name == "kaiser" else ()
            overload = "beta_out" if name == "kaiser" else "periodic_out"
            case(f"{name}_window.{overload}", length, periodic, *arguments)
case("hamming_window.periodic_alpha_out", 6, True, 0.5)
case("hamming_window.periodic_alpha_beta_out", 6, False, 0.5, 0.4)

# --- complex numbers ----------------------------------------------------------------------------

for dtype in (c64, c128):
    part = f32 if dtype is c64 else f64
    for norm in (0, 1, 2):
        case("_fft_c2c.out", t(dtype, 3, 4), [1], norm, True, out=dtype)
        case("_fft_c2c.out", t(dtype, 3, 4), [0, 1], norm, False, out=dtype)
    case("abs.out", t(dtype, 3, 4), out=part)
    case("view_as_complex_copy.out", t(part, 3, 4, 2), out=dtype)
    case("complex.out", t(part, 3, 1), t(part, 4), out=dtype)
    case("polar.out", t(part, 3, 4), t(part, 4), out=dtype)
for old, new in ((f32, i32), (f32, u8), (i64, f32), (f16, i16), (bf16, i16), (u8, i8)):
    case("view_copy.dtype_out", t(old, 3, 8), new, out=new)
case("view_copy.dtype_out", t(u8, 3, 8), f32, out=f32)
case("view_copy.dtype_out", t(f32), i32, out=i32)

# --- writes -------------------------------------------------------------------------------------

INDEX = T(i64, (2, 3), 0, 3)
for include_self in (True, False):
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for dtype in (f32, i64):
            case(
                "scatter_reduce.two_out",
                t(dtype, 4, 3),
                0,
                INDEX,
                t(dtype, 3, 3),
                reduce,
                include_self,
                out=dtype,
            )
        case("scatter_reduce.two_out", t(f32), 0, SCALAR_INDEX, t(f32), reduce, include_self)
    for reduce in ("prod", "mean", "amax", "amin"):
        for dtype in (f32, i64):
            arguments = (t(dtype, 4, 3), 0, v(i64, 0, 2, 0), t(dtype, 3, 3), reduce, include_self)
            case("index_reduce.out", *arguments, out=dtype)
for accumulate in (False, True):
    case("put.out", t(f32, 3, 4), v(i64, 0, 5, -1), t(f32, 3), accumulate)
    case("put.out", t(i32, 4), T(i64, (2, 2), values=[0, 3, 1, 2]), t(i32, 2, 2), accumulate, out=i32)
case("diagonal_scatter.out", t(f32, 3, 4), t(f32, 3), 0, 0, 1)
case("diagonal_scatter.out", t(f32, 2, 3, 4), t(f32, 2, 2), -1, -2, -1)
case("as_strided_scatter.out", t(f32, 3, 4), t(f32, 2, 2), [2, 2], [4, 1], 1)

# --- bags of embeddings, pooling, sampling ------------------------------------------------------

BAG = (t(f32, 6, 4), T(i64, (7,), 0, 6), v(i64, 0, 2, 2, 5))
for mode in (1, 2):
    for padding in (-1, 2):
        case("_embedding_bag.out", *BAG, False, mode, False, None, False, padding, out=(f32, i64, i64, i64))
case("_embedding_bag.out", *BAG, False, 0, False, None, False, 2, out=(f32, i64, i64, i64))
case("_embedding_bag.out", *BAG, False, 0, False, t(f32, 7), False, 2, out=(f32, i64, i64, i64))
LAST = (t(f64, 6, 4), T(i32, (7,), 0, 6), v(i32, 0, 2, 7))
case("_embedding_bag.out", *LAST, False, 1, False, None, True, -1, out=(f64, i32, i32, i32))
SAMPLES = T(f32, (2, 3, 2), 0, 1)
case("fractional_max_pool2d.output", t(f32, 2, 3, 7, 8), [2, 3], [3, 4], SAMPLES, out=(f32, i64))
case("fractional_max_pool2d.output", t(f32, 3, 7, 8), [2, 2], [1, 4], T(f32, (1, 3, 2), 0, 1), out=(f32, i64))
case(
    "fractional_max_pool3d.output",
    t(f32, 1, 2, 4, 5, 6),
    [2, 2, 2],
    [2, 3, 3],
    T(f32, (1, 2, 3), 0, 1),
    out=(f32, i64),
)
for mode in (0, 1):
    for padding in (0, 1, 2):
        for align in (False, True):
            grid = t(f32, 1, 2, 3, 2, 3, low=-1.5, high=1.5)
            case("grid_sampler_3d.out", t(f32, 1, 2, 3, 4, 5), grid, mode, padding, align)
for align in (False, True):
    case("_upsample_bicubic2d_aa.out", t(f32, 1, 2, 9, 11), [4, 5], align, None, None)
    case("_upsample_bicubic2d_aa.out", t(f32, 1, 2, 4, 5), [9, 7], align, None, None)
case("_upsample_bicubic2d_aa.out", t(f64, 1, 2, 9, 11), [4, 5], False, 0.45, 0.5, out=f64)
for periodic in (False, True):
    case("kaiser_window.periodic_out", 9, periodic)
