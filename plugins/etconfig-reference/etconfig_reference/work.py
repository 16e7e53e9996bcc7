"""`Work`: scratch memory and workers of an operation, and how its work is cut into jobs."""

from __future__ import annotations

import contextlib
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from etconfig_reference.graph import Array, Shape

if TYPE_CHECKING:
    from etconfig.plugin.v1 import Allocator

T = TypeVar("T")
Form: TypeAlias = "tuple[Shape, np.dtype[Any]]"
"""The shape and type of an array."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits that decide how an operation cuts its work, and what memory that takes.

    Attributes:
        num_threads: The largest number of workers that run jobs at the same time.
        tile_bytes: The largest amount of data that one job processes. Tiles depend on nothing else,
            so results do not depend on the number of workers.
        accumulate: The type in which sums of float32 are accumulated.
    """

    num_threads: int
    tile_bytes: int
    accumulate: np.dtype[Any]

    def sum_dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return the type in which sums for results of `dtype` are accumulated."""
        return np.promote_types(self.accumulate, dtype)

    def cut_rows(self, rows: int, row_bytes: int) -> list[slice]:
        """Cut `rows` rows into tiles of at most `tile_bytes`, but at least one row."""
        tile_rows = max(1, min(rows, self.tile_bytes // max(1, row_bytes)))
        return [slice(start, min(start + tile_rows, rows)) for start in range(0, rows, tile_rows)]


@dataclass(frozen=True, kw_only=True)
class Work(Limits):
    """The resources that an operation may use while it runs.

    Attributes:
        temporary: Allocates memory that is freed after the call.
        parallel_for: `ExecuteContext.parallel_for`.
    """

    temporary: Allocator
    parallel_for: Callable[[int, Callable[[int], None], int], None]

    def new_arrays(self, forms: Iterable[Form]) -> list[Array]:
        """Return zeroed arrays in temporary memory."""
        return [
            np.ndarray(shape, dtype, self.temporary.allocate(math.prod(shape) * dtype.itemsize))
            for shape, dtype in forms
        ]

    def run_jobs(self, jobs: Sequence[T], body: Callable[[T], None]) -> None:
        """Run `body` on every job, on the workers of the instance."""

        def run_job(index: int) -> None:
            # numpy keeps these settings per thread, so each worker needs its own
            with np.errstate(all="ignore"):
                body(jobs[index])

        self.parallel_for(len(jobs), run_job, min(self.num_threads, len(jobs)))


class ScratchPool:
    """Buffers of equal size, at least one for each worker; each running job borrows one."""

    def __init__(self, buffers: Iterable[Array]) -> None:
        self._free = deque(buffers)  # its append and pop are atomic, so it needs no lock

    @contextlib.contextmanager
    def borrow(self) -> Iterator[Array]:
        """Lend a buffer with arbitrary contents for the duration of a `with` block."""
        buffer = self._free.pop()
        try:
            yield buffer
        finally:
            self._free.append(buffer)
