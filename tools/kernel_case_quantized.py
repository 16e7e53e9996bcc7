"""The calls of quantized and language-model operators that build_kernel_cases.py records."""

from __future__ import annotations

from kernel_case_table import T, bf16, case, f16, f32, f64, i8, i16, i32, i64, t, u8, u16, v

RANGES = {
    u8: (0, 255),
    i8: (-128, 127),
    i16: (-(2**15), 2**15 - 1),
    i32: (-(2**31), 2**31 - 1),
    u16: (0, 2**16 - 1),
}
PARAMETERS = (t(f32, 3, low=0.05, high=0.3), v(i64, 0, -3, 5))

# --- quantize and dequantize -----------------------------------------------------------------------

NAME = "quantized_decomposed::"
HALVES = v(f32, -0.75, -0.25, 0.25, 0.75, 1.25, 100.0, -100.0, 0.0)
for dtype, bounds in RANGES.items():
    case(f"{NAME}quantize_per_tensor.out", t(f32, 4, 5), 0.1, 3, *bounds, dtype, out=dtype)
    case(f"{NAME}quantize_per_tensor.out", HALVES, 0.5, 1, *bounds, dtype, out=dtype)
    case(f"{NAME}dequantize_per_tensor.out", t(dtype, 4, 5), 0.13, 3, *bounds, dtype, None)
for dtype in (f16, bf16):
    case(f"{NAME}quantize_per_tensor.out", t(dtype, 4, 5), 0.1, 3, -128, 127, i8, out=i8)
    case(f"{NAME}dequantize_per_tensor.out", t(u8, 4, 5), 0.13, 3, 0, 255, u8, dtype, out=dtype)
case(f"{NAME}dequantize_per_tensor.out", t(i8, 4, 5), 0.13, -3, -128, 127, i8, f64, out=f64)
case(f"{NAME}quantize_per_tensor.out", t(f32, 4, 5), 0.1, 3, -5, 7, i8, out=i8)
case(f"{NAME}quantize_per_tensor.out", t(f32, 0, 5), 0.1, 3, 0, 255, u8, out=u8)
case(f"{NAME}quantize_per_tensor.out", t(f32), 0.1, 3, 0, 255, u8, out=u8)
SCALE, ZERO = v(f64, 0.07), v(i64, -2)
case(f"{NAME}quantize_per_tensor.Tensor_out", t(f32, 4, 5), SCALE, ZERO, -128, 127, i8, out=i8)
case(f"{NAME}dequantize_per_tensor.Tensor_out", t(i8, 4, 5), SCALE, ZERO, -128, 127, i8, None)
LOW, HIGH = v(i64, -100), v(i64, 90)
case(f"{NAME}quantize_per_tensor.tensor2_out", t(f32, 4, 5), v(f32, 0.01), ZERO, LOW, HIGH, i8, out=i8)
case(f"{NAME}dequantize_per_tensor.tensor2_out", t(i8, 4, 5), v(f32, 0.01), ZERO, LOW, HIGH, i8, None)
for dtype in (i8, u8):
    case(f"{NAME}quantize_per_channel.out", t(f32, 2, 3, 4), *PARAMETERS, 1, *RANGES[dtype], dtype, out=dtype)
    case(f"{NAME}dequantize_per_channel.out", t(dtype, 2, 3, 4), *PARAMETERS, 1, *RANGES[dtype], dtype, None)
case(
    f"{NAME}quantize_per_channel.out",
    t(bf16, 3, 4),
    t(f64, 3, low=0.05, high=0.3),
    PARAMETERS[1],
    0,
    -8,
    7,
    i8,
    out=i8,
)
case(f"{NAME}dequantize_per_channel.out", t(i8, 3, 4), PARAMETERS[0], None, 0, -128, 127, i8, None)
case(
    f"{NAME}dequantize_per_channel.out", t(i8, 3, 4), PARAMETERS[0], t(f32, 3), 0, -128, 127, i8, f16, out=f16
)
case(
    f"{NAME}dequantize_per_channel.out",
    t(i32, 3, 4),
    PARAMETERS[0],
    PARAMETERS[1],
    -2,
    *RANGES[i32],
    i32,
    None,
)
TOKENS = (t(f64, 2, 3, 1, low=0.05, high=0.3), t(i64, 2, 3, 1))
case(f"{NAME}quantize_per_token.out", t(f32, 2, 3, 4), *TOKENS, -128, 127, i8, out=i8)
case(f"{NAME}quantize_per_token.out", t(f16, 2, 3, 4), *TOKENS, -128, 127, i8, out=i8)
case(
    f"{NAME}quantize_per_token.out",
    t(f32, 3, 4),
    t(f32, 3, 1, low=0.05, high=0.3),
    t(i32, 3, 1),
    -128,
    127,
    i8,
    out=i8,
)
case(f"{NAME}dequantize_per_token.out", t(i8, 2, 3, 4), *TOKENS, -128, 127, i8, f32)
case(f"{NAME}dequantize_per_token.out", t(i8, 2, 3, 4), *TOKENS, -128, 127, i8, f16, out=f16)
GROUPS = (t(f32, 2, 3, low=0.05, high=0.3), t(i32, 2, 3))
case(f"{NAME}quantize_per_channel_group.out", t(f32, 2, 12), *GROUPS, -8, 7, i8, 4, out=i8)
case(f"{NAME}dequantize_per_channel_group.out", t(i8, 2, 12), *GROUPS, -8, 7, i8, 4, f32)
case(f"{NAME}dequantize_per_channel_group.out", t(i8, 2, 12), GROUPS[0], None, -8, 7, i8, 4, bf16, out=bf16)

