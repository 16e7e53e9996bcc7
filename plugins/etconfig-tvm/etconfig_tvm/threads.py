"""The pool of threads that TVM keeps for each thread that runs models.

Measured with 0.27.0 on Linux:

- `runtime.config_threadpool` and `runtime.NumThreads` are about the calling thread's own pool.
- The size of a pool is fixed by the first call of that thread; later calls use at most as many threads.
- Mode 1 (big cores), TVM's own, moves the calling thread to one core. After that, a larger number is
  reported, and the workers still do nothing. Mode -3 with a list of cores does what it says, and can be
  taken back.
- Mode -2 pins the workers only if the list has a core for each thread of the pool, used or not, and it lets
  the calling thread run on all of them.

So this module uses mode -3, or -2 to pin, with the list filled up and the calling thread pinned here. It
makes each pool as large as the process allows first. A pool belongs to a thread, and an option to a session,
so `use_threads` is called before each run, in the thread that runs.
"""

from __future__ import annotations

import functools
import os
import threading
from typing import TYPE_CHECKING, TypeAlias

from etconfig.plugin.v1 import EffectiveOption
from etconfig_tvm.errors import ThreadPoolError

if TYPE_CHECKING:
    from etconfig_tvm.options import TvmOptions
    from etconfig_tvm.runtime import Runtime

_ONE_CORE_EACH = -2
_SHARE_CORES = -3
_BIND_VARIABLE = "TVM_BIND_THREADS"
_HOLDER = "the main thread of this process" if hasattr(os, "sched_getaffinity") else "this process"
"""Whose cores `usable_cores` are."""

_SET_LATER = "set by the next run, for the thread that runs"


_Wanted: TypeAlias = "tuple[int, tuple[int, ...] | None, bool]"
"""`num_threads`, `cores` and `pin_threads`."""


class PoolState(threading.local):
    """The latest settings of the calling thread's pool: TVM's own state is per thread, too.

    Attributes:
        options: The options that it came from, the same object.
        wanted: Their values.
    """

    options: TvmOptions | None = None
    wanted: _Wanted | None = None


@functools.cache
def usable_cores() -> tuple[int, ...]:
    """Return the numbers of the cores that this process could use when this was first called.

    On Linux, they are the cores of its main thread: only one if TVM or another library moved it there before.
    """
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(os.getpid())))
    return tuple(range(os.cpu_count() or 1))


def use_threads(runtime: Runtime, options: TvmOptions) -> None:
    """Give the calling thread's pool the threads and cores of `options`. Takes 0.1 us if it has them.

    Raises:
        ThreadPoolError: the pool cannot have as many threads, or a core is not there. What was set before by
            this function stays in force.
    """
    pool = runtime.pool
    if pool.options is options:  # the usual case, and faster than the comparison below
        return
    wanted = _wanted(options)
    if pool.wanted != wanted:
        _configure(runtime, *wanted)
        pool.wanted = wanted
    pool.options = options


def _wanted(options: TvmOptions) -> _Wanted:
    return options.num_threads, options.cores, options.pin_threads


def check_threads(options: TvmOptions) -> None:
    """Raise ThreadPoolError if no thread of this process can have the threads and cores of `options`."""
    _check_cores(options.num_threads, options.cores, usable_cores())


def threads_in_force(runtime: Runtime, options: TvmOptions) -> dict[str, EffectiveOption]:
    """Return the threads and cores of the calling thread's pool, as far as `options` sets them."""
    found = {
        name: EffectiveOption.assumed(getattr(options, name), _SET_LATER)
        for name in ("num_threads", "cores", "pin_threads")
    }
    latest, wanted = runtime.pool.wanted, _wanted(options)
    if latest == wanted:
        reported = "NumThreads of the calling thread's pool"
        found["num_threads"] = EffectiveOption.read_back(runtime.count_threads(), reported)
    if latest is not None and latest[1:] == wanted[1:] and hasattr(os, "sched_getaffinity"):
        found |= _affinity_in_force(options)
    return found


def threads_of_environment(runtime: Runtime) -> dict[str, EffectiveOption]:
    """Return the threads of the pool that TVM makes in a thread that `use_threads` has not set up."""
    usable = usable_cores()
    found = {"num_threads": EffectiveOption.read_back(runtime.count_threads(), "NumThreads of a new pool")}
    if hasattr(os, "sched_getaffinity") and len(usable) > 1:
        allowed = os.sched_getaffinity(0)
        own = f"the system lets the calling thread run on {_shown(tuple(sorted(allowed)))}"
        found["pin_threads"] = EffectiveOption.observed(allowed != {*usable}, own)
    return found


def _affinity_in_force(options: TvmOptions) -> dict[str, EffectiveOption]:
    """Return the cores that the system lets the calling thread use: one of several, if threads are pinned."""
    allowed = os.sched_getaffinity(0)
    own = f"the system lets the calling thread run on {_shown(tuple(sorted(allowed)))}"
    expected = options.cores or usable_cores()
    is_pinned = options.pin_threads and allowed == {expected[0]}
    if is_pinned or allowed == {*expected}:
        found: tuple[int, ...] | None = options.cores
    else:
        found = tuple(sorted(allowed))
    return {
        "cores": EffectiveOption.observed(found, own),
        "pin_threads": EffectiveOption.observed(is_pinned, own),
    }


def _configure(runtime: Runtime, count: int, cores: tuple[int, ...] | None, pin: bool) -> None:
    usable = usable_cores()
    _check_cores(count, cores, usable)
    if runtime.pool.wanted is None:
        runtime.configure_threads(_SHARE_CORES, len(usable), usable)
    _apply(runtime, count, cores, pin)
    reached = runtime.count_threads()
    if reached != count:
        if runtime.pool.wanted is not None:
            _apply(runtime, *runtime.pool.wanted)
        raise ThreadPoolError(
            problem=f"num_threads is {count}, but TVM made the pool of this thread with {reached} before",
            help="set the environment variable TVM_NUM_THREADS before the process starts, or run the model "
            f"in a thread that has not run TVM yet, or set num_threads to {reached}",
        )


def _apply(runtime: Runtime, count: int, cores: tuple[int, ...] | None, pin: bool) -> None:
    usable = usable_cores()
    if not pin or cores is None:
        runtime.configure_threads(_SHARE_CORES, count, cores or usable)
        return
    others = tuple(core for core in usable if core not in cores)
    runtime.configure_threads(_ONE_CORE_EACH, count, (*cores, *others))
    if hasattr(os, "sched_setaffinity") and os.environ.get(_BIND_VARIABLE, "1") == "1":
        os.sched_setaffinity(0, cores[:1])


def _check_cores(count: int, cores: tuple[int, ...] | None, usable: tuple[int, ...]) -> None:
    absent = [core for core in cores or () if core not in usable]
    if absent:
        raise ThreadPoolError(
            problem=f"cores names {absent[0]}, and {_HOLDER} may use the cores {_shown(usable)}",
            help="choose among those",
        )
    if count > len(usable):
        raise ThreadPoolError(
            problem=f"num_threads is {count}, and {_HOLDER} may use {len(usable)} "
            f"core{'' if len(usable) == 1 else 's'}: TVM would use fewer threads and report no error",
            help=f"set num_threads to {len(usable)} at most",
        )


def _shown(cores: tuple[int, ...]) -> str:
    return ", ".join(map(str, cores))
