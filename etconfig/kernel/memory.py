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
    """A new `uint8` array of shape (size_bytes,); its pages are taken when they are first touched.

    Raises:
        MemoryError: the memory cannot be had.
    """
    try:
        block = np.zeros(size_bytes + alignment_bytes, np.uint8)
    except ValueError as error:  # numpy's word for a size beyond the address space
        raise MemoryError(f"cannot allocate {size_bytes} bytes") from error
    start = -address_of(block) % alignment_bytes
    return block[start : start + size_bytes]


def address_of(array: Array) -> int:
    """Where the first element of an array lies."""
    address: int = array.__array_interface__["data"][0]
    return address


SEED = 0
"""Where the random numbers of every Method begin."""


STEPS_AHEAD = 200_000
"""How many steps the kernels of a Method that consist of many may make when it is loaded: some 80 MB."""


class Scratch:
    """What all kernels of one Method share: working memory, copies of constants, and random numbers.

    Working memory is lost between the steps of instructions.

    The memory grows by doubling. Kernels that were bound before it grew keep the smaller block,
    so all blocks together take less than twice the largest.

    Attributes:
        start: The bytes before it are reserved.
        steps_left: How many steps all instructions together may still make ahead; infinite once the Method
            is loaded, since what is bound later replaces what was bound before.
    """

    def __init__(self) -> None:
        self._block = allocate_zeroed(0)
        self.start = 0
        self.steps_left: float = STEPS_AHEAD
        self._kept: dict[Hashable, tuple[Array, Array]] = {}

    @cached_property
    def generator(self) -> np.random.Generator:
        """Random numbers, the same ones in every Method; made when a kernel asks for them."""
        return np.random.default_rng(SEED)

    def array(self, shape: Shape, dtype: np.dtype[Any]) -> Array:
        """One uninitialized array; it overlaps every array of other calls, but those that are reserved."""
        return self.arrays((shape, dtype))[0]

    def arrays(self, *wanted: tuple[Shape, np.dtype[Any]]) -> tuple[Array, ...]:
        """Uninitialized arrays that do not overlap each other."""
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
        """The same; what is asked for in the `with` block does not overlap these arrays either."""
        arrays = self.arrays(*wanted)
        sizes = (_aligned(math.prod(shape) * dtype.itemsize) for shape, dtype in wanted)
        with self.starting_at(self.start + sum(sizes)):
            yield arrays

    @contextmanager
    def starting_at(self, start: int) -> Iterator[None]:
        """Give no bytes before `start` in the `with` block."""
        before, self.start = self.start, start
        try:
            yield
        finally:
            self.start = before

    def kept(self, constant: Array, purpose: Hashable, make: Callable[[], Array]) -> Array:
        """What `make` gives for a constant, read-only as that is: made once for each purpose.

        So an instruction that is bound for several shapes holds one copy of its constants, not one for each.
        """
        key = (address_of(constant), constant.shape, constant.strides, constant.dtype, purpose)
        if key not in self._kept:
            made = make().view()
            made.flags.writeable = False
            self._kept[key] = (constant, made)  # as long as the constant is there, so is its address
        return self._kept[key][1]


class MethodAllocator:
    """Memory for a backend's `init`, kept until the Method is closed."""

    def __init__(self) -> None:
        self._blocks: list[Array] = []

    def allocate(self, size_bytes: int, alignment_bytes: int = ALIGNMENT_BYTES) -> Array:
        """A new zeroed `uint8` array of shape (size_bytes,)."""
        block = allocate_zeroed(size_bytes, alignment_bytes)
        self._blocks.append(block)
        return block


class TemporaryAllocator:
    """Memory for one call of a backend's `execute`; `reset` takes it back for the next call.

    After a call that needed more than there was, the block grows to what that call used.
    """

    def __init__(self) -> None:
        self._block = allocate_zeroed(0)
        self._used_bytes = 0
        self._alignment_bytes = ALIGNMENT_BYTES

    def allocate(self, size_bytes: int, alignment_bytes: int = ALIGNMENT_BYTES) -> Array:
        """A zeroed `uint8` array of shape (size_bytes,), valid until `reset`."""
        self._alignment_bytes = max(self._alignment_bytes, alignment_bytes)
        start = self._used_bytes + -(address_of(self._block) + self._used_bytes) % alignment_bytes
        self._used_bytes = start + size_bytes
        if self._used_bytes > len(self._block):
            return allocate_zeroed(size_bytes, alignment_bytes)
        memory = self._block[start : self._used_bytes]
        memory.fill(0)
        return memory

    def reset(self) -> None:
        """Take all memory back."""
        if self._used_bytes > len(self._block):
            # Aligned for the most demanding array, so that the same call fits the next time.
            self._block = allocate_zeroed(self._used_bytes, self._alignment_bytes)
        self._used_bytes = 0


def _aligned(size_bytes: int) -> int:
    return size_bytes + -size_bytes % ALIGNMENT_BYTES
