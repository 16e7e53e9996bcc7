"""`Work`: scratch memory and workers of an operation, and how its work is cut into jobs."""

from __future__ import annotations

import contextlib
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from etconfig_reference.graph import Array, Shape

if TYPE_CHECKING:
    from etconfig.plugin.v1 import Allocator

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Work:
    """The resources that an operation may use while it runs.

    Attributes:
        temporary: Allocates memory that is freed after the call.
        parallel_for: `ExecuteContext.parallel_for`.
        num_threads: The largest number of workers that run jobs at the same time.
        tile_bytes: The largest amount of data that one job processes. Tiles depend on nothing else,
            so results do not depend on the number of workers.
        accumulate: The type in which sums of float32 are accumulated.
    """

    temporary: Allocator
    parallel_for: Callable[[int, Callable[[int], None], int], None]
    num_threads: int
    tile_bytes: int
    accumulate: np.dtype[Any]

    def sum_dtype(self, out: Array) -> np.dtype[Any]:
        """Return the type in which sums for the result `out` are accumulated."""
        return np.promote_types(self.accumulate, out.dtype)

    def new_array(self, shape: Shape, dtype: np.dtype[Any]) -> Array:
        """Return a zeroed array in temporary memory."""
        memory = self.temporary.allocate(math.prod(shape) * dtype.itemsize)
        array: Array = np.ndarray(shape, dtype, memory)
        return array

    def cut_rows(self, rows: int, row_bytes: int) -> list[slice]:
        """Cut `rows` rows into tiles of at most `tile_bytes`, but at least one row."""
        tile_rows = max(1, min(rows, self.tile_bytes // max(1, row_bytes)))
        return [slice(start, min(start + tile_rows, rows)) for start in range(0, rows, tile_rows)]

    def run_jobs(self, jobs: Sequence[T], body: Callable[[T], None]) -> None:
        """Run `body` on every job, on the workers of the instance."""

        def run_job(index: int) -> None:
            # numpy keeps these settings per thread, so each worker needs its own
            with np.errstate(all="ignore"):
                body(jobs[index])

        self.parallel_for(len(jobs), run_job, min(self.num_threads, len(jobs)))


class ScratchPool:
    """Buffers of equal size; each running job borrows one."""

    def __init__(self, work: Work, jobs: int, shape: Shape, dtype: np.dtype[Any]) -> None:
        workers = min(work.num_threads, jobs)
        # append and pop of a deque are atomic, so it needs no lock
        self._free = deque(work.new_array(shape, dtype) for _ in range(workers))

    @contextlib.contextmanager
    def borrow(self) -> Iterator[Array]:
        """Lend a buffer with arbitrary contents for the duration of a `with` block."""
        buffer = self._free.pop()
        try:
            yield buffer
        finally:
            self._free.append(buffer)
