"""Operations that move or convert elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from etconfig_reference.graph import DTYPES, Array, Attributes, Shape
from etconfig_reference.ops.base import AttributeLengths, Op, check_dims
from etconfig_reference.work import Work


class Reshape(Op):
    """The same elements in the same order, with shape `shape`; a size of -1 follows from the others."""

    name = "reshape"
    dtypes = tuple(DTYPES)
    attribute_lengths: ClassVar[AttributeLengths] = {"shape": None}

    def _prepare(self, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
        shape, items = attributes["shape"], math.prod(shapes[0])
        known_items = math.prod(size for size in shape if size != -1)
        inferred = items // known_items if known_items > 0 and shape.count(-1) == 1 else -1
        result = tuple(inferred if size == -1 else size for size in shape)
        if min(result, default=0) < 0 or math.prod(result) != items:
            raise ValueError(f"a tensor of shape {shapes[0]} cannot be shaped {shape}")
        return result

    def run(self, inputs: Sequence[Array], out: Array, work: Work) -> None:
        np.copyto(out, inputs[0].reshape(out.shape))


class Permute(Op):
    """Dimension `dims[i]` becomes dimension i."""

    name = "permute"
    dtypes = tuple(DTYPES)
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


class Convert(Op):
    """The same numbers as another type: rounded toward zero for integers, nonzero for bool."""

    name = "convert"
    dtypes = tuple(DTYPES)
    converts = True

    def _prepare(self, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
        return shapes[0]

    def run(self, inputs: Sequence[Array], out: Array, work: Work) -> None:
        np.copyto(out, inputs[0], casting="unsafe")
