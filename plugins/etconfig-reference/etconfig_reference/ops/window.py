"""`Window`: the common geometry of convolutions and poolings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from etconfig_reference.graph import Array, Shape

MAX_SETTING = 1024
"""The largest kernel, stride, padding or dilation; it limits the work that a payload can cause."""


class Window:
    """A kernel that slides over the last two dimensions, height and width.

    Args:
        size: Height and width of the input.
        kernel, stride, padding, dilation: One number each for height and width.

    Attributes:
        output_size: Height and width of the result.

    Raises:
        ValueError: a setting is out of range, or the kernel does not fit.
    """

    def __init__(
        self,
        size: Sequence[int],
        *,
        kernel: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int] = (1, 1),
    ) -> None:
        if not all(1 <= setting <= MAX_SETTING for setting in (*kernel, *stride, *dilation)):
            raise ValueError(f"kernel, stride and dilation must be from 1 to {MAX_SETTING}")
        if not all(0 <= setting <= MAX_SETTING for setting in padding):
            raise ValueError(f"padding must be from 0 to {MAX_SETTING}")
        self._size, self._kernel, self._stride = tuple(size), tuple(kernel), tuple(stride)
        self._padding, self._dilation = tuple(padding), tuple(dilation)
        self.output_size = tuple(self._count_positions(axis) for axis in (0, 1))

    def _count_positions(self, axis: int) -> int:
        extent = self._dilation[axis] * (self._kernel[axis] - 1) + 1
        room = self._size[axis] + 2 * self._padding[axis] - extent
        if room < 0:
            raise ValueError(f"a kernel of extent {extent} does not fit into {self._size[axis]} with padding")
        return room // self._stride[axis] + 1

    def padded(self, shape: Shape) -> Shape | None:
        """Return the shape of images with a border, or None if there is no border."""
        if self._padding == (0, 0):
            return None
        return *shape[:-2], *(
            size + 2 * border for size, border in zip(self._size, self._padding, strict=True)
        )

    def pad(self, x: Array, fill: float, padded: Array | None) -> Array:
        """Return `padded`, filled with `x` and a border of `fill`, or `x` itself if it is None."""
        if padded is None:
            return x
        if fill != 0:
            padded.fill(fill)
        (top, left), (height, width) = self._padding, self._size
        padded[..., top : top + height, left : left + width] = x
        return padded

    def shifts(self, padded: Array, rows: slice | None = None) -> Iterator[tuple[int, int, Array]]:
        """Yield, for each place (i, j) in the kernel, the inputs at this place of all window positions.

        Args:
            padded: The array that `pad` returned.
            rows: The rows of the result to cover; None means all.
        """
        height, width = self.output_size
        rows = slice(0, height) if rows is None else rows
        for i, j in product(*map(range, self._kernel)):
            down = self._along(0, i, rows.start, rows.stop)
            across = self._along(1, j, 0, width)
            yield i, j, padded[..., down, across]

    def _along(self, axis: int, place: int, start: int, stop: int) -> slice:
        step, offset = self._stride[axis], place * self._dilation[axis]
        return slice(offset + start * step, offset + (stop - 1) * step + 1, step)


def image_sizes(shape: Shape) -> Shape:
    """Return images, channels, height and width. Raises ValueError if the rank is not 4."""
    if len(shape) != 4:
        raise ValueError(f"takes a tensor of rank 4, given {shape}")
    return shape
