"""`DelegateSet`: all delegates of one Method, and the options they run with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from etconfig.backend import Backend, BoundBackend, LibraryGuard, never_stop
from etconfig.errors import BackendUnavailableError, DelegateError
from etconfig.method import DelegateRun, NativeRun, OptionChanges
from etconfig.method.delegate import Delegate, DelegateEnvironment
from etconfig.method.stop import StopCheck
from etconfig.program import model

if TYPE_CHECKING:
    from etconfig.program.program import Program


class DelegateSet:
    """All delegates of one Method, and its threads. The Method admits one thread at a time.

    Every handle is destroyed exactly once, the last one first.

    Args:
        program: The program with the payloads.
        plan: The method's plan, which lists the delegates.
        backends: The backends that the method may delegate to, by id.
        environment: The environment that the delegates share.
    """

    def __init__(
        self,
        program: Program,
        plan: model.ExecutionPlan,
        backends: Mapping[str, BoundBackend],
        environment: DelegateEnvironment,
    ) -> None:
        self._program = program
        self._plan = plan
        self._bound = backends
        self._environment = environment
        self._options = {backend_id: bound.options for backend_id, bound in backends.items()}
        self._backends: dict[str, Backend[Any, Any]] = {}
        self._delegates: list[Delegate] = []
        self._guard: LibraryGuard | None = None
        self._stable: frozenset[int] = frozenset()

    def set_guard(self, guard: LibraryGuard) -> None:
        """Let libraries that delegates load from now on be called by way of a guard."""
        self._guard = guard

    def set_stable_arrays(self, delegates: Iterable[int]) -> None:
        """Name the delegates, by index, that always get the same arrays; before `init`."""
        self._stable = frozenset(delegates)

    def init_all(self) -> list[DelegateRun]:
        """Initialize every delegate of the method, in order. Raises as `init`."""
        # All backends first: compiling for one is wasted if another one cannot run here.
        for serialized in self._plan.delegates:
            self._backend(serialized.id)
        return [self.init(index) for index in range(len(self._plan.delegates))]

    def init(self, index: int) -> DelegateRun:
        """Initialize the method's delegate `index`, and return the function that runs it.

        Raises:
            BackendUnavailableError: its backend was not given, or cannot run here.
            DelegateError: the backend failed.
        """
        serialized = self._plan.delegates[index]
        backend = self._backend(serialized.id)
        bound = self._bound[serialized.id]
        delegate = Delegate(bound, backend, self._environment, index)
        self._delegates.append(delegate)  # before it has a handle, so that Ctrl-C cannot leak one
        delegate.init(serialized, self._program, self._guard, has_stable_arrays=index in self._stable)
        return delegate.run

    def native_run(self, index: int) -> NativeRun | None:
        """Return how to run an initialized delegate without Python; None if it needs Python."""
        (delegate,) = [each for each in self._delegates if each.index == index]
        call = delegate.native_call()
        if call is None:
            return None
        return NativeRun(
            function=call.function,
            handle=call.handle,
            call=call.call,
            log=call.log,
            failure=delegate.native_failure,
            service_failure=delegate.native_service_failure,
        )

    def set_resource(self, resource: object) -> None:
        """Set the `ExecuteContext.resource` that all backends see from now on."""
        for delegate in self._delegates:
            delegate.set_resource(resource)

    def set_stop(self, stop: StopCheck | None) -> None:
        """Let all backends see when the call must stop; None for calls that run to their end."""
        self._environment.workers.should_stop = never_stop if stop is None else stop.should_stop
        for delegate in self._delegates:
            delegate.set_stop(stop)

    def set_options(self, options: Mapping[str, Any]) -> None:
        """Set the `ExecuteContext.options` by backend id, without an `update` of the backends."""
        for delegate in self._delegates:
            delegate.set_options(options[delegate.backend_id])
        self._options = {**options}

    def update(self, changes: OptionChanges) -> None:
        """Update the delegates of the backends in `changes`: all of them, or none.

        All `update` calls come first, and the options in force change only after the last one, so
        that no `execute` ever sees the options of half an update.

        Raises:
            DelegateError: an `update` failed; the delegates before it were rolled back.
        """
        affected = [delegate for delegate in self._delegates if delegate.backend_id in changes]
        options = {**self._options, **{backend_id: options for backend_id, (options, _) in changes.items()}}
        updated: list[Delegate] = []
        try:
            for delegate in affected:
                new, names = changes[delegate.backend_id]
                delegate.update(new, self._options[delegate.backend_id], names)
                updated.append(delegate)
            for delegate in affected:
                delegate.set_options(options[delegate.backend_id])
            self._options = options
        except BaseException as error:
            # A delegate whose update failed keeps its old options. One that Ctrl-C interrupted may
            # have either, so it is rolled back, too.
            is_in_doubt = not isinstance(error, DelegateError)
            self._roll_back(affected[: len(updated) + is_in_doubt], changes, error)
            for delegate in affected:
                delegate.set_options(self._options[delegate.backend_id])
            raise

    def effective_options(self) -> dict[str, dict[str, object]]:
        """Return what the backends report to use, by backend id and option name.

        If delegates of one backend differ, the last one of the program counts.

        Raises:
            DelegateError: a backend failed to report.
        """
        effective: dict[str, dict[str, object]] = {}
        for delegate in self._delegates:
            effective.setdefault(delegate.backend_id, {}).update(delegate.effective_options())
        return effective

    def close(self) -> None:
        """Destroy the remaining handles and end the threads. After Ctrl-C, call it again to finish.

        Raises:
            DelegateError: some backends failed; every handle was destroyed or tried.
        """
        problems: list[DelegateError] = []
        while self._delegates:
            try:
                self._delegates[-1].destroy()
            except DelegateError as error:
                problems.append(error)
            self._delegates.pop()
        self._environment.workers.close()
        if problems:
            problems[0].cause = "; ".join([problems[0].cause, *map(str, problems[1:])])
            raise problems[0]

    def abandon(self, error: BaseException) -> None:
        """Close because of an error, and add to it what goes wrong meanwhile."""
        try:
            self.close()
        except DelegateError as problem:
            if isinstance(error, DelegateError):
                error.cause += f"; {problem}"

    def _backend(self, backend_id: str) -> Backend[Any, Any]:
        """Return a backend, created when it is first needed."""
        if backend_id not in self._bound:
            reason = f"method {self._plan.name!r} delegates to it, but it was not given"
            raise BackendUnavailableError(backend=backend_id, reason=reason)
        if backend_id not in self._backends:
            self._backends[backend_id] = self._bound[backend_id].create()
        return self._backends[backend_id]

    def _roll_back(self, updated: Sequence[Delegate], changes: OptionChanges, failure: BaseException) -> None:
        """Undo updates, the last one first, and add further problems to `failure` if it has a cause."""
        for delegate in reversed(updated):
            options, names = changes[delegate.backend_id]
            try:
                delegate.update(self._options[delegate.backend_id], options, names)
            except DelegateError as error:
                if isinstance(failure, DelegateError):
                    failure.cause += f"; going back to the old options failed too: {error.cause}"
