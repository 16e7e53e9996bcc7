"""Reductions: pooling and mean."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from etconfig_reference.graph import Array, Attributes, Shape
from etconfig_reference.ops.base import AttributeLengths, DType, Op, check_dims
from etconfig_reference.ops.window import Window, image_sizes
from etconfig_reference.work import Form, Limits, Work


class _Pool(Op):
    """A pooling over windows of height and width: x (N, C, H, W)."""

    def _prepare(self, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
        images, channels, *size = image_sizes(shapes[0])
        self._window = Window(size, **attributes)
        self._padded = self._window.padded(shapes[0])
        return images, channels, *self._window.output_size

    def temporaries(self, limits: Limits, dtype: DType) -> Iterator[Form]:
        if self._padded is not None:
            yield self._padded, dtype


class MaxPool2d(_Pool):
    """The largest value in each window; NaN if there is one."""

    name = "max_pool2d"
    attribute_lengths: ClassVar[AttributeLengths] = {"kernel": 2, "stride": 2, "padding": 2, "dilation": 2}

    def run(self, inputs: Sequence[Array], out: Array, work: Work) -> None:
        out.fill(-np.inf)
        padded = next(iter(work.new_arrays(self.temporaries(work, out.dtype))), None)
        for _, _, seen in self._window.shifts(self._window.pad(inputs[0], -np.inf, padded)):
            np.maximum(out, seen, out=out)


class AvgPool2d(_Pool):
    """The mean of each window; padding counts as zeros."""

    name = "avg_pool2d"
    attribute_lengths: ClassVar[AttributeLengths] = {"kernel": 2, "stride": 2, "padding": 2}

    def _prepare(self, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
        self._window_items = math.prod(attributes["kernel"])
        return super()._prepare(shapes, attributes)

    def temporaries(self, limits: Limits, dtype: DType) -> Iterator[Form]:
        yield self.output_shape, limits.sum_dtype(dtype)
        yield from super().temporaries(limits, dtype)

    def run(self, inputs: Sequence[Array], out: Array, work: Work) -> None:
        total, *padded = work.new_arrays(self.temporaries(work, out.dtype))
        for _, _, seen in self._window.shifts(self._window.pad(inputs[0], 0, next(iter(padded), None))):
            np.add(total, seen, out=total)
        np.divide(total, self._window_items, out=out)


class Mean(Op):
    """The mean over the dimensions `dims`, which keep size 1 if `keep_dims` is 1."""

    name = "mean"
    attribute_lengths: ClassVar[AttributeLengths] = {"dims": None, "keep_dims": 1}

    def _prepare(self, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
        (shape,) = shapes
        self._dims = attributes["dims"]
        self._keep_dims = bool(attributes["keep_dims"][0])
        self._input_items = math.prod(shape)
        check_dims(self._dims, len(shape))
        self._reduced_items = math.prod(shape[dim] for dim in self._dims)
        if self._keep_dims:
            return tuple(1 if dim in self._dims else size for dim, size in enumerate(shape))
        return tuple(size for dim, size in enumerate(shape) if dim not in self._dims)

    @property
    def multiply_accumulates(self) -> int:
        return self._input_items

    def run(self, inputs: Sequence[Array], out: Array, work: Work) -> None:
        sums = np.sum(  # type: ignore[call-overload]  # numpy 2.5
            inputs[0], axis=self._dims, keepdims=self._keep_dims, dtype=work.sum_dtype(out.dtype)
        )
        # np.mean would warn about empty inputs; their mean is NaN
        np.divide(sums, self._reduced_items, out=out)
