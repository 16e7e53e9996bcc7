"""Matrix multiplications, which are cut into tiles and run on several workers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import ClassVar

import numpy as np

from etconfig_reference.graph import Array, Attributes, Shape
from etconfig_reference.ops.base import AttributeLengths, DType, Op
from etconfig_reference.ops.window import Window, image_sizes
from etconfig_reference.work import Form, Limits, ScratchPool, Work


class Linear(Op):
    """`x @ weight.T + bias`: x (*S, K), weight (N, K), bias (N), optional."""

    name = "linear"
    input_counts = (2, 3)

    def _prepare(self, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
        x, weight, *bias = shapes
        if len(weight) != 2 or x[-1:] != weight[1:]:
            raise ValueError(f"an input of shape {x} does not fit a weight of shape {weight}")
        _check_bias(bias, weight[0])
        self._items = weight[1]
        return (*x[:-1], weight[0])

    @property
    def multiply_accumulates(self) -> int:
        return math.prod(self.output_shape) * self._items

    def run(self, inputs: Sequence[Array], out: Array, work: Work) -> None:
        x, weight, *bias = inputs
        rows = x.reshape(math.prod(x.shape[:-1]), self._items)
        _multiply(rows, weight.T, out.reshape(len(rows), len(weight)), work)
        if bias:
            np.add(out, bias[0], out=out)


class MatMul(Op):
    """`left @ right`: left (M, K), right (K, N)."""

    name = "matmul"
    input_counts = (2,)

    def _prepare(self, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
        left, right = shapes
        if (len(left), len(right)) != (2, 2) or left[1] != right[0]:
            raise ValueError(f"matrices of shapes {left} and {right} cannot be multiplied")
        self._items = right[0]
        return left[0], right[1]

    @property
    def multiply_accumulates(self) -> int:
        return math.prod(self.output_shape) * self._items

    def run(self, inputs: Sequence[Array], out: Array, work: Work) -> None:
        left, right = inputs
        _multiply(left, right, out, work)


class Conv2d(Op):
    """Cross-correlation: x (N, C, H, W), weight (O, C / groups, kh, kw), bias (O), optional."""

    name = "conv2d"
    input_counts = (2, 3)
    attribute_lengths: ClassVar[AttributeLengths] = {"stride": 2, "padding": 2, "dilation": 2, "groups": 1}

    def _prepare(self, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
        x, weight, *bias = shapes
        images, channels, *size = image_sizes(x)
        outputs, group_channels, *kernel = image_sizes(weight)
        (self._groups,) = attributes["groups"]
        if self._groups < 1 or outputs % self._groups or channels != group_channels * self._groups:
            raise ValueError(
                f"an input of shape {x} does not fit a weight of shape {weight} in {self._groups} groups"
            )
        _check_bias(bias, outputs)
        settings = {name: attributes[name] for name in ("stride", "padding", "dilation")}
        self._window = Window(size, kernel=kernel, **settings)
        self._patch_shape = (group_channels, *kernel)
        self._padded = self._window.padded(x)
        return images, outputs, *self._window.output_size

    @property
    def multiply_accumulates(self) -> int:
        return math.prod(self.output_shape) * math.prod(self._patch_shape)

    def temporaries(self, limits: Limits, dtype: DType) -> Iterator[Form]:
        if self._padded is not None:
            yield self._padded, dtype
        tiles, dtype = self._tiles(limits, dtype), limits.sum_dtype(dtype)
        items = math.prod(self._patch_shape) * tiles[0].stop * self.output_shape[3]
        jobs = self.output_shape[0] * self._groups * len(tiles)
        yield from [((items,), dtype)] * min(limits.num_threads, jobs)

    def _tiles(self, limits: Limits, dtype: DType) -> list[slice]:
        height, width = self._window.output_size
        column_bytes = math.prod(self._patch_shape) * limits.sum_dtype(dtype).itemsize
        return limits.cut_rows(height, width * column_bytes)

    def run(self, inputs: Sequence[Array], out: Array, work: Work) -> None:
        x, weight, *bias = inputs
        images, _, height, width = out.shape
        buffers = work.new_arrays(self.temporaries(work, out.dtype))
        padded = self._window.pad(x, 0, None if self._padded is None else buffers.pop(0))
        scratch = ScratchPool(buffers)
        sources = padded.reshape(images, self._groups, -1, *padded.shape[2:])
        kernels = weight.reshape(self._groups, -1, math.prod(self._patch_shape))
        results = out.reshape(images, *kernels.shape[:2], height * width)

        jobs = list(product(range(images), range(self._groups), self._tiles(work, out.dtype)))

        def multiply(job: tuple[int, int, slice]) -> None:
            image, group, rows = job
            pixels = slice(rows.start * width, rows.stop * width)
            with scratch.borrow() as buffer:
                patches = self._gather(sources[image, group], rows, buffer)
                np.matmul(kernels[group], patches, out=results[image, group, :, pixels])

        work.run_jobs(jobs, multiply)
        if bias:
            np.add(out, bias[0][:, np.newaxis, np.newaxis], out=out)

    def _gather(self, source: Array, rows: slice, buffer: Array) -> Array:
        """Return a column for each pixel of the result: its whole window, C / groups * kh * kw values."""
        pixels = (rows.stop - rows.start, self._window.output_size[1])
        items = math.prod(self._patch_shape) * math.prod(pixels)
        patches = buffer[:items].reshape(*self._patch_shape, *pixels)
        for i, j, seen in self._window.shifts(source, rows):
            patches[:, i, j] = seen
        return patches.reshape(math.prod(self._patch_shape), -1)


def _multiply(left: Array, right: Array, out: Array, work: Work) -> None:
    """Compute `left @ right`, in tiles of columns of `right`."""

    def multiply(columns: slice) -> None:
        np.matmul(left, right[:, columns], out=out[:, columns])

    work.run_jobs(work.cut_rows(right.shape[1], right[:, 0].nbytes), multiply)


def _check_bias(bias: Sequence[Shape], outputs: int) -> None:
    if bias and bias[0] != (outputs,):
        raise ValueError(f"a bias of shape {bias[0]} does not fit {outputs} outputs")
