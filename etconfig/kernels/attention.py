"""Attention over a cache of keys and values: the operators of ExecuTorch's extension/llm/custom_ops.

Shapes: queries (B, S, H, D), keys and values (B, L, G, D); H is a multiple of G, and each group of H / G
heads shares keys and values. S new positions begin at `start_pos`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from etconfig.base.records import record
from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import (
    require,
    require_dtype,
    require_floating,
    require_rank,
    require_same_dtype,
)
from etconfig.kernel.memory import Array, Shape
from etconfig.kernel.registry import KernelTable, Step, kernel
from etconfig.kernel.step_makers import computation_dtype, copy_step, in_sequence, is_empty
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.movement.indexing import require_in_range


@kernel("llama::update_cache.out")
def update_cache(value: Tensor, cache: Tensor, start_pos: int, out: Tensor) -> Step:
    """Write the new positions into the cache; `out` only orders the graph."""
    _require_fitting(value, cache)
    return copy_step(_positions(cache, start_pos, value.shape[1]), value.array)


@kernel("llama::update_cache_with_indices.out")
def update_cache_with_indices(
    value: Tensor, cache: Tensor, start_pos: int, indices: Tensor, out: Tensor
) -> Step:
    """Write the new positions of each batch at its own indices. Shapes: indices (B, S)."""
    _require_fitting(value, cache)
    require_dtype("indices", indices, {ScalarType.LONG})
    require(indices.shape == value.shape[:2], "indices must have shape {}", value.shape[:2])
    batch = np.arange(value.shape[0])[:, np.newaxis]

    return ArrayCall(_write_positions, cache.array, batch, indices.array, value.array)


def _write_positions(cache: Array, batch: Array, indices: Array, value: Array) -> None:
    require_in_range(indices, cache.shape[1])
    cache[batch, indices] = value


@kernel("llama::custom_sdpa.out")
def custom_sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    start_pos: int,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    out: Tensor,
) -> Step:
    """Compute softmax(query @ key * scale + mask) @ value over all positions up to the last new one.

    With a mask (S, L) of float32, all L positions count. Dtypes: floating, equal.
    """
    require_floating("query", query)
    require_same_dtype(query=query, key=key, value=value, out=out)
    out.resize(query.shape)
    if is_empty(out):
        return in_sequence()
    attention = _Attention.of((query.shape, key.shape, value.shape), start_pos, attn_mask, is_causal, scale)
    return ArrayCall(_attend, attention, out.array, query.array, key.array, value.array)


@kernel("llama::sdpa_with_kv_cache.out")
def sdpa_with_kv_cache(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    start_pos: int,
    seq_len: int,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    out: Tensor,
) -> Step:
    """Write keys and values into their caches, then attend over these."""
    return in_sequence(
        update_cache.binder(key, key_cache, start_pos, out),
        update_cache.binder(value, value_cache, start_pos, out),
        custom_sdpa.binder(
            query, key_cache, value_cache, start_pos, attn_mask, dropout_p, is_causal, scale, out
        ),
    )


@kernel("llama::custom_quantized_sdpa.out")
def custom_quantized_sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    start_pos: int,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    q_zero_points: Tensor | None,
    q_scales: Tensor | None,
    k_zero_points: Tensor | None,
    k_scales: Tensor | None,
    v_zero_points: Tensor | None,
    v_scales: Tensor | None,
    is_seq_at_dim_2: bool,
    out: Tensor,
) -> Step:
    """Compute `custom_sdpa` of int8 operands with a scale and zero point for each row (*S, 1).

    With `is_seq_at_dim_2`, heads come before positions. Dtypes: out floating.
    """
    require_floating("out", out)
    rows = [
        _Rows.of("query", query, q_zero_points, q_scales),
        _Rows.of("key", key, k_zero_points, k_scales),
        _Rows.of("value", value, v_zero_points, v_scales),
    ]
    order = (0, 2, 1, 3) if is_seq_at_dim_2 else (0, 1, 2, 3)
    shapes = [tuple(each.quantized.shape[axis] for axis in order) for each in rows]
    out.resize(query.shape)
    if is_empty(out):
        return in_sequence()
    attention = _Attention.of(shapes, start_pos, attn_mask, is_causal, scale)
    target = out.array.transpose(order)

    def run(target: Array, *rows: _Rows) -> None:
        np.copyto(target, attention(*(each.real().transpose(order) for each in rows)), casting="unsafe")

    return ArrayCall(run, target, *rows)


def _attend(attention: _Attention, out: Array, query: Array, key: Array, value: Array) -> None:
    np.copyto(out, attention(query, key, value), casting="unsafe")


@record(frozen=True)
class _Rows:
    """A quantized tensor with its parameters."""

    quantized: Array
    zero_points: Array
    scales: Array

    @classmethod
    def of(cls, name: str, x: Tensor, zero_points: Tensor | None, scales: Tensor | None) -> _Rows:
        require_dtype(name, x, {ScalarType.CHAR})
        require_rank(name, x, 4)
        shape = (*x.shape[:-1], 1)
        if zero_points is None or scales is None or not zero_points.shape == scales.shape == shape:
            raise ValueError(f"{name} needs scales and zero points of shape {shape}")
        return cls(x.array, zero_points.array, scales.array)

    def real(self) -> Array:
        return (self.quantized.astype(np.float32) - self.zero_points) * self.scales


@record(frozen=True)
class _Attention:
    """The parameters with which queries attend to keys and values.

    Attributes:
        heads: The number of heads of keys and values, and the number of heads of queries that share each.
        positions: The number of positions that count.
        mask: The array that is added to the products (S, positions), or None.
        scale: The factor of the products.
    """

    heads: tuple[int, int]
    positions: int
    mask: Array | None
    scale: float

    @classmethod
    def of(
        cls,
        shapes: Sequence[Shape],
        start_pos: int,
        attn_mask: Tensor | None,
        is_causal: bool,
        scale: float | None,
    ) -> _Attention:
        query, key, value = shapes
        require(
            len(query) == len(key) == 4 and key == value and (query[0], query[3]) == (key[0], key[3]),
            "query {}, key {} and value {} do not fit together",
            query,
            key,
            value,
        )
        heads, shared = query[2], key[2]
        require(
            shared > 0 and heads % shared == 0, "{} heads cannot share {} of keys and values", heads, shared
        )
        require(attn_mask is None or not is_causal, "give either attn_mask or is_causal")
        length, end = key[1], start_pos + query[1]
        require(
            start_pos >= 0 and end <= length,
            "positions {} to {} exceed the cache of {}",
            start_pos,
            end,
            length,
        )
        mask = _causal(start_pos, query[1]) if is_causal else None
        if attn_mask is not None:
            end = length
            require(attn_mask.shape == (query[1], length), "attn_mask must have shape {}", (query[1], length))
            mask = attn_mask.array
        return cls((shared, heads // shared), end, mask, 1 / math.sqrt(query[3]) if scale is None else scale)

    def __call__(self, query: Array, key: Array, value: Array) -> Array:
        """Return the result in the shape of the queries, in float32 or more."""
        dtype = computation_dtype(query.dtype)
        batch, count, _, width = query.shape
        grouped = query.astype(dtype).reshape(batch, count, *self.heads, width).transpose(0, 2, 3, 1, 4)
        keys, values = (
            each[:, : self.positions].astype(dtype).transpose(0, 2, 1, 3)[:, :, np.newaxis]
            for each in (key, value)
        )
        weights = grouped @ keys.swapaxes(-1, -2) * dtype.type(self.scale)
        if self.mask is not None:
            weights += self.mask
        weights -= weights.max(-1, keepdims=True, initial=-np.inf)
        np.exp(weights, weights)
        weights /= weights.sum(-1, keepdims=True)
        result: Array = (weights @ values).transpose(0, 3, 1, 2, 4).reshape(query.shape)
        return result


def _causal(start: int, count: int) -> Array:
    """Return a mask with minus infinity where a key comes after the query."""
    is_later = np.arange(start + count) > np.arange(start, start + count)[:, np.newaxis]
    mask: Array = np.where(is_later, np.float32(-np.inf), np.float32(0))
    return mask


def _positions(cache: Tensor, start: int, count: int) -> Array:
    length = cache.shape[1]
    end = start + count
    require(start >= 0 and end <= length, "positions {} to {} exceed the cache of {}", start, end, length)
    view: Array = cache.array[:, start:end]
    return view


def _require_fitting(value: Tensor, cache: Tensor) -> None:
    require_same_dtype(value=value, cache=cache)
    require_rank("value", value, 4)
    require_rank("cache", cache, 4)
    is_fitting = (value.shape[0], *value.shape[2:]) == (cache.shape[0], *cache.shape[2:])
    require(is_fitting, "value {} does not fit cache {}", value.shape, cache.shape)


KERNELS = KernelTable.of_module(globals())
