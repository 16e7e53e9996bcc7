"""`PluginRegistry`: plugins are loaded when they are needed, once, and a broken one fails alone."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any, Generic

from etconfig.backend import Backend
from etconfig.errors import PluginLoadError
from etconfig.plugin.backends import make_backend
from etconfig.plugin.contributions import BACKEND_HOOK
from etconfig.plugin.entry_points import EntryPoint
from etconfig.plugin.failure import PluginFailure
from etconfig.plugin.index import PluginIndex
from etconfig.plugin.loader import AnswerT, Hook, ResultT, load_plugin
from etconfig.schema import BackendSpec


class _Once(Generic[ResultT]):
    """Remembers the result of a call that is made once, or the error it ended with."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._result: ResultT | None = None
        self.error: PluginLoadError | None = None

    def get(self, make: Callable[[], ResultT]) -> ResultT:
        with self._lock:
            if self._result is None and self.error is None:
                try:
                    self._result = make()
                except PluginLoadError as error:
                    self.error = error
        if self._result is not None:
            return self._result
        assert self.error is not None
        # A new exception each time: threads must not share a traceback.
        raise copy.copy(self.error) from self.error.__cause__


class PluginRegistry:
    """The plugins of an index, loaded on demand. Threads may share it.

    Args:
        index: What is installed; it decides which plugins may be used.
    """

    def __init__(self, index: PluginIndex) -> None:
        self.index = index
        self._answers: dict[EntryPoint, _Once[Any]] = {entry: _Once() for entry in index.installed}
        self._later_failures: dict[EntryPoint, PluginFailure] = {}

    @property
    def failures(self) -> tuple[PluginFailure, ...]:
        """Everything that is broken, as far as it was looked at, each with its cause and fix."""
        errors = (once.error for once in self._answers.values())
        loading = tuple(PluginFailure.of(error) for error in errors if error is not None)
        return (*self.index.failures, *loading, *self._later_failures.values())

    def contribution(self, hook: Hook[AnswerT], name: str) -> AnswerT:
        """What the plugin called `name` answers to `hook`; imports it when it is asked for the first time.

        Args:
            hook: One of `etconfig.plugin.contributions`.
            name: The name of its entry point: of a backend, the id.

        Raises:
            UnknownPluginError: no usable plugin has the name.
            DuplicatePluginError: several have it.
            PluginLoadError: the plugin is broken; asking again raises the same.
        """
        return self._answer(self.index.find(hook.group, name), hook)

    def contributions(self, hook: Hook[AnswerT]) -> tuple[AnswerT, ...]:
        """What all usable plugins answer to `hook`; broken ones are left out and listed in `failures`."""
        accepted: list[AnswerT] = []
        for entry in self.index.entries(hook.group):
            try:
                answer = self._answer(entry, hook)
            except PluginLoadError:
                continue  # `failures` lists it
            try:
                if hook.check_beside is not None:
                    hook.check_beside(entry, answer, accepted)
            except PluginLoadError as error:
                self._later_failures[entry] = PluginFailure.of(error)
            else:
                accepted.append(answer)
        return tuple(accepted)

    def backend_spec(self, backend_id: str) -> BackendSpec:
        """What the backend declares. Raises as `contribution`."""
        return self.contribution(BACKEND_HOOK, backend_id)

    def create_backend(self, backend_id: str) -> Backend[Any, Any]:
        """A new backend that can run here.

        Raises:
            UnknownPluginError, DuplicatePluginError, PluginLoadError: as for `contribution`; also when the
                factory fails or makes something else than a backend.
            BackendUnavailableError: the backend cannot run here, or is schema-only.
        """
        entry = self.index.find(BACKEND_HOOK.group, backend_id)
        spec = self._answer(entry, BACKEND_HOOK)
        self._later_failures.pop(entry, None)
        try:
            return make_backend(entry, spec)
        except PluginLoadError as error:
            self._later_failures[entry] = PluginFailure.of(error)
            raise

    def _answer(self, entry: EntryPoint, hook: Hook[AnswerT]) -> AnswerT:
        once: _Once[AnswerT] = self._answers[entry]
        return once.get(lambda: load_plugin(entry, hook))
