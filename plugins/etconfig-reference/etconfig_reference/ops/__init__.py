"""The operations that the reference backends compute, by the name in the payload."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig_reference.ops.base import Op
from etconfig_reference.ops.elementwise import Add, Mul, Relu, Softmax, Sub
from etconfig_reference.ops.matrix import Conv2d, Linear, MatMul
from etconfig_reference.ops.pool import AvgPool2d, MaxPool2d, Mean
from etconfig_reference.ops.shape import Convert, Permute, Reshape

__all__ = ["OPS", "Op"]

OPS: Mapping[str, type[Op]] = {
    op.name: op
    for op in (
        Add,
        AvgPool2d,
        Conv2d,
        Convert,
        Linear,
        MatMul,
        MaxPool2d,
        Mean,
        Mul,
        Permute,
        Relu,
        Reshape,
        Softmax,
        Sub,
    )
}
