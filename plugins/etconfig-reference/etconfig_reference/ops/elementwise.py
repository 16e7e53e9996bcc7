"""Operations on single elements or along one dimension."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from etconfig_reference.graph import DTYPES, FLOATS, INTEGERS, Array, Attributes, Shape
from etconfig_reference.ops.base import AttributeLengths, DType, Op, check_dims
from etconfig_reference.work import Form, Limits, Work


class _Binary(Op):
    """An operation on two tensors, which are broadcast to a common shape."""

    input_counts = (2,)
    dtypes = tuple(DTYPES)
    converts = True
    ufunc: ClassVar[np.ufunc]

    def _prepare(self, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
        return np.broadcast_shapes(*shapes)

    def run(self, inputs: Sequence[Array], out: Array, work: Work) -> None:
        self.ufunc(*inputs, out=out, dtype=out.dtype, casting="unsafe")


class Add(_Binary):
    """`a + b`; for bool, logical or."""

    name = "add"
    ufunc = np.add


class Sub(_Binary):
    """`a - b`."""

    name = "sub"
    dtypes = (*FLOATS, *INTEGERS)
    ufunc = np.subtract


class Mul(_Binary):
    """`a * b`; for bool, logical and."""

    name = "mul"
    ufunc = np.multiply


class Relu(Op):
    """`max(x, 0)`; NaN passes through."""

    name = "relu"
    dtypes = (*FLOATS, *INTEGERS)

    def _prepare(self, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
        return shapes[0]

    def run(self, inputs: Sequence[Array], out: Array, work: Work) -> None:
        np.maximum(inputs[0], 0, out=out)


class Softmax(Op):
    """`exp(x) / sum(exp(x))` along `dim`."""

    name = "softmax"
    attribute_lengths: ClassVar[AttributeLengths] = {"dim": 1}

    def _prepare(self, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
        check_dims(attributes["dim"], len(shapes[0]))
        (self._dim,) = attributes["dim"]
        return shapes[0]

    def temporaries(self, limits: Limits, dtype: DType) -> Iterator[Form]:
        yield self.output_shape, limits.sum_dtype(dtype)

    def run(self, inputs: Sequence[Array], out: Array, work: Work) -> None:
        (x,) = inputs
        (powers,) = work.new_arrays(self.temporaries(work, out.dtype))
        # shift the largest element to zero, so that no exponential overflows
        np.subtract(x, x.max(axis=self._dim, keepdims=True), out=powers, dtype=powers.dtype)
        np.exp(powers, out=powers)
        np.divide(powers, powers.sum(axis=self._dim, keepdims=True), out=out)
