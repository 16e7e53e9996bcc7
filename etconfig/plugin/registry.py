"""`PluginRegistry`: loads each plugin once, when it is needed, and keeps broken ones apart."""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic

from etconfig.backend import Backend
from etconfig.errors import DuplicatePluginError, PluginLoadError, UnknownPluginError
from etconfig.plugin.backends import check_spec, make_backend
from etconfig.plugin.contributions import BACKEND_HOOK
from etconfig.plugin.entry_points import BACKENDS, CONFORMANCE, EXECUTORS, FACTS, KERNELS, EntryPoint
from etconfig.plugin.failure import PluginFailure, load_error
from etconfig.plugin.index import PluginIndex
from etconfig.plugin.loader import IMPORT_LIMIT_S, AnswerT, Hook, ResultT, import_error, load_plugin
from etconfig.plugin.trial import ends_of_imports
from etconfig.schema.spec import BackendSpec

if TYPE_CHECKING:
    from etconfig.plugin.code_backends import GivenBackends


class _Once(Generic[ResultT]):
    """The result of a call that is made only once, or the error that it raised."""

    def __init__(self, result: ResultT | None = None) -> None:
        self._lock = threading.Lock()
        self._result = result
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
        # Raise a new exception each time, since threads must not share a traceback.
        raise copy.copy(self.error) from self.error.__cause__


