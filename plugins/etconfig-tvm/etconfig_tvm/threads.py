"""The pool of threads that TVM keeps for each thread that runs models.

Measured with 0.27.0 on Linux:

- `runtime.config_threadpool` and `runtime.NumThreads` are about the calling thread's own pool.
- The size of a pool is fixed by the first call of that thread; later calls use at most as many threads.
- Mode 1 (big cores), TVM's own, moves the calling thread to one core. After that, a larger number is
  reported, and the workers still do nothing. Mode -3 with a list of cores does what it says, and can be
  taken back.

So this module uses mode -3, or -2 to pin, and makes each pool as large as the process allows first.
"""

from __future__ import annotations

import functools
import os
import threading
from typing import TYPE_CHECKING

from etconfig_tvm.errors import ThreadPoolError

if TYPE_CHECKING:
    from etconfig_tvm.options import TvmOptions
    from etconfig_tvm.runtime import Runtime

_ONE_CORE_EACH = -2
_SHARE_CORES = -3


class _Latest(threading.local):
    """The latest configuration of the calling thread's pool: TVM's own state is per thread, too."""

    wanted: tuple[int, tuple[int, ...] | None, bool] | None = None


_latest = _Latest()


@functools.cache
def usable_cores() -> tuple[int, ...]:
    """Return the numbers of the cores that this process could use when this was first called."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(os.getpid())))
    return tuple(range(os.cpu_count() or 1))


def use_threads(runtime: Runtime, options: TvmOptions) -> None:
    """Give the calling thread's pool the threads and cores of `options`. Takes 1 us if it has them.

    Raises:
        ThreadPoolError: the pool cannot have as many threads, or a core is not there. What was set before by
            this function stays in force.
    """
    wanted = (options.num_threads, options.cores, options.pin_threads)
    if _latest.wanted != wanted:
        _configure(runtime, *wanted)
        _latest.wanted = wanted


def _configure(runtime: Runtime, count: int, cores: tuple[int, ...] | None, pin: bool) -> None:
    usable = usable_cores()
    _check_cores(count, cores, usable)
    if _latest.wanted is None:
        runtime.configure_threads(_SHARE_CORES, len(usable), usable)
    _apply(runtime, count, cores, pin)
    reached = runtime.count_threads()
    if reached != count:
        if _latest.wanted is not None:
            _apply(runtime, *_latest.wanted)
        raise ThreadPoolError(
            problem=f"num_threads is {count}, but TVM made the pool of this thread with {reached} before",
            help="set the environment variable TVM_NUM_THREADS before the process starts, or build the model "
            f"in a thread that has not run TVM yet, or set num_threads to {reached}",
        )


def _apply(runtime: Runtime, count: int, cores: tuple[int, ...] | None, pin: bool) -> None:
    runtime.configure_threads(_ONE_CORE_EACH if pin else _SHARE_CORES, count, cores or usable_cores())


def _check_cores(count: int, cores: tuple[int, ...] | None, usable: tuple[int, ...]) -> None:
    absent = [core for core in cores or () if core not in usable]
    if absent:
        raise ThreadPoolError(
            problem=f"cores names {absent[0]}, and this process may use the cores {_shown(usable)}",
            help="choose among those",
        )
    if count > len(usable):
        raise ThreadPoolError(
            problem=f"num_threads is {count}, and this process may use {len(usable)} cores: TVM would use "
            "fewer threads and report no error",
            help=f"set num_threads to {len(usable)} at most",
        )


def _shown(cores: tuple[int, ...]) -> str:
    return ", ".join(map(str, cores))
