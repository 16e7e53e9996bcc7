"""`Runtime`: the process-wide state of ExecuTorch.

A process has one registry of backends, and one value of each process-scope option.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from etconfig.plugin.v1 import Availability, Diagnostic, OptionError, ScalarType, Scope, WireOption
from etconfig_executorch.hosting import HostedBackends
from etconfig_executorch.libraries import Libraries
from etconfig_executorch.logs import receive
from etconfig_executorch.native import native
from etconfig_executorch.wheel_backends import ask_availability, load_wheel_backends

_PROBES: Mapping[type, tuple[Any, Any]] = {bool: (False, True), int: (-1, -2), str: ("", "?")}
"""Two values of each type to query with: a backend that leaves both unchanged did not answer."""

_MAKING = threading.Lock()


class Runtime:
    """The process's ExecuTorch runtime. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._settled: dict[tuple[str, str], object] = {}
        self._availability: dict[str, Availability] = {}
        self.hosted = HostedBackends()
        native.set_log_receiver(receive)
        load_wheel_backends()
        self.libraries = Libraries()
        native.set_numpy(np.empty, np.ndarray, [_dtype(number) for number in range(max(ScalarType) + 1)])

    def native_backends(self) -> Sequence[str]:
        """Return the ids of the runtime's own backends, in the order of its registry."""
        hosted = self.hosted.registered
        return [backend for backend in native.registered_backends() if backend not in hosted]

    def availability(self, backend: str) -> Availability:
        """Return whether one of the runtime's own backends can run here; its first answer counts."""
        with self._lock:
            if backend not in self._availability:
                self._availability[backend] = ask_availability(backend)
            return self._availability[backend]

    def settle(self, backend: str, wired: Sequence[WireOption]) -> None:
        """Apply a backend's process-scope options; later calls must use the same values.

        Raises:
            OptionError: a method was already loaded with other values, or the backend uses a value
                other than the requested one; the error lists every problem.
            RuntimeCallError: the backend refuses the options.
        """
        wanted = {each.name: each for each in wired if each.scope is Scope.PROCESS}
        values: dict[str, object] = {name: each.value for name, each in wanted.items()}
        with self._lock:
            problems = [
                _conflict(backend, name, self._settled[backend, name], value)
                for name, value in values.items()
                if self._settled.get((backend, name), value) != value
            ]
            if problems:
                raise OptionError(diagnostics=tuple(problems))
            new = {name for name in values if (backend, name) not in self._settled}
            self._set(backend, [wanted[name] for name in values if name in new and name in wanted])
            self._settled.update({(backend, name): values[name] for name in new})

    def in_force(self, backend: str) -> dict[str, object]:
        """Return the process-scope options in force for a backend, by option name."""
        with self._lock:
            return {name: value for (owner, name), value in self._settled.items() if owner == backend}

    def _set(self, backend: str, options: Sequence[WireOption]) -> None:
        if not options:
            return
        native.set_process_options(backend, [(each.key, each.value) for each in options])
        problems = [
            _not_taken(backend, each, answer)
            for each in options
            if (answer := _read_back(backend, each)) not in (None, each.value)
        ]
        if problems:
            raise OptionError(diagnostics=tuple(problems))


def the_runtime() -> Runtime:
    """Return the process's runtime. There is only one, like the registry, which is never emptied.

    Threads may call it at once: of two runtimes, one would not find the methods that the other one loads.
    """
    with _MAKING:
        return _make_runtime()


@functools.cache
def _make_runtime() -> Runtime:
    return Runtime()


def _read_back(backend: str, option: WireOption) -> object:
    """Return the value that the backend reports, or None if it leaves the query's value unchanged."""
    answers = [
        dict(native.get_process_options(backend, [(option.key, probe)]))[option.key]
        for probe in _PROBES[type(option.value)]
    ]
    return answers[0] if answers[0] == answers[1] else None


def _conflict(backend: str, name: str, settled: object, value: object) -> Diagnostic:
    return Diagnostic(
        code="process-scope-conflict",
        message=f"{backend}.{name} is {settled!r} for the whole process since a method was loaded with it; "
        f"it cannot become {value!r}",
        help=f"give {name} one value for all methods, or run them in processes of their own",
    )


def _not_taken(backend: str, option: WireOption, answer: object) -> Diagnostic:
    return Diagnostic(
        code="process-scope-conflict",
        message=f"{backend} was set to {option.name} = {option.value!r}, but uses {answer!r}",
        help="other code in this process may have set it: set it there, or not at all",
    )


def _dtype(number: int) -> np.dtype[Any] | None:
    """Return the numpy type for the number of a ScalarType, or None without one."""
    try:
        name = ScalarType(number).dtype_name
    except ValueError:
        return None
    scalar = getattr(np, name, None) or getattr(ml_dtypes, name, None)
    return None if scalar is None else np.dtype(scalar)