class PluginRegistry:
    """The plugins of an index, loaded on demand. Threads may share it.

    Args:
        index: The installed plugins; its policy decides which may be used.
        check_backend: A further check of each backend's spec, which raises PluginLoadError.
    """

    def __init__(
        self, index: PluginIndex, check_backend: Callable[[EntryPoint, BackendSpec], None] | None = None
    ) -> None:
        self.index = index
        self._check_backend = check_backend
        self._answers: dict[EntryPoint, _Once[Any]] = {entry: _Once() for entry in index.installed}
        self._later_failures: dict[EntryPoint, PluginFailure] = {}

    def with_backends(self, given: GivenBackends) -> PluginRegistry:
        """Return a registry that has these backends, too; it shares the plugins that are loaded.

        Raises:
            PluginLoadError: the core cannot use one of them.
            TypeError, ValueError: as for `specs_of_given`.
        """
        from etconfig.plugin.code_backends import specs_of_given  # needs pydantic, which facts do not

        specs = specs_of_given(given, self._installed_spec)
        for entry, spec in specs.items():
            check_spec(entry, spec)
            if self._check_backend is not None:
                self._check_backend(entry, spec)
        names = {entry.name for entry in specs}
        others = (entry for entry in self.index.given if entry.name not in names)
        registry = PluginRegistry(replace(self.index, given=(*others, *specs)), self._check_backend)
        registry._answers = {**self._answers, **{entry: _Once(spec) for entry, spec in specs.items()}}
        return registry

    def on_index(self, index: PluginIndex) -> PluginRegistry:
        """Return a registry of another index; it has this registry's plugins given in code."""
        registry = PluginRegistry(index, self._check_backend)
        registry._answers.update({entry: self._answers[entry] for entry in index.given})
        return registry

    def try_imports(self) -> None:
        """Import all plugins in another process; plugins that end or hang it are broken, not imported here.

        Plugins of facts that declare none are tried so whenever they are needed.
        """
        groups = (BACKENDS, EXECUTORS, KERNELS, CONFORMANCE)
        modules = dict.fromkeys(entry.module for group in groups for entry in self.index.entries(group))
        ends = ends_of_imports([each for each in modules if each not in sys.modules], IMPORT_LIMIT_S)
        for entry in self.index.installed:
            if entry.module in ends:
                self._answers[entry].error = import_error(entry, ends[entry.module])

    @property
    def failures(self) -> tuple[PluginFailure, ...]:
        """The plugins found broken so far, each with its cause and fix."""
        errors = (once.error for once in self._answers.values())
        loading = tuple(PluginFailure.of(error) for error in errors if error is not None)
        return (
            *self.index.failures,
            *self.index.declarations.failures,
            *loading,
            *self._later_failures.values(),
        )

    def contribution(self, hook: Hook[AnswerT], name: str) -> AnswerT:
        """Return the answer of the plugin called `name` to `hook`; the first call imports the plugin.

        Args:
            hook: One of the hooks in `etconfig.plugin.contributions`, but `BACKEND_HOOK`: see `backend_spec`.
            name: The name of the plugin's entry point.

        Raises:
            UnknownPluginError: no usable plugin has the name.
            DuplicatePluginError: several have it.
            PluginLoadError: the plugin is broken; further calls raise the same error.
        """
        return self._answer(self.index.find(hook.group, name), hook)

    def contributions(self, hook: Hook[AnswerT]) -> tuple[AnswerT, ...]:
        """Return the answers of all usable plugins to `hook`; broken plugins are listed in `failures`."""
        return tuple(self.contributions_by_entry(hook).values())

    def contributions_by_entry(
        self,
        hook: Hook[AnswerT],
        entries: Iterable[EntryPoint] | None = None,
        beside: Sequence[AnswerT] = (),
        check: Callable[[EntryPoint, AnswerT], None] | None = None,
    ) -> dict[EntryPoint, AnswerT]:
        """Return the same answers, each with the entry point that it comes from.

        Args:
            hook: As for `contributions`.
            entries: The plugins; by default all usable ones.
            beside: Answers of other plugins, which these must not conflict with.
            check: A further check of each answer, which raises PluginLoadError.
        """
        accepted: dict[EntryPoint, AnswerT] = {}
        for entry in self.index.entries(hook.group) if entries is None else entries:
            try:
                answer = self._answer(entry, hook)
            except PluginLoadError:
                continue  # listed in `failures`
            try:
                if check is not None:
                    check(entry, answer)
                if hook.check_beside is not None:
                    hook.check_beside(entry, answer, [*beside, *accepted.values()])
            except PluginLoadError as error:
                self._later_failures[entry] = PluginFailure.of(error)
            else:
                accepted[entry] = answer
        return accepted

    def backend_entry(self, backend_id: str) -> EntryPoint:
        """Return the entry point that declares a backend.

        If several do, and the policy prefers none of them, a plugin with an implementation wins over plugins
        that only declare options. They are imported, unless their distributions say which they are.

        Raises:
            UnknownPluginError: no usable plugin declares it.
            DuplicatePluginError: several do, and none of them wins.
        """
        try:
            return self.index.find(BACKEND_HOOK.group, backend_id)
        except DuplicatePluginError:
            winner = self._only_implementation(self.index.candidates(BACKEND_HOOK.group, backend_id))
            if winner is None:
                raise
            return winner

    def _only_implementation(self, entries: Sequence[EntryPoint]) -> EntryPoint | None:
        """Return the one entry with an implementation; None if there is none or several, or one is broken."""
        try:
            complete = [entry for entry in entries if self._has_implementation(entry)]
        except PluginLoadError:
            return None  # listed in `failures`; it may have an implementation
        return complete[0] if len(complete) == 1 else None

    def only_declares(self, entry: EntryPoint) -> bool:
        """Return True if the plugin of an entry point only declares the options of its backend.

        A plugin that cannot be loaded might have an implementation.
        """
        try:
            return not self._has_implementation(entry)
        except PluginLoadError:
            return False  # listed in `failures`

    def _has_implementation(self, entry: EntryPoint) -> bool:
        declared = self.index.declarations.has_implementation(entry)
        return self._answer(entry, BACKEND_HOOK).has_implementation if declared is None else declared

    def backend_spec(self, backend_id: str) -> BackendSpec:
        """Return the declaration of a backend. Raises the same errors as `contribution`."""
        return self._answer(self.backend_entry(backend_id), BACKEND_HOOK)

    def create_backend(self, backend_id: str) -> Backend[Any, Any]:
        """Return a new backend that can run on this device.

        Raises:
            UnknownPluginError, DuplicatePluginError, PluginLoadError: as for `contribution`, or the factory
                fails or does not return a backend.
            BackendUnavailableError: the backend cannot run here, or has only a schema.
        """
        entry = self.backend_entry(backend_id)
        spec = self._answer(entry, BACKEND_HOOK)
        self._later_failures.pop(entry, None)
        try:
            return make_backend(entry, spec)
        except PluginLoadError as error:
            self._later_failures[entry] = PluginFailure.of(error)
            raise

    def _installed_spec(self, backend_id: str) -> BackendSpec | None:
        try:
            return self.backend_spec(backend_id)
        except UnknownPluginError:
            return None

    def _answer(self, entry: EntryPoint, hook: Hook[AnswerT]) -> AnswerT:
        once: _Once[AnswerT] = self._answers[entry]
        return once.get(partial(self._load, entry, hook))

    def _load(self, entry: EntryPoint, hook: Hook[AnswerT]) -> AnswerT:
        is_needed = entry.group == FACTS and self.index.declarations.facts(entry) is not None
        answer = load_plugin(entry, hook, is_needed=is_needed)
        if not isinstance(answer, BackendSpec):
            return answer
        declared = self.index.declarations.has_implementation(entry)
        if declared is not None and declared != answer.has_implementation:
            found = "one" if answer.has_implementation else "none"
            cause = f"etconfig.declared says has_implementation: {str(declared).lower()}, but it has {found}"
            raise load_error(entry, cause, "correct the file that etconfig.declared names")
        if self._check_backend is not None:
            self._check_backend(entry, answer)
        return answer
