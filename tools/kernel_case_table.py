"""The operator calls that build_kernel_cases.py records, family by family."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

f16, bf16, f32, f64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
u8, i8, i16, i32, i64, boolean = torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool
u16, c64, c128 = torch.uint16, torch.complex64, torch.complex128
nan, inf = math.nan, math.inf


@dataclass(frozen=True)
class T:
    """A tensor to make: normal, or uniform integers or numbers in [low, high), or given values.

    If it is special, some of its elements are infinite or NaN.
    """

    dtype: torch.dtype
    shape: tuple[int, ...]
    low: float | None = None
    high: float | None = None
    values: list[Any] | None = None
    channels_last: bool = False
    is_special: bool = False

    def make(self) -> torch.Tensor:
        if self.values is not None:
            made = torch.tensor(self.values, dtype=self.dtype).reshape(self.shape)
        elif self.dtype is boolean:
            made = torch.rand(self.shape) < 0.5
        elif self.dtype.is_complex:
            made = torch.randn(self.shape, dtype=self.dtype)
        elif not self.dtype.is_floating_point:
            low = (0 if self.dtype in (u8, u16) else -9) if self.low is None else self.low
            made = torch.randint(int(low), int(10 if self.high is None else self.high), self.shape).to(
                self.dtype
            )
        elif self.low is None:
            made = torch.randn(self.shape).to(self.dtype)
        else:
            made = (torch.rand(self.shape) * (self.high - self.low) + self.low).to(self.dtype)
        if self.is_special:
            made.view(-1)[1::4], made.view(-1)[2::5], made.view(-1)[4::7] = nan, inf, -inf
        return made.contiguous(memory_format=torch.channels_last) if self.channels_last else made


def t(dtype: torch.dtype, *shape: int, low: float | None = None, high: float | None = None) -> T:
    return T(dtype, shape, low, high)


def v(dtype: torch.dtype, *values: Any) -> T:
    return T(dtype, (len(values),), values=list(values))


def image(*shape: int, dtype: torch.dtype = f32) -> T:
    return T(dtype, shape, channels_last=True)


@dataclass(frozen=True)
class Case:
    """One call. `out` has the dtype of each output, or a T if PyTorch does not resize it."""

    operator: str
    args: tuple[Any, ...]
    out: tuple[Any, ...]
    channels_last: bool = False


CASES: list[Case] = []


def case(operator: str, *args: Any, out: Any = f32, channels_last: bool = False) -> None:
    name = operator if "::" in operator else f"aten::{operator}"
    CASES.append(Case(name, args, out if isinstance(out, tuple) else (out,), channels_last))


# --- functions of one tensor -------------------------------------------------------------

SPECIAL = v(f32, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 20.0, -20.0, 100.0, -100.0, inf, -inf, nan)

for name in (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp", "expm1", "log"),
    *("log10", "log1p", "log2", "reciprocal", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh"),
):
    case(f"{name}.out", SPECIAL)
for name in ["erf", "exp", "log", "sigmoid", "rsqrt", "tanh", "sqrt"]:
    case(f"{name}.out", t(f32, 3, 40, low=0.1, high=5))
    case(f"{name}.out", t(f64, 2, 5, low=0.1, high=3), out=f64)
    case(f"{name}.out", t(f16, 2, 5, low=0.1, high=3), out=f16)
    case(f"{name}.out", t(bf16, 2, 5, low=0.1, high=3), out=bf16)
    case(f"{name}.out", t(i64, 2, 5, low=1, high=4))
case("erf.out", T(f32, (2, 3, 4, 5), channels_last=True), channels_last=True)
case("sin.out", t(boolean, 6))
for name in ["abs", "neg", "ceil", "floor", "round", "trunc", "sign", "relu"]:
    case(f"{name}.out", SPECIAL)
    case(f"{name}.out", t(i32, 7), out=i32)
    case(f"{name}.out", t(bf16, 7), out=bf16)
case("sign.out", t(boolean, 5), out=boolean)
case("relu.out", image(1, 3, 4, 5), channels_last=True)
case("bitwise_not.out", t(i16, 5), out=i16)
case("bitwise_not.out", t(boolean, 5), out=boolean)
for name in ["isnan", "isinf", "logical_not"]:
    case(f"{name}.out", SPECIAL, out=boolean)
    case(f"{name}.out", v(bf16, 0.0, 1.0, nan, inf), out=boolean)
    case(f"{name}.out", t(i32, 5), out=boolean)

# --- arithmetic --------------------------------------------------------------------------

for name in ["add", "sub"]:
    case(f"{name}.out", t(f32, 2, 3), t(f32, 2, 3), 1)
    case(f"{name}.out", t(f32, 2, 1, 3), t(f32, 4, 1), 2.5)
    case(f"{name}.out", t(f32, 4), t(i64, 4), 1)
    case(f"{name}.out", t(f16, 4), t(f16, 4), 0.3, out=f16)
    case(f"{name}.out", t(bf16, 4), t(f32), 1, out=bf16)
    case(f"{name}.out", t(i32, 4), t(i64), 3, out=i32)
    case(f"{name}.out", t(u8, 4), t(i8, 4), 1, out=i16)
    case(f"{name}.Scalar_out", t(f32, 2, 3), 1.5, 2)
    case(f"{name}.Scalar_out", t(i64, 3), 2, 1, out=i64)
    case(f"{name}.Scalar_out", t(i64, 3), 2.5, 1)
case("add.out", image(1, 3, 4, 5), t(f32, 3, 1, 1), 1, channels_last=True)
case("add.out", t(boolean, 6), t(boolean, 6), 1, out=boolean)
case("rsub.Scalar_out", t(f32, 4), 1.5, 2)
case("rsub.Scalar_out", t(i32, 4), 7, 1, out=i32)
for dtype in (f32, f64, f16, bf16, i64, i8, u8, boolean):
    case("mul.out", t(dtype, 3, 4), t(dtype, 4), out=dtype)
case("mul.out", t(boolean, 4), t(f32, 4))
case("mul.out", t(i64, 4), t(f32))
case("mul.Scalar_out", t(bf16, 9), 0.1, out=bf16)
case("mul.Scalar_out", t(i32, 4), 3, out=i32)
case("div.out", t(f32, 5), v(f32, 1.0, -2.0, 0.0, inf, 3.0))
case("div.out", t(i32, 5), v(i32, 1, -2, 0, 4, 3))
case("div.Scalar_out", t(f32, 5), 0.3)
case("div.Scalar_out", t(i64, 5), 4)
DIVIDENDS, DIVISORS = v(f32, 7, -7, 7, -7, 1, 0, inf, 5), v(f32, 3, 3, -3, -3, 0, 0, 2, inf)
INT_DIVIDENDS, INT_DIVISORS = v(i64, 7, -7, 7, -7, 6), v(i64, 3, 3, -3, -3, 2)
for mode in (None, "trunc", "floor"):
    case("div.out_mode", DIVIDENDS, DIVISORS, mode)
    case("div.out_mode", INT_DIVIDENDS, INT_DIVISORS, mode, out=f32 if mode is None else i64)
    case("div.Scalar_mode_out", t(f32, 6), 0.7, mode)
    case("div.Scalar_mode_out", t(f16, 6), 0.7, mode, out=f16)
case("floor_divide.out", DIVIDENDS, DIVISORS)
case("floor_divide.out", INT_DIVIDENDS, INT_DIVISORS, out=i64)
for name in ["fmod", "remainder"]:
    case(f"{name}.Tensor_out", DIVIDENDS, DIVISORS)
    case(f"{name}.Tensor_out", INT_DIVIDENDS, INT_DIVISORS, out=i64)
    case(f"{name}.Scalar_out", t(i64, 6), -4, out=i64)
    case(f"{name}.Scalar_out", t(i64, 6), 2.5)
case("pow.Tensor_Tensor_out", t(f32, 5, low=0, high=3), t(f32, 5))
case("pow.Tensor_Tensor_out", t(i64, 5), t(i64, 5, low=0, high=4), out=i64)
for exponent in (2, 0.5, 3.0, -1.5):
    case("pow.Tensor_Scalar_out", t(f32, 6, low=0.1, high=3), exponent)
case("pow.Tensor_Scalar_out", t(i32, 6), 2, out=i32)
case("pow.Tensor_Scalar_out", t(bf16, 6), 3, out=bf16)
case("pow.Scalar_out", 2, t(f32, 6))
for dtype in (i32, i64):
    for base in (2, 1, -1):
        case("pow.Scalar_out", base, v(dtype, -2, -1, 0, 3), out=dtype)
    case("pow.Tensor_Tensor_out", v(dtype, 2, 1, -1, -1, 0, 3), v(dtype, -1, -2, -3, -4, -1, 3), out=dtype)
for name in ["maximum", "minimum"]:
    case(f"{name}.out", v(f32, 1, nan, -inf, 2), v(f32, 2, 1, 3, nan))
    case(f"{name}.out", t(i32, 3, 1), t(i32, 4), out=i32)
    case(f"{name}.out", t(bf16, 4), t(bf16, 4), out=bf16)
case("atan2.out", SPECIAL, T(f32, (14,)))
case("atan2.out", t(i64, 5), t(i64, 5))
case("clamp.out", SPECIAL, -0.5, 2)
case("clamp.out", SPECIAL, None, 0.5)
case("clamp.out", t(i64, 6), -2, None, out=i64)
case("clamp.out", t(i64, 6), 0.5, 3)
case("clamp.out", t(f16, 6), 1, -1, out=f16)
case("clamp.Tensor_out", t(f32, 3, 4), t(f32, 4), None)
case("clamp.Tensor_out", t(f32, 3, 4), t(f32, 4), t(f32, 3, 1))

# --- comparisons, logic, bits ------------------------------------------------------------

for name in ["eq", "ne", "lt", "le", "gt", "ge"]:
    case(f"{name}.Tensor_out", v(f32, 1, 2, nan, 3), v(f32, 1, 3, nan, 2), out=boolean)
    case(f"{name}.Tensor_out", v(i64, 1, 2, 3), v(f32, 1.5, 2, 2.5), out=boolean)
    case(f"{name}.Scalar_out", v(i32, 1, 2, 3), 2, out=boolean)
    case(f"{name}.Scalar_out", v(i64, 1, 2, 3), 1.5, out=boolean)
    case(f"{name}.Scalar_out", v(bf16, 0.1, 1, 2), 1, out=boolean)
for name in ["logical_and", "logical_or", "logical_xor"]:
    case(f"{name}.out", t(boolean, 3, 1), t(boolean, 4), out=boolean)
    case(f"{name}.out", v(f32, 0, 1, nan), v(i32, 0, 0, 1), out=boolean)
for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
    case(f"{name}.Tensor_out", t(i32, 6), t(i32, 6), out=i32)
    case(f"{name}.Tensor_out", t(boolean, 6), t(boolean, 6), out=boolean)
    case(f"{name}.Scalar_out", t(u8, 6), 6, out=u8)
for name in ["bitwise_left_shift", "bitwise_right_shift"]:
    case(f"{name}.Tensor_out", t(i32, 5), t(i32, 5, low=0, high=4), out=i32)
    case(f"{name}.Tensor_Scalar_out", t(i64, 5), 2, out=i64)

# --- activations -------------------------------------------------------------------------

for dtype in (f32, f64, bf16):
    case("hardtanh.out", t(dtype, 9), -1, 1, out=dtype)
    case("leaky_relu.out", t(dtype, 9), 0.1, out=dtype)
    case("elu.out", t(dtype, 9), 1.2, 1.1, 0.9, out=dtype)
    case("gelu.out", t(dtype, 9), "none", out=dtype)
    case("gelu.out", t(dtype, 9), "tanh", out=dtype)
    case("glu.out", t(dtype, 2, 6), -1, out=dtype)
case("gelu.out", t(f32, 5, 41, low=-6, high=6), "none")
case("glu.out", t(f32, 4, 3), 0)
case("leaky_relu.out", SPECIAL, 2.0)
case("logit.out", t(f32, 6, low=0, high=1), None)
case("logit.out", v(f32, 0.0, 0.5, 1.0, 1.5), 1e-3)

# --- softmax, normalization --------------------------------------------------------------

for name in ["_softmax", "_log_softmax"]:
    case(f"{name}.out", t(f32, 3, 5), -1, False)
    case(f"{name}.out", t(f32, 3, 5, 4), 1, False)
    case(f"{name}.out", t(f32), 0, False)
    case(f"{name}.out", t(bf16, 3, 5), 1, False, out=bf16)
    case(f"{name}.out", v(f32, 1000, 1001, -inf), 0, False)
case("_softmax.out", image(1, 3, 4, 5), 1, False, channels_last=True)
for dtype in (f32, bf16):
    layer = (t(dtype, 2, 3, 8), [8], t(dtype, 8), t(dtype, 8), 1e-5)
    case("native_layer_norm.out", *layer, out=(dtype, dtype, dtype))
case("native_layer_norm.out", t(f32, 2, 3, 8), [3, 8], None, None, 1e-3, out=(f32, f32, f32))
case("native_layer_norm.out", t(f32, 4, 5), [5], t(f32, 5), None, 1e-5, out=(f32, f32, f32))
case("native_group_norm.out", t(f32, 2, 6, 4, 2), t(f32, 6), t(f32, 6), 2, 6, 8, 3, 1e-5, out=(f32, f32, f32))
case("native_group_norm.out", t(f64, 2, 4, 3), None, None, 2, 4, 3, 2, 1e-5, out=(f64, f64, f64))
BATCH_NORM = "_native_batch_norm_legit_no_training.out"
STATISTICS = (t(f32, 3), t(f32, 3, low=0.5, high=2), 0.1, 1e-5)
case(BATCH_NORM, t(f32, 2, 3, 4, 5), t(f32, 3), t(f32, 3), *STATISTICS, out=(f32, f32, f32))
case(BATCH_NORM, t(f32, 2, 3), None, None, *STATISTICS, out=(f32, f32, f32))
case(
    BATCH_NORM, image(2, 3, 4, 5), t(f32, 3), t(f32, 3), *STATISTICS, out=(f32, f32, f32), channels_last=True
)

# --- products of matrices ----------------------------------------------------------------

for dtype in (f32, f64, f16, bf16, i64, i32):
    case("mm.out", t(dtype, 3, 4), t(dtype, 4, 5), out=dtype)
    case("bmm.out", t(dtype, 2, 3, 4), t(dtype, 2, 4, 5), out=dtype)
    case("addmm.out", t(dtype, 5), t(dtype, 3, 4), t(dtype, 4, 5), 1, 1, out=dtype)
case("addmm.out", t(f32, 3, 5), t(f32, 3, 4), t(f32, 4, 5), 0.5, 2)
case("addmm.out", v(f32, nan, nan), t(f32, 3, 4), t(f32, 4, 2), 0, 1)

# --- convolution, pooling, resampling ----------------------------------------------------


def convolution(
    x: T,
    weight: T,
    bias: bool = True,
    stride: list[int] = [1],  # noqa: B006
    padding: list[int] = [0],  # noqa: B006
    dilation: list[int] = [1],  # noqa: B006
    transposed: bool = False,
    output_padding: list[int] = [0],  # noqa: B006
    groups: int = 1,
) -> None:
    rank = len(x.shape) - 2
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    spread = [each * rank if len(each) == 1 else each for each in (stride, padding, dilation, output_padding)]
    bias_or_none = T(x.dtype, (channels,)) if bias else None
    args = (x, weight, bias_or_none, *spread[:3], transposed, spread[3], groups)
    case("convolution.out", *args, out=x.dtype, channels_last=x.channels_last)


convolution(t(f32, 1, 3, 6, 7), t(f32, 4, 3, 3, 3), padding=[1])
convolution(t(f32, 2, 3, 7, 8), t(f32, 4, 3, 3, 2), bias=False, stride=[2, 1], padding=[1, 0])
convolution(t(f32, 2, 3, 9, 9), t(f32, 4, 3, 3, 3), dilation=[2], padding=[2])
convolution(t(f32, 2, 4, 5, 5), t(f32, 6, 4, 1, 1))
convolution(t(f32, 2, 4, 5, 5), t(f32, 6, 2, 1, 1), groups=2)
convolution(t(f32, 2, 4, 6, 6), t(f32, 6, 2, 3, 3), groups=2, stride=[2], padding=[1])
convolution(t(f32, 1, 4, 6, 7), t(f32, 4, 1, 3, 3), groups=4, padding=[1])
convolution(t(f32, 1, 3, 6, 7), t(f32, 6, 1, 3, 3), groups=3, stride=[2], bias=False)
convolution(t(f32, 2, 3, 10), t(f32, 4, 3, 3), stride=[2], padding=[1])
convolution(t(f32, 1, 2, 4, 5, 4), t(f32, 3, 2, 2, 3, 2), padding=[1, 1, 0])
convolution(image(2, 3, 6, 7), image(4, 3, 3, 3), padding=[1])
convolution(image(1, 4, 5, 5), image(6, 4, 1, 1))
convolution(image(1, 4, 6, 6), image(4, 1, 3, 3), groups=4, padding=[1])
convolution(t(f64, 1, 3, 5, 5), t(f64, 2, 3, 3, 3))
convolution(t(bf16, 1, 3, 5, 5), t(bf16, 2, 3, 3, 3))
convolution(t(f16, 1, 4, 5, 5), t(f16, 4, 1, 3, 3), groups=4)
convolution(t(f32, 1, 3, 4, 5), t(f32, 3, 4, 3, 3), transposed=True)
convolution(
    t(f32, 2, 4, 4, 5),
    t(f32, 4, 2, 3, 3),
    transposed=True,
    stride=[2],
    padding=[1],
    output_padding=[1],
    groups=2,
)
convolution(t(f32, 1, 3, 6), t(f32, 3, 2, 4), transposed=True, stride=[2], padding=[1], dilation=[2])
convolution(image(1, 3, 4, 5), image(3, 4, 3, 3), transposed=True, stride=[2])

MAX_POOL = "max_pool2d_with_indices.out"
case(MAX_POOL, t(f32, 2, 3, 6, 7), [2, 2], [], [0, 0], [1, 1], False, out=(f32, i64))
case(MAX_POOL, t(f32, 2, 3, 7, 8), [3, 3], [2, 2], [1, 1], [1, 1], False, out=(f32, i64))
case(MAX_POOL, t(f32, 3, 7, 8), [3, 2], [2, 2], [1, 0], [2, 1], True, out=(f32, i64))
case(MAX_POOL, t(i64, 1, 2, 5, 5, low=0, high=3), [2], [1], [0], [1], False, out=(i64, i64))
case(
    MAX_POOL,
    image(1, 3, 6, 6, dtype=bf16),
    [2, 2],
    [2, 2],
    [0, 0],
    [1, 1],
    False,
    out=(bf16, i64),
    channels_last=True,
)
case(
    MAX_POOL,
    T(f32, (1, 1, 3, 3), values=[-inf] * 8 + [nan]),
    [2, 2],
    [1, 1],
    [1, 1],
    [1, 1],
    False,
    out=(f32, i64),
)
case("avg_pool2d.out", t(f32, 2, 3, 6, 7), [2, 2], [], [0, 0], False, True, None)
case("avg_pool2d.out", t(f32, 3, 7, 8), [3, 2], [2, 2], [1, 1], True, True, None)
case("avg_pool2d.out", t(f32, 1, 3, 7, 8), [3, 3], [2, 2], [1, 1], True, False, None)
case("avg_pool2d.out", t(bf16, 1, 3, 4, 4), [2, 2], [2, 2], [0, 0], False, True, 3, out=bf16)
case("_adaptive_avg_pool2d.out", t(f32, 2, 3, 7, 5), [1, 1])
case("_adaptive_avg_pool2d.out", t(f32, 3, 7, 5), [3, 4])
case("_adaptive_avg_pool2d.out", image(1, 3, 4, 6), [2, 2], channels_last=True)
case("upsample_nearest2d.vec_out", t(f32, 1, 2, 3, 4), None, [2.0, 2.0])
case("upsample_nearest2d.vec_out", t(f32, 1, 2, 5, 4), [3, 7], None)
case("upsample_nearest2d.vec_out", t(u8, 1, 2, 3, 4), None, [1.5, 2.5], out=u8)
for corners in (False, True):
    case("upsample_bilinear2d.vec_out", t(f32, 1, 2, 3, 4), None, corners, [2.0, 1.5])
    case("upsample_bilinear2d.vec_out", t(f32, 1, 2, 5, 4), [3, 7], corners, None)

# --- reductions --------------------------------------------------------------------------

for dim, keepdim in (([1], False), ([0, 2], True), ([-1], False), ([], False), (None, True)):
    case("sum.IntList_out", t(f32, 2, 3, 4), dim, keepdim, None)
    case("mean.out", t(f32, 2, 3, 4), dim, keepdim, None)
    case("any.dims_out", t(boolean, 2, 3, 4), dim if dim else None, keepdim, out=boolean)
    case("var.correction_out", t(f32, 2, 3, 4), dim, 1, keepdim)
case("sum.IntList_out", t(i32, 2, 3), [1], False, None, out=i64)
case("sum.IntList_out", t(boolean, 2, 3), None, False, None, out=i64)
case("sum.IntList_out", t(bf16, 40, 3), [0], False, None, out=bf16)
case("sum.IntList_out", t(f16, 4, 3), [0], False, f32)
case("sum.IntList_out", t(f32, 0, 3), [0], False, None)
case("mean.out", t(f32, 2, 3, 4, 5), [2, 3], True, None)
case("mean.out", t(f16, 4, 3), [0], False, None, out=f16)
case("mean.dtype_out", t(f32, 2, 3), None)
case("mean.dtype_out", t(i64, 2, 3), f32)
case("mean.out", image(2, 3, 4, 5), [2, 3], True, None)
case("prod.out", t(f32, 2, 3), None)
case("prod.int_out", t(i32, 2, 3), 1, True, None, out=i64)
case("cumsum.out", t(f32, 2, 5), 1, None)
case("cumsum.out", t(i32, 2, 5), 0, None, out=i64)
case("cumsum.out", t(bf16, 5), 0, None, out=bf16)
case("var.out", t(f32, 2, 5), [1], False, True)
case("var_mean.correction_out", t(f32, 2, 5), [1], 0, True, out=(f32, f32))
case("var.correction_out", t(f64, 2, 5), None, None, False, out=f64)
for name in ["amax", "amin"]:
    case(f"{name}.out", t(f32, 2, 3, 4), [0, 2], False)
    case(f"{name}.out", v(i32, 3, 1, 2), [], True, out=i32)
    case(f"{name}.out", v(f32, 3, nan, 2), [0], False)
    case(f"{name}.out", t(bf16, 3, 4), [1], True, out=bf16)
for name in ("max", "min"):
    case(f"{name}.unary_out", t(f32, 3, 4))
    case(f"{name}.unary_out", v(f32, 1, nan))
    case(
        f"{name}.dim_{name}",
        T(f32, (3, 4), values=[1, 5, 5, 2, 0, 0, -1, nan, 7, 7, 7, 7]),
        1,
        False,
        out=(f32, i64),
    )
    case(f"{name}.dim_{name}", t(bf16, 3, 4), 0, True, out=(bf16, i64))
    case(f"{name}.dim_{name}", t(f32), 0, False, out=(f32, i64))
    case(f"arg{name}.out", t(f32, 3, 4), 1, True, out=i64)
    case(f"arg{name}.out", t(i64, 3, 4), None, False, out=i64)
    case(f"arg{name}.out", image(1, 3, 4, 5), None, False, out=i64)
case("any.out", t(f32, 3, 4), 1, False, out=boolean)
case("any.all_out", v(bf16, 0.0, 0.0), out=boolean)
case("any.all_out", v(f32, 0.0, nan), out=boolean)

# --- views, joining, splitting -----------------------------------------------------------

case("view_copy.out", t(f32, 2, 3, 4), [4, -1])
case("view_copy.out", image(1, 3, 4, 5), [3, 20])
case("permute_copy.out", t(f32, 2, 3, 4), [2, 0, -2])
case("transpose_copy.int_out", t(i32, 2, 3, 4), 0, -1, out=i32)
case("transpose_copy.int_out", t(f32), 0, -1)
case("t_copy.out", t(f32, 2, 3))
case("t_copy.out", t(f32, 3))
case("expand_copy.out", t(f32, 3, 1), [2, -1, 4], False)
case("unsqueeze_copy.out", t(boolean, 2, 3), -1, out=boolean)
case("unsqueeze_copy.out", t(f32, 2, 3), 0)
case("squeeze_copy.dim_out", t(f32, 2, 1, 3), 1)
case("squeeze_copy.dim_out", t(f32, 2, 1, 3), 0)
case("squeeze_copy.dims_out", t(f32, 1, 2, 1), [0, 2])
case("select_copy.int_out", t(f32, 2, 3, 4), 1, -1)
case("slice_copy.Tensor_out", t(f32, 5, 6), 1, 1, 5, 2)
case("slice_copy.Tensor_out", t(f32, 5, 6), 0, -3, 9223372036854775807, 1)
case("slice_copy.Tensor_out", t(f32, 5, 6), 0, None, None, 1)
case("narrow_copy.out", t(f32, 5, 6), 1, 2, 3)
case("diagonal_copy.out", t(f32, 3, 4), 1, 0, 1)
case("unfold_copy.out", t(f32, 3, 7), 1, 3, 2)
case("as_strided_copy.out", t(f32, 3, 4), [2, 3], [1, 2], 2)
case("flip.out", t(f32, 2, 3, 4), [0, 2])
case("roll.out", t(f32, 3, 4), [1, -2], [0, 1])
case("roll.out", t(f32, 3, 4), [2], [])
case("repeat.out", t(f32, 2, 3), [2, 1, 3])
case("pixel_shuffle.out", t(f32, 1, 8, 2, 3), 2)
case("pixel_unshuffle.out", t(f32, 1, 2, 4, 6), 2)
case("cat.out", [t(f32, 2, 3), t(f32, 1, 3), t(f32, 0)], 0)
case("cat.out", [t(i32, 2, 3), t(f32, 2, 2)], -1)
case("cat.out", [t(bf16, 2, 3), t(bf16, 2, 3)], 1, out=bf16)
case("stack.out", [t(f32, 2, 3), t(f32, 2, 3)], 1)
case("split_copy.Tensor_out", t(f32, 5, 3), 2, 0, out=([t(f32, 2, 3), t(f32, 2, 3), t(f32, 1, 3)],))
case("split_with_sizes_copy.out", t(f32, 3, 5), [2, 3], 1, out=([t(f32, 3, 2), t(f32, 3, 3)],))
case("unbind_copy.int_out", t(f32, 3, 2), 1, out=([t(f32, 3), t(f32, 3)],))

# --- copies, creation --------------------------------------------------------------------

case("clone.out", t(f32, 2, 3), None)
case("alias_copy.out", t(f32, 2, 3))
case("detach_copy.out", t(f32, 2, 3))
case("copy.out", t(f32, 2, 3), t(i64, 3), False)
for source, target in (
    (f32, i64),
    (i64, f32),
    (f32, bf16),
    (bf16, f32),
    (f32, f16),
    (f32, boolean),
    (boolean, f32),
    (f64, u8),
):
    case(
        "_to_copy.out", t(source, 6, low=0, high=9) if target is u8 else t(source, 6), False, None, out=target
    )
case("dim_order_ops::_to_dim_order_copy.out", t(f32, 1, 3, 4, 5), False, [0, 2, 3, 1], channels_last=True)
case("dim_order_ops::_to_dim_order_copy.out", t(i32, 4), False, [0])
case("dim_order_ops::_clone_dim_order.out", image(1, 3, 4, 5), False, [0, 1, 2, 3])
for dtype in (f32, bf16, i8, boolean):
    case("full.out", [2, 3], 1, out=dtype)
case("full.out", [], 0.1)
case("full_like.out", t(f32, 2, 3), 7, None)
case("zeros.out", [2, 3])
case("ones.out", [4], out=i64)
case("scalar_tensor.out", 2.5)
case("fill.Scalar_out", t(f32, 2, 3), 4)
case("fill.Tensor_out", t(f32, 2, 3), t(f32))
case("arange.out", 5, out=i64)
case("arange.out", 2.5)
case("arange.start_out", 1, 10, 3, out=i64)
case("arange.start_out", 1.0, -1.0, -0.3)

# --- masks, indices, padding -------------------------------------------------------------

case("where.self_out", t(boolean, 3, 1), t(f32, 4), t(f32, 3, 4))
case("where.self_out", t(boolean, 3), t(i64, 3), t(f32))
case("masked_fill.Scalar_out", t(f32, 3, 4), t(boolean, 4), -inf)
case("masked_select.out", t(f32, 3, 4), T(boolean, (4,), values=[True, False, True, True]))
case("masked_scatter.out", t(f32, 3, 4), t(boolean, 3, 4), t(f32, 12))
case("nonzero.out", T(f32, (2, 3), values=[0, 1, 0, 2, 0, 3]), out=i64)
case("embedding.out", t(f32, 6, 3), t(i64, 2, 4, low=0, high=6), -1, False, False)
case("embedding.out", t(bf16, 6, 3), t(i32, 4, low=0, high=6), -1, False, False, out=bf16)
case("index_select.out", t(f32, 3, 5), 1, v(i64, 4, 0, 4))
case("index_select.out", t(f32, 3, 5), 0, T(i64, (), values=[2]))
case("index.Tensor_out", t(f32, 3, 4, 5), [None, v(i64, 0, -1), None])
case("index.Tensor_out", t(f32, 3, 4, 5), [v(i64, 0, 2), None, v(i64, 1, 1)])
case("index.Tensor_out", t(f32, 3, 4), [T(boolean, (3,), values=[True, False, True])])
case("index_put.out", t(f32, 3, 4), [v(i64, 0, 2)], t(f32, 2, 4), False)
case("index_put.out", t(f32, 3, 4), [v(i64, 0, 0), v(i64, 1, 1)], t(f32, 2), True)
case("gather.out", t(f32, 3, 4), 1, t(i64, 2, 3, low=0, high=4), False)
case("scatter.src_out", t(f32, 3, 4), 0, T(i64, (1, 4), values=[0, 2, 1, 0]), t(f32, 2, 4))
case("scatter.value_out", t(f32, 3, 4), 1, t(i64, 3, 1, low=0, high=4), 2.5)
case("scatter_add.out", t(f32, 3, 4), 0, t(i64, 2, 4, low=0, high=3), t(f32, 2, 4))
case("select_scatter.out", t(f32, 3, 4), t(f32, 3), 1, -1)
case("slice_scatter.out", t(f32, 5, 4), t(f32, 2, 4), 0, 1, 4, 2)
case("tril.out", t(f32, 2, 3, 4), -1)
case("topk.values", T(f32, (2, 4), values=[1, 3, 2, 4, 8, 6, 7, 5]), 2, 1, True, True, out=(f32, i64))
case("topk.values", v(f32, 3, nan, 1), 2, 0, True, True, out=(f32, i64))
case("topk.values", v(i32, 3, 5, 1), 2, 0, False, True, out=(i32, i64))
case("constant_pad_nd.out", t(f32, 2, 3), [1, 2, 0, 1], 0.5)
case("constant_pad_nd.out", t(i32, 2, 3), [-1, 1], 7, out=i32)
case("reflection_pad1d.out", t(f32, 2, 5), [3, 2])
case("reflection_pad3d.out", t(f32, 1, 2, 3, 3, 3), [1, 0, 0, 1, 2, 1])
case("replication_pad1d.out", t(f32, 2, 5), [3, 2])
case("reflection_pad2d.out", t(f32, 1, 2, 4, 5), [1, 2, 3, 0])
case("replication_pad2d.out", t(f32, 2, 4, 5), [1, 2, 3, 0])
case("replication_pad3d.out", t(f32, 1, 2, 3, 3, 3), [1, 0, 0, 1, 2, 1])

# --- distances, sampling, repetition ---------------------------------------------------------------

for p in (0.0, 1.0, 2.0, 3.0, 0.5, inf):
    case("_cdist_forward.out", t(f32, 2, 3, 4), t(f32, 5, 4), p, None)
    case("_pdist_forward.out", t(f32, 4, 3), p)
case("_cdist_forward.out", t(f64, 3, 0), t(f64, 2, 0), 2.0, None, out=f64)
case("_cdist_forward.out", t(f32, 3, 1, 4, 2), t(f32, 2, 3, 2), 2.0, 1)
case("_pdist_forward.out", t(f64, 1, 3), 2.0, out=f64)
for mode in range(3):
    for padding in range(3):
        for corners in (False, True):
            case(
                "grid_sampler_2d.out",
                t(f32, 2, 3, 4, 5),
                t(f32, 2, 3, 4, 2, low=-1.6, high=1.6),
                mode,
                padding,
                corners,
            )
case("grid_sampler_2d.out", t(f32, 1, 2, 1, 1), t(f32, 1, 2, 3, 2, low=-1.6, high=1.6), 0, 2, True)
case("grid_sampler_2d.out", t(f64, 1, 2, 3, 4), t(f64, 1, 2, 3, 2), 0, 0, False, out=f64)
for corners in (False, True):
    case("_upsample_bilinear2d_aa.out", t(f32, 1, 2, 9, 8), [4, 3], corners, None, None)
    case("_upsample_bilinear2d_aa.out", t(f32, 1, 2, 3, 4), [7, 9], corners, None, None)
case("_upsample_bilinear2d_aa.out", t(f32, 1, 2, 6, 6), [4, 3], False, 0.7, 0.5)
case("_upsample_bilinear2d_aa.out", t(f64, 2, 1, 5, 5), [1, 1], True, None, None, out=f64)
case("repeat_interleave.Tensor_out", v(i64, 2, 0, 3), None, out=i64)
case("repeat_interleave.Tensor_out", v(i32, 1, 2), 3, out=i32)
case("linear.out", t(f32, 2, 3, 4), t(f32, 5, 4), t(f32, 5))
case("linear.out", t(bf16, 4), t(bf16, 5, 4), None, out=bf16)

# --- complex numbers -------------------------------------------------------------------------------

for dtype, real in ((c64, f32), (c128, f64)):
    case("view_as_real_copy.out", t(dtype, 2, 3), out=real)
    case("_conj_physical.out", t(dtype, 3), out=dtype)
    for normalization in range(3):
        case("_fft_r2c.out", t(real, 2, 6, 5), [1, 2], normalization, True, out=dtype)
        case("_fft_r2c.out", t(real, 2, 6), [1], normalization, False, out=dtype)
        case("_fft_c2r.out", t(dtype, 2, 3, 4), [1, 2], normalization, 6, out=real)
        case("_fft_c2r.out", t(dtype, 4), [0], normalization, 7, out=real)
case("_conj_physical.out", t(f32, 3))

# --- training --------------------------------------------------------------------------------------

for training in (True, False):
    case(
        "_native_batch_norm_legit.out",
        *(t(f32, 2, 3, 4, 5), t(f32, 3), t(f32, 3), t(f32, 3), t(f32, 3, low=0.5, high=2)),
        *(training, 0.1, 1e-5),
        out=(f32, f32, f32),
    )
case(
    "_native_batch_norm_legit.no_stats_out",
    *(t(f32, 2, 3, 4, 5), None, None, True, 0.1, 1e-5),
    out=(f32, f32, f32),
)
case(
    "_native_batch_norm_legit.no_stats_out",
    t(f64, 4, 3),
    t(f64, 3),
    None,
    True,
    0.1,
    1e-5,
    out=(f64, f64, f64),
)
case("native_dropout.out", t(f32, 3, 4), 0.3, False, out=(f32, boolean))
case("native_dropout.out", t(f32, 3, 4), 1.0, True, out=(f32, boolean))
case("native_dropout.out", t(bf16, 5), 0.0, None, out=(bf16, boolean))


def convolution_backward(
    gradient: T,
    x: T,
    weight: T,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool = False,
    groups: int = 1,
) -> None:
    dtype, no_padding = x.dtype, [0] * len(stride)
    case(
        "convolution_backward.out",
        *(
            gradient,
            x,
            weight,
            [gradient.shape[1]],
            stride,
            padding,
            dilation,
            transposed,
            no_padding,
            groups,
        ),
        [True, True, True],
        out=(dtype, dtype, dtype),
    )


convolution_backward(t(f32, 2, 4, 6, 7), t(f32, 2, 3, 6, 7), t(f32, 4, 3, 3, 3), [1, 1], [1, 1], [1, 1])
convolution_backward(
    t(f32, 2, 4, 3, 2), t(f32, 2, 4, 6, 6), t(f32, 4, 2, 2, 3), [2, 2], [0, 0], [1, 1], groups=2
)
convolution_backward(
    t(f32, 1, 3, 4, 4), t(f32, 1, 3, 8, 8), t(f32, 3, 1, 3, 3), [1, 1], [0, 0], [2, 2], groups=3
)
convolution_backward(t(f64, 2, 4, 5), t(f64, 2, 3, 10), t(f64, 4, 3, 3), [2], [1], [1])
convolution_backward(t(f32, 1, 2, 7, 7), t(f32, 1, 3, 4, 4), t(f32, 3, 2, 3, 3), [2, 2], [1, 1], [1, 1], True)
case(
    "max_pool2d_with_indices_backward.grad_input",
    *(t(f32, 1, 2, 2, 3), t(f32, 1, 2, 4, 6), [2, 2], [2, 2], [0, 0], [1, 1], False),
    T(i64, (1, 2, 2, 3), values=[0, 3, 11, 12, 15, 22, 1, 2, 4, 13, 14, 23]),
)
case(
    "max_pool2d_with_indices_backward.grad_input",
    *(t(f32, 1, 2, 2), t(f32, 1, 3, 3), [2, 2], [1, 1], [0, 0], [1, 1], False),
    T(i64, (1, 2, 2), values=[4, 4, 4, 4]),
)

# --- in place --------------------------------------------------------------------------------------

case("copy_", t(f32, 2, 3), t(i64, 3), False, out=())
case("index_put_", t(f32, 3), [v(i64, 0, 0)], t(f32, 2), True, out=())
case("index_put_", t(f32, 3, 2), [v(i64, 2, 0)], t(f32, 2, 2), False, out=())
case("et_copy::_h2d_copy.out", t(f32, 2, 3), out=t(f32, 2, 3))
case("et_copy::_d2h_copy.out", t(i32, 2, 3), out=t(i32, 2, 3))

# --- cases that variants of the above have shown to matter -----------------------------------------

for name in ("_softmax", "_log_softmax"):
    case(f"{name}.out", t(f32, 3, 0), 1, False)
for name in ("sum.IntList_out", "mean.out"):
    case(name, t(f32, 0, 3), [1], False, None)
    case(name, t(f32, 3, 0), [1], False, None)
case("topk.values", v(bf16, 3, nan, 1), 2, 0, True, True, out=(bf16, i64))
case("logit.out", v(bf16, 0.0, 0.5, 1.0, 1.5), 1e-3, out=bf16)
case("gather.out", t(f32, 0, 4), 1, t(i64, 2, 0), False)
case("reflection_pad2d.out", t(f32, 0, 2, 4, 5), [1, 2, 3, 0])
case("replication_pad2d.out", t(f32, 0, 2, 4, 5), [1, 2, 3, 0])
case("arange.out", 2.5, out=i64)
case("upsample_bilinear2d.vec_out", t(f64, 1, 2, 5, 4), [3, 7], False, None, out=f64)
case("_pdist_forward.out", T(f32, (3, 2), values=[1, nan, 2, 3, 2, 3]), 0.0)

# --- pooling without portable kernels in ExecuTorch ---------------------------------------------------

case("adaptive_max_pool2d.out", t(f32, 2, 3, 7, 5), [3, 4], out=(f32, i64))
case("adaptive_max_pool2d.out", t(f32, 3, 4, 6), [2, 7], out=(f32, i64))
case("adaptive_max_pool2d.out", image(1, 3, 4, 6), [2, 2], out=(f32, i64), channels_last=True)
case("adaptive_max_pool2d.out", T(f32, (1, 2, 3), values=[1, nan, nan, -inf, 2, 2]), [1, 2], out=(f32, i64))
MAX_POOL_3D = "max_pool3d_with_indices.out"
case(MAX_POOL_3D, t(f32, 2, 3, 4, 6, 7), [2, 2, 3], [], [0], [1], False, out=(f32, i64))
case(MAX_POOL_3D, t(f32, 3, 5, 6, 7), [3, 2, 2], [2, 1, 3], [1, 0, 1], [1, 2, 1], True, out=(f32, i64))
case(MAX_POOL_3D, t(i64, 1, 2, 3, 4, 5, low=0, high=3), [2], [1], [1], [1], False, out=(i64, i64))
case("avg_pool3d.out", t(f32, 2, 3, 4, 6, 7), [2, 2, 3], [], [0], False, True, None)
case("avg_pool3d.out", t(f32, 3, 5, 6, 8), [3, 2, 3], [2, 1, 2], [1, 0, 1], True, True, None)
case("avg_pool3d.out", t(f32, 1, 3, 5, 6, 8), [3, 2, 3], [2, 1, 2], [1, 0, 1], True, False, None)
case("avg_pool3d.out", t(f64, 1, 3, 4, 4, 4), [2], [2], [0], False, True, 3, out=f64)
case("_adaptive_avg_pool3d.out", t(f32, 2, 3, 7, 5, 4), [2, 3, 3])
case("_adaptive_avg_pool3d.out", t(f32, 3, 4, 5, 6), [1, 1, 1])
case("adaptive_max_pool3d.out", t(f32, 2, 3, 7, 5, 4), [2, 3, 3], out=(f32, i64))
case("adaptive_max_pool3d.out", t(f32, 3, 4, 5, 6), [1, 2, 8], out=(f32, i64))
