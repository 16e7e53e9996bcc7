"""etconfig backends inside ExecuTorch's own registry.

The registry knows backends by name, for ever, and hands them options that are bool, int or
text. So what belongs to one loading travels by a number under a key of ours: the trampoline
that the registry calls finds the loading by it, with its typed options and everything else.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from etconfig.plugin.v1 import BackendUnavailableError, DelegateHost, DelegateRun
from etconfig_executorch.native import native

LOADING_KEY = "etconfig.loading"
"""The key of the number."""


class Loading:
    """One method that is being loaded.

    Args:
        number: Its number.
        delegates: The backend id of each of the method's delegates, in order.
        host: Initialises them.
    """

    def __init__(self, number: int, delegates: Sequence[str], host: DelegateHost) -> None:
        self.number = number
        self._host = host
        self._waiting: dict[str, deque[int]] = {backend: deque() for backend in delegates}
        for index, backend in enumerate(delegates):
            self._waiting[backend].append(index)

    def init(self, backend: str) -> DelegateRun:
        """Initialise the next delegate of a backend: the runtime takes them in the order of the program.

        Returns:
            What runs it.
        """
        return self._host.init(self._waiting[backend].popleft())


class HostedBackends:
    """The etconfig backends that were registered with the runtime. Threads may share it.

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
        """While it is entered, the runtime finds the loading by its number."""
        loading = Loading(next(self._numbers), delegates, host)
        self._loadings[loading.number] = loading
        try:
            yield loading
        finally:
            del self._loadings[loading.number]


class _Trampoline:
    """What the registry calls for one backend."""

    def __init__(self, backend: str, loadings: dict[int, Loading]) -> None:
        self._backend = backend
        self._loadings = loadings

    def is_available(self) -> bool:
        """Whether the backend can run here is asked by etconfig, which can say why not."""
        return True

    def init(self, options: list[tuple[str, bool | int | str]]) -> DelegateRun:
        """Initialise a delegate, from what etconfig verified and not from what the runtime read again."""
        number: Any = dict(options).get(LOADING_KEY)
        if number not in self._loadings:
            raise BackendUnavailableError(
                backend=self._backend,
                reason="it gets its options from etconfig, and this method was loaded without them",
                help="load the program with etconfig.load_program(..., executor='executorch')",
            )
        return self._loadings[number].init(self._backend)
