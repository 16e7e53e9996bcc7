"""Memory that a Method owns: aligned blocks, the kernels' scratch, the backends' allocators."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
"""Any numpy array."""

Shape: TypeAlias = tuple[int, ...]
"""The sizes of an array's dimensions."""

AddressRange: TypeAlias = tuple[int, int]
"""The addresses of the first byte and of the one after the last."""

ALIGNMENT_BYTES = 64
"""A cache line; also what AVX-512 loads best."""


def allocate_zeroed(size_bytes: int, alignment_bytes: int = ALIGNMENT_BYTES) -> Array:
    """Return a new `uint8` array of shape (size_bytes,), whose pages are only taken when first touched.

    Raises:
        MemoryError: the memory is not available.
    """
    try:
        block = np.zeros(size_bytes + alignment_bytes, np.uint8)
    except ValueError as error:  # raised by numpy for a size beyond the address space
        raise MemoryError(f"cannot allocate {size_bytes} bytes") from error
    start = -address_of(block) % alignment_bytes
    return block[start : start + size_bytes]


def address_of(array: Array) -> int:
    """Return the address of the first element of an array."""
    address: int = array.__array_interface__["data"][0]
    return address


SEED = 0
"""The seed of every Method's random numbers."""


STEPS_AHEAD = 200_000
"""The most steps that kernels with many of them may make while a Method is loaded: about 80 MB."""


class Scratch:
    """Working memory, copies of constants and random numbers, shared by all kernels of one Method.

    The contents of working memory are lost between the steps of two instructions.

    The memory grows by doubling. Kernels that were bound before it grew keep the smaller block,
    so all blocks together take less than twice the largest.

    Attributes:
        start: The offset of the first byte that is not reserved.
        steps_left: The number of steps that all instructions together may still make ahead; infinite once the
            Method is loaded, since steps that are bound later replace earlier ones.
    """

    def __init__(self) -> None:
        self._block = allocate_zeroed(0)
        self.start = 0
        self.steps_left: float = STEPS_AHEAD
        self._kept: dict[Hashable, tuple[Array, Array]] = {}

    @cached_property
    def generator(self) -> np.random.Generator:
        """The generator of random numbers, with the same seed in every Method; made on first use."""
        return np.random.default_rng(SEED)

    def array(self, shape: Shape, dtype: np.dtype[Any]) -> Array:
        """Return an uninitialized array; it overlaps the arrays of other calls unless they are reserved."""
        return self.arrays((shape, dtype))[0]

    def arrays(self, *wanted: tuple[Shape, np.dtype[Any]]) -> tuple[Array, ...]:
        """Return uninitialized arrays that do not overlap each other."""
        offsets = [self.start]
        for shape, dtype in wanted:
            offsets.append(offsets[-1] + _aligned(math.prod(shape) * dtype.itemsize))
        if offsets[-1] > len(self._block):
            self._block = allocate_zeroed(max(offsets[-1], 2 * len(self._block)))
        return tuple(
            np.ndarray(shape, dtype, self._block, offset)
            for (shape, dtype), offset in zip(wanted, offsets, strict=False)
        )

    @contextmanager
    def reserved(self, *wanted: tuple[Shape, np.dtype[Any]]) -> Iterator[tuple[Array, ...]]:
        """Reserve uninitialized arrays: those requested in the `with` block do not overlap them."""
        arrays = self.arrays(*wanted)
        sizes = (_aligned(math.prod(shape) * dtype.itemsize) for shape, dtype in wanted)
        with self.starting_at(self.start + sum(sizes)):
            yield arrays

    @contextmanager
    def starting_at(self, start: int) -> Iterator[None]:
        """Use no bytes before `start` in the `with` block."""
        before, self.start = self.start, start
        try:
            yield
        finally:
            self.start = before

    def kept(self, constant: Array, purpose: Hashable, make: Callable[[], Array]) -> Array:
        """Return the result of `make` for a constant, read-only; it is computed once for each purpose.

        So an instruction that is bound for several shapes keeps one copy of its constants, not one for each.
        """
        key = (address_of(constant), constant.shape, constant.strides, constant.dtype, purpose)
        if key not in self._kept:
            made = make().view()
            made.flags.writeable = False
            # the constant is kept too, so that no other array can get its address, which is the key
            self._kept[key] = (constant, made)
        return self._kept[key][1]


class MethodAllocator:
    """Memory for a backend's `init`, kept until the Method is closed."""

    def __init__(self) -> None:
        self._blocks: list[Array] = []

    def allocate(self, size_bytes: int, alignment_bytes: int = ALIGNMENT_BYTES) -> Array:
        """Return a new zeroed `uint8` array of shape (size_bytes,)."""
        block = allocate_zeroed(size_bytes, alignment_bytes)
        self._blocks.append(block)
        return block


class TemporaryAllocator:
    """Memory for one call of a backend's `execute`; `reset` frees it for the next call.

    After a call that needed more than the block has, the block grows to the size that the call used.
    """

    def __init__(self) -> None:
        self._block = allocate_zeroed(0)
        self._used_bytes = 0
        self._alignment_bytes = ALIGNMENT_BYTES

    def allocate(self, size_bytes: int, alignment_bytes: int = ALIGNMENT_BYTES) -> Array:
        """Return a zeroed `uint8` array of shape (size_bytes,), valid until `reset`."""
        self._alignment_bytes = max(self._alignment_bytes, alignment_bytes)
        start = self._used_bytes + -(address_of(self._block) + self._used_bytes) % alignment_bytes
        end = start + size_bytes
        if end > len(self._block):
            memory = allocate_zeroed(size_bytes, alignment_bytes)
            self._used_bytes = end  # only now: `reset` makes room for what was there to be had
            return memory
        self._used_bytes = end
        memory = self._block[start:end]
        memory.fill(0)
        return memory

    def reset(self) -> None:
        """Free all memory for the next call."""
        if self._used_bytes > len(self._block):
            # Aligned for the most demanding array, so that the same call fits the next time.
            self._block = allocate_zeroed(self._used_bytes, self._alignment_bytes)
        self._used_bytes = 0


def _aligned(size_bytes: int) -> int:
    return size_bytes + -size_bytes % ALIGNMENT_BYTES
