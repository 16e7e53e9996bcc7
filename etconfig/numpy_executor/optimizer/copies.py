"""Copies that need not run, since their readers can read the source instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from etconfig.kernel.memory import AddressRange, Array
from etconfig.kernel.registry import Kernel
from etconfig.kernel.steps import Copy
from etconfig.kernel.tensor import Tensor
from etconfig.numpy_executor.effects import Effects
from etconfig.numpy_executor.optimizer.liveness import Liveness, LiveRange, address_range_of
from etconfig.numpy_executor.registers import Registers


class CopyElision:
    """Makes the target of a copy a view of its source where that changes no result."""

    def __init__(
        self,
        registers: Registers,
        effects: Sequence[Effects],
        liveness: Liveness,
        kernel_at: Callable[[int], Kernel | None],
    ) -> None:
        """Elide copies in the order of the instructions, each before later instructions are bound.

        Args:
            registers: The plan's values.
            effects: Of each instruction.
            liveness: Of the plan's memory.
            kernel_at: The kernel that an instruction calls, or None if it calls none.
        """
        self._registers = registers
        self._effects = effects
        self._liveness = liveness
        self._kernel_at = kernel_at

    def elide(self, index: int, copy: Copy) -> Sequence[int]:
        """Replace the copy that is instruction `index` by a view of its source, if that is possible.

        It is possible if the memory of the target has no other use, nothing writes to the source or
        to the target before the last reader has run, and all readers accept the strides of the view.

        Returns:
            The tensors that are views now; none if the copy must run.
        """
        reads, writes = self._effects[index]
        written = [value for value in writes if self._tensor(value).array.size]
        live = self._liveness.of_value.get(written[0]) if len(written) == 1 else None
        if live is None or live.written != index or not self._liveness.can_be_left_unwritten(live):
            return ()
        target = self._tensor(written[0]).array
        view = _view_of(copy, target, live.place)
        # a broadcast source is a read-only view, which kernels would treat as a constant
        if view is None or view.flags.writeable != self._is_any_writeable(reads):
            return ()
        tensors = [*map(self._tensor, live.values)]
        views = _views_as(view, target, tensors)
        if views is None or not self._is_kept(view, live, index):
            return ()
        if not self._is_readable(live, views, tensors):
            return ()
        for tensor, each in zip(tensors, views, strict=True):
            tensor.set_array(each)
        return live.values

    def _tensor(self, value: int) -> Tensor:
        tensor = self._registers.initial(value)
        assert isinstance(tensor, Tensor)
        return tensor

    def _is_any_writeable(self, values: Sequence[int]) -> bool:
        """Return whether one of them changes between runs; kernels treat read-only arrays as constants."""
        return any(self._tensor(value).array.flags.writeable for value in values)

    def _is_kept(self, view: Array, live: LiveRange, index: int) -> bool:
        """Return whether source and target keep their bytes while `live` is read.

        The last reader may write to them if it reads each part of its inputs before it writes there.
        """
        last = self._kernel_at(live.end)
        before = live.end if last is not None and last.allows_overlap else live.end + 1
        if live.overwritten < before:
            return False
        if not view.flags.writeable:  # nothing ever writes to a constant
            return True
        return not self._liveness.is_written(address_range_of(view), index, before)

    def _is_readable(self, live: LiveRange, views: Sequence[Array], tensors: Sequence[Tensor]) -> bool:
        if all(_is_laid_out_alike(*each) for each in zip(views, tensors, strict=True)):
            return True
        kernels = map(self._kernel_at, live.readers)
        return all(kernel is not None and kernel.takes_any_strides for kernel in kernels)


def _view_of(copy: Copy, out: Array, place: AddressRange) -> Array | None:
    """Return the view that `out`, at `place`, can be instead of a copy; None if no view is all of it."""
    source, target = copy.source, copy.target
    if source.shape != target.shape:
        source = np.broadcast_to(source, target.shape)
    if target is not out:  # kernels copy to views of their output, such as one of another shape
        is_alike = target.shape == out.shape and target.strides == out.strides
        if not is_alike and not (target.flags.c_contiguous and out.flags.c_contiguous):
            return None
        if target.size != out.size or address_range_of(target) != place:
            return None
    return _as_shape(source, out.shape)


def _views_as(view: Array, target: Array, tensors: Sequence[Tensor]) -> list[Array] | None:
    """Return the view of `target` as each tensor of a live range sees it; None if one cannot see it so."""
    views: list[Array] = []
    for tensor in tensors:
        if not _is_in_one_order(target, tensor.array):
            return None
        shaped = _as_shape(view, tensor.array.shape) if view.dtype == tensor.dtype else None
        if shaped is None:
            return None
        views.append(shaped)
    return views


def _as_shape(array: Array, shape: tuple[int, ...]) -> Array | None:
    """Return a view of `array` with this shape, or None if that takes a copy."""
    if array.shape == shape:
        return array
    view: Array = array.reshape(shape)
    return view if np.may_share_memory(view, array) else None


def _is_in_one_order(array: Array, other: Array) -> bool:
    """Return whether two arrays at one address have their elements in the same order, in any shapes."""
    if array.shape == other.shape and array.strides == other.strides:
        return True
    return bool(array.flags.c_contiguous and other.flags.c_contiguous)


def _is_laid_out_alike(view: Array, tensor: Tensor) -> bool:
    planned = tensor.array.strides
    if view.strides == planned:
        return True
    pairs = zip(view.shape, view.strides, planned, strict=True)
    return all(size == 1 or stride == expected for size, stride, expected in pairs)