# --- choice of parameters --------------------------------------------------------------------------

EPS = 1.1920929e-07
CHOSEN = (f64, i64)
for x in (t(f32, 4, 5), t(f32, 9, low=0.1, high=2), v(f32, 0.0, 0.0), v(f32, -3.0), t(f16, 7), t(bf16, 7)):
    for low, high, dtype in ((-128, 127, i8), (0, 255, u8)):
        case(f"{NAME}choose_qparams.Tensor_out", x, low, high, EPS, dtype, out=CHOSEN)
        case(f"{NAME}choose_qparams_symmetric.tensor_out", x, low, high, EPS, dtype, out=CHOSEN)
for x in (t(f32, 2, 3, 8), T(f32, (2, 3), values=[0, 0, 0, 1, 2, 3]), t(bf16, 3, 8)):
    case(f"{NAME}choose_qparams_per_token_asymmetric.out", x, i8, out=CHOSEN)
    case(f"{NAME}choose_qparams_per_token.out", x, i8, out=CHOSEN)

# --- embeddings, products, sums --------------------------------------------------------------------

INDICES = T(i64, (2, 3), values=[0, 5, 2, 2, 1, 4])
for bits, dtype, columns in (("byte", i8, 8), ("byte", u8, 8), ("4bit", u8, 4), ("2bit", u8, 2)):
    weight = t(dtype, 6, columns, high=127 if dtype is i8 else 256)
    span = {"byte": (-128, 127), "4bit": (-8, 7), "2bit": (-2, 1)}[bits]
    for shape in ((6,), (6, 2)):
        scales, zeros = t(f32, *shape, low=0.1, high=1), T(f32, shape, low=-3, high=3)
        case(f"{NAME}embedding_{bits}.out", weight, scales, None, *span, INDICES)
        case(f"{NAME}embedding_{bits}.out", weight, scales, zeros, *span, INDICES)
    half = t(f16, 6, low=0.1, high=1)
    case(f"{NAME}embedding_{bits}.dtype_out", weight, half, None, *span, INDICES, f32)
    case(f"{NAME}embedding_{bits}.dtype_out", weight, half, half, *span, v(i64, 3), f16, out=f16)
case(f"{NAME}mixed_mm.out", t(f32, 3, 4), t(i8, 4, 5), t(f32, 4, low=0.1, high=1), None, out=t(f32, 3, 5))
case(
    f"{NAME}mixed_linear.out",
    t(f32, 3, 4),
    t(i8, 5, 4),
    t(f32, 5, low=0.1, high=1),
    None,
    None,
    out=t(f32, 3, 5),
)
case(
    f"{NAME}mixed_linear.out",
    t(f32, 3, 6),
    t(i8, 5, 6),
    t(f32, 5, 3, low=0.1, high=1),
    None,
    f32,
    out=t(f32, 3, 5),
)
case(
    f"{NAME}add.out",
    t(u8, 4, 5, high=255),
    0.1,
    3,
    0,
    255,
    t(u8, 4, 5, high=255),
    0.05,
    7,
    0,
    255,
    0.13,
    5,
    0,
    255,
    out=t(u8, 4, 5),
)

# --- attention over a cache ------------------------------------------------------------------------

QUERY, STEP, CACHE = t(f32, 2, 3, 4, 8), t(f32, 2, 3, 2, 8), t(f32, 2, 9, 2, 8)
case("llama::update_cache.out", STEP, CACHE, 4, t(f32, 1), out=())
case(
    "llama::update_cache_with_indices.out",
    STEP,
    CACHE,
    0,
    T(i64, (2, 3), values=[0, 4, 8, 1, 2, 3]),
    t(f32, 1),
    out=(),
)
for start in (0, 5):
    case("llama::custom_sdpa.out", QUERY, CACHE, CACHE, start, None, 0.0, True, None, out=QUERY)
case("llama::custom_sdpa.out", QUERY, CACHE, CACHE, 2, t(f32, 3, 9), 0.0, False, 0.3, out=QUERY)
case("llama::custom_sdpa.out", QUERY, CACHE, CACHE, 2, None, 0.0, False, None, out=QUERY)
case("llama::sdpa_with_kv_cache.out", QUERY, STEP, STEP, CACHE, CACHE, 3, 3, None, 0.0, True, None, out=QUERY)


def rows(*shape: int) -> tuple[T, T, T]:
    return (
        t(i8, *shape, low=-100, high=100),
        t(i8, *shape[:-1], 1),
        t(f32, *shape[:-1], 1, low=0.005, high=0.02),
    )


for is_seq_at_dim_2 in (False, True):
    shapes = ((2, 4, 3, 8), (2, 2, 9, 8)) if is_seq_at_dim_2 else ((2, 3, 4, 8), (2, 9, 2, 8))
    (q, qz, qs), (k, kz, ks) = rows(*shapes[0]), rows(*shapes[1])
    case(
        "llama::custom_quantized_sdpa.out",
        *(q, k, k, 4, None, 0.0, True, None, qz, qs, kz, ks, kz, ks, is_seq_at_dim_2),
        out=T(f32, shapes[0]),
    )
