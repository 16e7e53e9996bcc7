"""etconfig backends inside ExecuTorch's own registry.

The registry keeps backends by name for the life of the process, and passes them only options that
are bool, int or text. So each load gets a number, which is passed under a key of ours: the trampoline
that the registry calls looks the load up by it, with its typed options and everything else.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from etconfig.plugin.v1 import BackendUnavailableError, DelegateHost, DelegateRun, NativeRun
from etconfig_executorch.native import native

LOADING_KEY = "etconfig.loading"
"""The option key of the number."""


class Loading:
    """One method that is being loaded.

    Args:
        number: Its number.
        delegates: The backend id of each of the method's delegates, in order.
        host: Initializes them.
    """

    def __init__(self, number: int, delegates: Sequence[str], host: DelegateHost) -> None:
        self.number = number
        self._host = host
        # The runtime passes the id of a backend, not the index of a delegate. It initializes delegates in
        # the order of the program, so a queue for each id gives the index.
        self._waiting: dict[str, deque[int]] = {backend: deque() for backend in delegates}
        for index, backend in enumerate(delegates):
            self._waiting[backend].append(index)

    def init(self, backend: str) -> DelegateRun | NativeRun:
        """Initialize the next delegate of a backend; the runtime calls this in the order of the program.

        Returns:
            The function that executes it, or how to execute it without Python.
        """
        index = self._waiting[backend].popleft()
        run = self._host.init(index)
        return self._host.native_run(index) or run


class HostedBackends:
    """The etconfig backends that are registered with the runtime. Threads may share it.

    Attributes:
        registered: Their ids.
    """

    def __init__(self) -> None:
        self.registered: set[str] = set()
        self._loadings: dict[int, Loading] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def register(self, backends: Iterable[str]) -> None:
        """Make the runtime call etconfig for these backends.

        Raises:
            RuntimeCallError: the registry is full.
        """
        with self._lock:
            for backend in backends:
                if backend not in self.registered:
                    native.register_python_backend(backend, _Trampoline(backend, self._loadings))
                    self.registered.add(backend)

    @contextmanager
    def loading(self, delegates: Sequence[str], host: DelegateHost) -> Iterator[Loading]:
        """Let the runtime find the load by its number while the context is active."""
        loading = Loading(next(self._numbers), delegates, host)
        self._loadings[loading.number] = loading  # without the lock: no two threads share a number
        try:
            yield loading
        finally:
            del self._loadings[loading.number]


class _Trampoline:
    """The functions that the registry calls for one backend."""

    def __init__(self, backend: str, loadings: dict[int, Loading]) -> None:
        self._backend = backend
        self._loadings = loadings

    def is_available(self) -> bool:
        """Return True: etconfig itself checks the availability, and can report the reason."""
        return True

    def init(self, options: list[tuple[str, bool | int | str]]) -> DelegateRun | NativeRun:
        """Initialize a delegate from etconfig's verified data, not from what the runtime has read again."""
        number: Any = dict(options).get(LOADING_KEY)
        if number not in self._loadings:
            raise BackendUnavailableError(
                backend=self._backend,
                reason="it gets its options from etconfig, but this method was loaded without them",
                help="load the program with etconfig.load_program(..., executor='executorch')",
            )
        return self._loadings[number].init(self._backend)
