"""Operations that move elements without computing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from etconfig_reference.graph import Array, Attributes, Shape
from etconfig_reference.ops.base import AttributeLengths, Op, check_dims
from etconfig_reference.work import Work


class Reshape(Op):
    """The same elements in the same order, shaped `shape`."""

    name = "reshape"
    attribute_lengths: ClassVar[AttributeLengths] = {"shape": None}

    def _prepare(self, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
        shape = attributes["shape"]
        if min(shape, default=1) < 1 or math.prod(shape) != math.prod(shapes[0]):
            raise ValueError(f"a tensor of shape {shapes[0]} cannot be shaped {shape}")
        return shape

    def run(self, inputs: Sequence[Array], out: Array, work: Work) -> None:
        np.copyto(out, inputs[0].reshape(out.shape))


class Permute(Op):
    """Dimension `dims[i]` becomes dimension i."""

    name = "permute"
    attribute_lengths: ClassVar[AttributeLengths] = {"dims": None}

    def _prepare(self, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
        (shape,) = shapes
        self._dims = attributes["dims"]
        check_dims(self._dims, len(shape))
        if len(self._dims) != len(shape):
            raise ValueError(f"{list(self._dims)} leave out dimensions of a tensor of rank {len(shape)}")
        return tuple(shape[dim] for dim in self._dims)

    def run(self, inputs: Sequence[Array], out: Array, work: Work) -> None:
        np.copyto(out, inputs[0].transpose(self._dims))
