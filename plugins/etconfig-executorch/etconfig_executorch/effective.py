"""The options that the runtime's own backends use: read back, observed, or assumed for a reason."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
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
_MAPPED = "the process maps the file"
_NOT_MAPPED = "the process does not map {!r}, so XNNPACK keeps packed weights in memory"
_DEFAULT = "XNNPACK's default for the process when the method was loaded"
_MAPS = Path("/proc/self/maps")
_WITHOUT_POOL = "etconfig loaded the method without the thread pool"
_WITH_POOL = "etconfig loaded the method with a thread pool"


@dataclass(frozen=True)
class XnnpackState:
    """The state of XNNPACK when a method was loaded.

    Attributes:
        defaults: The defaults of the process for options that were not passed, by name.
        is_mapped: Whether the process maps the file for packed weights; False without one.
    """

    defaults: Mapping[str, object]
    is_mapped: bool

    @classmethod
    def seen(cls, options: Any) -> XnnpackState:
        """Return the state after a method was loaded with these options."""
        defaults = dict(native.get_process_options(XNNPACK, [(_SHARING, -1), (_CACHE, False)]))
        defaults[_SHARING] = _SHARING_NAMES.get(defaults[_SHARING], defaults[_SHARING])
        path = getattr(options, _CACHE_PATH, None)
        return cls(defaults, path is not None and _is_mapped(path))


def effective_values(
    backend: str,
    options: Any,
    settled: Mapping[str, object],
    pool_threads: int,
    xnnpack: XnnpackState | None = None,
) -> dict[str, EffectiveOption]:
    """Return the options of one of the runtime's own backends in a method, by name.

    Args:
        backend: The id of the backend.
        options: The typed options that the method was loaded with.
        settled: The options of the whole process that etconfig has set.
        pool_threads: The size of the method's own thread pool, as the pool reports it; 0 without one.
        xnnpack: What was seen of XNNPACK when the method was loaded, if it uses that.
    """
    values = {
        name: EffectiveOption.assumed(value, "set for the whole process by etconfig")
        for name, value in settled.items()
    }
    if xnnpack is None:
        return {**_without_key(options), **values}
    return {**values, **_of_xnnpack(options, pool_threads, xnnpack)}


def _without_key(options: Any) -> dict[str, EffectiveOption]:
    """Return the options that no runtime can pass on as unknown."""
    infos = options.option_infos().items()
    return {name: EffectiveOption.unknown(_NO_KEY) for name, info in infos if info.wire.key is None}


def _is_mapped(path: str) -> bool:
    """Return whether the process maps a file."""
    try:
        found = Path(path).stat()
    except OSError:
        return False
    device, inode = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}", str(found.st_ino)
    real = os.path.realpath(path)  # some file systems show other numbers
    lines = (line.split(maxsplit=5) for line in _MAPS.read_text(errors="replace").splitlines())
    return any(line[3:5] == [device, inode] or line[5:] == [real] for line in lines)


def _of_xnnpack(options: Any, pool_threads: int, xnnpack: XnnpackState) -> dict[str, EffectiveOption]:
    """Return the options of a method in XNNPACK."""
    values = {name: _sent_or_default(options, name, value) for name, value in xnnpack.defaults.items()}
    path = getattr(options, _CACHE_PATH, None)
    if path is None:
        values[_CACHE_PATH] = EffectiveOption.assumed(None, _NO_PATH)
    elif xnnpack.is_mapped:
        values[_CACHE_PATH] = EffectiveOption.observed(path, _MAPPED)
    else:
        values[_CACHE_PATH] = EffectiveOption.observed(None, _NOT_MAPPED.format(path))
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


def _sent_or_default(options: Any, name: str, default: object) -> EffectiveOption:
    value = getattr(options, name, None)
    if value is None:
        return EffectiveOption.assumed(default, _DEFAULT)
    return EffectiveOption.assumed(value.value if isinstance(value, enum.Enum) else value, _SENT)
