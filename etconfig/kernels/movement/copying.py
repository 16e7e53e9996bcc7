"""Copies of whole tensors: between dtypes and dim orders, and in place."""

from __future__ import annotations

import numpy as np

from etconfig.kernel.checks import require_same_dtype
from etconfig.kernel.registry import Ints, KernelTable, Step, kernel
from etconfig.kernel.step_makers import copy_step, ufunc_step
from etconfig.kernel.tensor import Tensor


def _copy(source: Tensor, out: Tensor) -> Step:
    """Copy to the dtype and dim order of `out`. Shapes: source (*S), out (*S)."""
    out.resize(source.shape)
    return copy_step(out.array, source.array)


@kernel(
    "aten::alias_copy.out",
    "aten::detach_copy.out",
    "aten::lift_fresh_copy.out",
    "et_copy::_d2h_copy.out",
    "et_copy::_h2d_copy.out",
    "llama::fallback.out",
    takes_any_strides=True,
    is_elementwise=True,
)
def plain_copy(self: Tensor, out: Tensor) -> Step:
    """Copy, also between devices, since there is only one here."""
    return _copy(self, out)


@kernel("aten::_conj_physical.out")
def conj_physical(self: Tensor, out: Tensor) -> Step:
    """Compute the conjugate; of real numbers, a copy."""
    require_same_dtype(self=self, out=out)
    if self.dtype.kind != "c":
        return _copy(self, out)
    out.resize(self.shape)
    return ufunc_step(np.conjugate, (self.array,), out.array, self.dtype)


@kernel("aten::clone.out", takes_any_strides=True, is_elementwise=True)
def clone(self: Tensor, memory_format: int | None, out: Tensor) -> Step:
    """Copy to the memory format of `out`."""
    return _copy(self, out)


@kernel("aten::_to_copy.out", is_elementwise=True)
def to_copy(self: Tensor, non_blocking: bool, memory_format: int | None, out: Tensor) -> Step:
    """Copy to the dtype and memory format of `out`."""
    return _copy(self, out)


@kernel(
    "dim_order_ops::_to_dim_order_copy.out",
    "dim_order_ops::_clone_dim_order.out",
    takes_any_strides=True,
    is_elementwise=True,
)
def to_dim_order_copy(self: Tensor, non_blocking: bool, dim_order: Ints | None, out: Tensor) -> Step:
    """Copy to the dtype and dim order of `out`."""
    return _copy(self, out)


@kernel("aten::copy.out")
def copy(self: Tensor, src: Tensor, non_blocking: bool, out: Tensor) -> Step:
    """Copy `src`, broadcast to the shape of `self`."""
    out.resize(self.shape)
    return copy_step(out.array, src.array)


@kernel("aten::copy_")
def copy_in_place(self: Tensor, src: Tensor, non_blocking: bool) -> Step:
    """Write `src`, broadcast, into `self`, such as the next state of a mutable buffer."""
    return copy_step(self.array, src.array)


KERNELS = KernelTable.of_module(globals())
