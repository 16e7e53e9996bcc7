"""The options that the runtime's own backends use: read back, observed, or assumed for a reason."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping
from typing import Any

from etconfig.plugin.v1 import EffectiveOption
from etconfig_executorch.native import native
from etconfig_executorch.options import NUM_THREADS, SINGLE_THREADED, XNNPACK

_SHARING, _CACHE, _CACHE_PATH = "workspace_sharing_mode", "weight_cache_enabled", "packed_cache_path"
_SHARING_NAMES: Mapping[object, str] = {0: "disabled", 1: "per_model", 2: "global"}
"""Source: backends/xnnpack/runtime/XNNPACKBackend.h."""

_SENT = "passed to XNNPACK when the method was loaded; it reports only the default of the process"
_NO_KEY = "ExecuTorch's runtime has no key for it, so its own backend decides"
_NO_PATH = "XNNPACK takes a path only from the options of a method, and none was passed"
_NO_FILE = (
    "XNNPACK made no file {!r} when the method was loaded: is its directory there, and can it be written?"
)
_WITHOUT_POOL = "etconfig loaded the method without the thread pool"
_WITH_POOL = "etconfig loaded the method with a thread pool"


def effective_values(
    backend: str,
    options: Any,
    settled: Mapping[str, object],
    pool_threads: int,
    lacks_cache_file: bool = False,
) -> dict[str, EffectiveOption]:
    """Return the options of one of the runtime's own backends in a method, by name.

    Args:
        backend: The id of the backend.
        options: The typed options that the method was loaded with.
        settled: The options of the whole process that etconfig has set.
        pool_threads: The size of the method's own thread pool, as the pool reports it; 0 without one.
        lacks_cache_file: Whether XNNPACK made no file for packed weights when the method was loaded.
    """
    values = {
        name: EffectiveOption.assumed(value, "set for the whole process by etconfig")
        for name, value in settled.items()
    }
    if backend != XNNPACK:
        return {**_without_key(options), **values}
    return {**values, **_of_xnnpack(options, pool_threads, lacks_cache_file)}


def _without_key(options: Any) -> dict[str, EffectiveOption]:
    """Return the options that no runtime can pass on as unknown."""
    infos = options.option_infos().items()
    return {name: EffectiveOption.unknown(_NO_KEY) for name, info in infos if info.wire.key is None}


def lacks_cache_file(options: Any) -> bool:
    """Return whether the file for packed weights is missing after a method was loaded with these options."""
    path = getattr(options, _CACHE_PATH, None)
    return path is not None and not os.access(path, os.F_OK)


def _of_xnnpack(options: Any, pool_threads: int, lacks_file: bool) -> dict[str, EffectiveOption]:
    """Return the options of a method in XNNPACK."""
    defaults = dict(native.get_process_options(XNNPACK, [(_SHARING, -1), (_CACHE, False)]))
    defaults[_SHARING] = _SHARING_NAMES.get(defaults[_SHARING], defaults[_SHARING])
    values = {name: _sent_or_asked(options, name, default) for name, default in defaults.items()}
    path = getattr(options, _CACHE_PATH, None)
    values[_CACHE_PATH] = (
        EffectiveOption.observed(None, _NO_FILE.format(path))
        if lacks_file
        else EffectiveOption.assumed(path, _SENT if path else _NO_PATH)
    )
    is_single = bool(getattr(options, SINGLE_THREADED, False))
    values[SINGLE_THREADED] = EffectiveOption.assumed(is_single, _WITHOUT_POOL if is_single else _WITH_POOL)
    if is_single:
        values[NUM_THREADS] = EffectiveOption.assumed(1, _WITHOUT_POOL)
        return values
    pool = "the thread pool of this size" if pool_threads else "the thread pool of the process"
    values[NUM_THREADS] = EffectiveOption.read_back(
        pool_threads or native.process_thread_count(), f"{pool} reports its size"
    )
    return values


def _sent_or_asked(options: Any, name: str, default: object) -> EffectiveOption:
    value = getattr(options, name, None)
    if value is None:
        return EffectiveOption.read_back(default, "XNNPACK's default for the process")
    return EffectiveOption.assumed(value.value if isinstance(value, enum.Enum) else value, _SENT)
