"""Edge cases where random calls have shown a difference: scalars, no elements, mixed dtypes, large numbers.

They come last, since the position of a case is the seed of its numbers.
"""

from __future__ import annotations

import kernel_case_quantized  # noqa: F401  comes before
from kernel_case_table import MAX_POOL, T, bf16, boolean, case, f16, f32, i8, i16, i32, i64, image, t, u8, v

# --- tensors without dimensions --------------------------------------------------------------

SCALAR_INDEX = T(i64, (), values=[0])
for dims in ([], [0]):
    case("flip.out", t(f32), dims)
case("constant_pad_nd.out", t(f32), [], 2.5)
for dim in (0, -1):
    case("stack.out", [t(f32), t(f32), t(i32)], dim)
case("scatter.src_out", t(f32), 0, SCALAR_INDEX, t(f32))
case("scatter_add.out", t(i16), -1, SCALAR_INDEX, t(i16), out=i16)

# --- tensors without elements ----------------------------------------------------------------

for shape, normalized in (((2, 3, 0), [0]), ((0, 3), [0, 3])):
    case("native_layer_norm.out", t(f32, *shape), normalized, None, None, 1e-5, out=(f32, f32, f32))
case("div.out_mode", t(i32, 0, 2), T(i32, (1, 2), values=[0, 1]), "trunc", out=i32)
for name in ("floor_divide.out", "fmod.Tensor_out", "remainder.Tensor_out"):
    case(name, t(i32, 0, 2), T(i32, (1, 2), values=[0, 1]), out=i32)

# --- dtypes that differ, and numbers that do not fit ------------------------------------------

case("logit.out", t(i64, 5, low=0, high=2), 0.1)
case("logit.out", t(boolean, 5), 1e-3)
case("select_scatter.out", t(f32, 2, 3), t(i32, 3), 0, 1)
case("slice_scatter.out", t(i64, 4, 3), t(f32, 2, 3), 0, 1, None, 2, out=i64)
case("arange.start_out", 0.5, -7.0, -1, out=i32)
case("add.Scalar_out", v(u8, 204, 3), 300, 1, out=u8)
for exponent in (True, False):
    case("pow.Tensor_Scalar_out", t(boolean, 6), exponent, out=boolean)
for name in ("eq", "lt"):
    case(f"{name}.Scalar_out", v(u8, 204, 44, 3), -2, out=boolean)
    case(f"{name}.Scalar_out", v(u8, 204, 44, 3), 300, out=boolean)
    case(f"{name}.Scalar_out", v(i8, -56, 100), 200, out=boolean)
for dtype in (f16, bf16):
    for name in ("eq", "lt", "ge"):
        case(f"{name}.Scalar_out", v(dtype, 0.1, 0.3, -0.1), 0.1, out=boolean)
    for name in ("fmod", "remainder"):
        case(f"{name}.Scalar_out", v(dtype, 0.1, 0.3, -0.1, 7.7), 0.1, out=dtype)

# --- outputs wider than the computation, which wraps first ---------------------------------------

case("add.out", v(i8, 100, -100), v(i8, 100, -100), 1, out=i32)
case("sub.out", v(u8, 1, 2), v(u8, 3, 1), 2, out=f32)
case("mul.out", v(i8, 100, 3), v(u8, 200, 5), out=f32)
case("floor_divide.out", v(i32, -7, 7), v(i32, 2, 2))
case("bitwise_or.Tensor_out", v(i8, 1, -2), v(u8, 4, 200))
case("bitwise_left_shift.Tensor_Scalar_out", v(u8, 203, 1), 4, out=i64)

# --- sizes -------------------------------------------------------------------------------------

for keepdim in (False, True):
    case("any.dims_out", v(f32, 0.0, 2.0), [], keepdim, out=boolean)
case(MAX_POOL, t(f32, 1, 2, 4, 3), [3, 1], [3, 1], [0, 0], [2, 1], True, out=(f32, i64))
case("reflection_pad1d.out", t(f32, 2, 3, 5), [2, -1])
case("reflection_pad2d.out", t(i64, 3, 4, 5), [-1, 2, 1, -2], out=i64)
case("replication_pad2d.out", t(f32, 3, 4, 5), [-2, 3, -1, -1])
case("upsample_nearest2d.vec_out", t(f32, 1, 2, 2, 3), None, [2.3, 2.0])
case("linear.out", image(2, 3, 4, 2), t(f32, 3, 2), t(f32, 3), channels_last=True)
case(
    "convolution_backward.out",
    *(t(f32, 1, 2, 6, 7), t(f32, 1, 2, 6, 4), t(f32, 2, 2, 3, 2), [2]),
    *([1, 1], [2, 0], [2, 2], True, [0, 1], 1, [True, True, True]),
    out=(f32, f32, f32),
)

# --- numbers that division does not convert -------------------------------------------------------

case("div.Scalar_out", v(u8, 8, 7), -2)
case("div.Scalar_mode_out", v(u8, 8, 7), -2, None)
