"""`PluginRegistry`: plugins are loaded when they are needed, once, and a broken one fails alone."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from etconfig.backend import Backend
from etconfig.errors import PluginLoadError
from etconfig.method import Executor
from etconfig.plugin.backends import check_spec, make_backend
from etconfig.plugin.conformance import check_conformance
from etconfig.plugin.entry_points import EntryPoint
from etconfig.plugin.executors import check_executor
from etconfig.plugin.facts import check_facts
from etconfig.plugin.failure import PluginFailure, load_error
from etconfig.plugin.hookspecs import (
    ConformanceContribution,
    ExecutorContribution,
    FactsContribution,
    KernelsContribution,
)
from etconfig.plugin.index import PluginIndex
from etconfig.plugin.kernels import check_kernels
from etconfig.plugin.loader import (
    BACKEND_HOOK,
    CONFORMANCE_HOOK,
    EXECUTOR_HOOK,
    FACTS_HOOK,
    KERNELS_HOOK,
    AnswerT,
    Hook,
    load_plugin,
)
from etconfig.schema import BackendSpec

T = TypeVar("T")


def _load_checked(
    entry: EntryPoint, hook: Hook[AnswerT], check: Callable[[EntryPoint, AnswerT], AnswerT]
) -> AnswerT:
    return check(entry, load_plugin(entry, hook))


class _Once(Generic[T]):
    """Remembers the result of a call that is made once, or the error it ended with."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._result: T | None = None
        self.error: PluginLoadError | None = None

    def get(self, make: Callable[[], T]) -> T:
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

    def backend_spec(self, backend_id: str) -> BackendSpec:
        """What the backend declares; imports its plugin when it is asked for the first time.

        Raises:
            UnknownPluginError: no usable plugin declares the id.
            DuplicatePluginError: several do.
            PluginLoadError: the plugin is broken; asking again raises the same.
        """
        return self._spec(self.index.find(BACKEND_HOOK.group, backend_id))

    def create_backend(self, backend_id: str) -> Backend[Any, Any]:
        """A new backend that can run here.

        Raises:
            UnknownPluginError, DuplicatePluginError, PluginLoadError: as for `backend_spec`; also
                when the factory fails or makes something else than a backend.
            BackendUnavailableError: the backend cannot run here, or is schema-only.
        """
        entry = self.index.find(BACKEND_HOOK.group, backend_id)
        spec = self._spec(entry)
        self._later_failures.pop(entry, None)
        try:
            return make_backend(entry, spec)
        except PluginLoadError as error:
            self._later_failures[entry] = PluginFailure.of(error)
            raise

    def executor(self, name: str) -> Executor:
        """The executor called `name`.

        Raises:
            UnknownPluginError, DuplicatePluginError, PluginLoadError: as for `backend_spec`.
        """
        entry = self.index.find(EXECUTOR_HOOK.group, name)
        once: _Once[ExecutorContribution] = self._answers[entry]
        return once.get(lambda: check_executor(entry, load_plugin(entry, EXECUTOR_HOOK))).executor

    def conformance(self, backend_id: str) -> ConformanceContribution:
        """What the vendor of a backend gives the conformance kit.

        Raises:
            UnknownPluginError: the vendor gives nothing.
            DuplicatePluginError, PluginLoadError: as for `backend_spec`.
        """
        entry = self.index.find(CONFORMANCE_HOOK.group, backend_id)
        once: _Once[ConformanceContribution] = self._answers[entry]
        return once.get(lambda: check_conformance(entry, load_plugin(entry, CONFORMANCE_HOOK)))

    def facts(self) -> tuple[FactsContribution, ...]:
        """The facts of all usable plugins; broken ones are left out and listed in `failures`."""
        from etconfig.facts import BUILTIN_FACTS  # which those who need no facts do not pay for

        known, accepted = BUILTIN_FACTS, []
        for entry, contribution in self._all_answers(FACTS_HOOK, check_facts):
            try:
                known = known.extended(contribution.facts)
            except ValueError as error:
                cause, _, advice = str(error).partition("; ")
                refusal = load_error(entry, cause, advice or "declare each fact once")
                self._later_failures[entry] = PluginFailure.of(refusal)
            else:
                accepted.append(contribution)
        return tuple(accepted)

    def kernels(self, problem_of: Callable[[object], str | None]) -> tuple[KernelsContribution, ...]:
        """The kernels of all usable plugins; broken ones are left out and listed in `failures`.

        Args:
            problem_of: What is wrong with a plugin's table, if anything.
        """
        answers = self._all_answers(KERNELS_HOOK, lambda entry, each: check_kernels(entry, each, problem_of))
        return tuple(contribution for _, contribution in answers)

    def _spec(self, entry: EntryPoint) -> BackendSpec:
        once: _Once[BackendSpec] = self._answers[entry]
        return once.get(lambda: check_spec(entry, load_plugin(entry, BACKEND_HOOK)))

    def _all_answers(
        self, hook: Hook[AnswerT], check: Callable[[EntryPoint, AnswerT], AnswerT]
    ) -> list[tuple[EntryPoint, AnswerT]]:
        answers: list[tuple[EntryPoint, AnswerT]] = []
        for entry in self.index.entries(hook.group):
            once: _Once[AnswerT] = self._answers[entry]
            try:
                answers.append((entry, once.get(partial(_load_checked, entry, hook, check))))
            except PluginLoadError:
                continue  # `failures` lists it
        return answers
