"""`Delegate`: one use of a backend in a Method, from `init` to `destroy`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from etconfig.backend import (
    Backend,
    BoundBackend,
    ExecuteContext,
    InitContext,
    LibraryGuard,
    NativeCall,
    ResizeOutput,
    StopSignal,
    UpdateContext,
    Value,
    never_stop,
    resize_nothing,
)
from etconfig.base.compile_specs import CompileSpecs
from etconfig.base.interrupts import is_of_signal_handler
from etconfig.base.records import record
from etconfig.diagnostics.error_text import error_text
from etconfig.errors import DelegateError, DelegateInvalidCompatibilityError, InvalidPayloadError
from etconfig.kernel.memory import MethodAllocator, TemporaryAllocator
from etconfig.method.stop import StopCheck
from etconfig.method.worker_threads import Workers
from etconfig.program import model
from etconfig.tracing import NullTracer, Track

if TYPE_CHECKING:
    from etconfig.program.program import Program


@record(frozen=True, kw_only=True)
class DelegateEnvironment:
    """The environment that all delegates of one Method share.

    Threads, memory and track belong to this Method alone, so two instances never wait for each other.

    Attributes:
        method: The method's name.
        instance: The named instance, or None for the default one.
        named_data: The program's data by key.
        workers: The Method's threads.
        allocator: Memory that lives as long as the Method.
        tracer: Records the delegates' events.
    """

    method: str
    instance: str | None
    named_data: Mapping[str, memoryview]
    workers: Workers
    allocator: MethodAllocator
    tracer: Track | NullTracer


class Payload:
    """A delegate's bytes, as `Backend.init` receives them."""

    def __init__(self, data: memoryview) -> None:
        self._data: memoryview | None = data

    @property
    def data(self) -> memoryview:
        """The bytes, read-only.

        Raises:
            ValueError: the payload was freed.
        """
        if self._data is None:
            raise ValueError("the payload was freed")
        return self._data

    def free(self) -> None:
        """Drop the reference to the bytes; a second call changes nothing."""
        self._data = None


class KeptData(Mapping[str, memoryview]):
    """The data that one delegate looks up, valid as long as this object, since it may keep addresses alone.

    A view whose `release` was called, as `with` does, no longer keeps the data.
    """

    def __init__(self, data: Mapping[str, memoryview]) -> None:
        """Take the data."""
        self._source = data
        self._views: list[memoryview] = []

    def __getitem__(self, key: str) -> memoryview:
        view = self._source[key]
        self._views.append(view)
        return view

    def __contains__(self, key: object) -> bool:
        return key in self._source

    def __iter__(self) -> Iterator[str]:
        return iter(self._source)

    def __len__(self) -> int:
        return len(self._source)


@contextmanager
def blame(backend_id: str, method: str, phase: str) -> Iterator[None]:
    """Turn an exception of a backend into a DelegateError with that exception as its cause."""
    try:
        yield
    except Exception as error:
        if is_of_signal_handler(error):
            raise
        raise _failure(backend_id, method, phase, error) from error


def _failure(backend_id: str, method: str, phase: str, error: Exception) -> DelegateError:
    for kind in (DelegateInvalidCompatibilityError, InvalidPayloadError):
        if isinstance(error, kind):
            return kind(backend=backend_id, method=method, phase=phase, cause=error.cause, help=error.help)
    cause = error_text(error)
    return DelegateError(backend=backend_id, method=method, phase=phase, cause=cause)


class Delegate:
    """One delegate. Every method raises DelegateError if the backend fails."""

    def __init__(
        self, bound: BoundBackend, backend: Backend[Any, Any], environment: DelegateEnvironment, index: int
    ) -> None:
        """Prepare to serve the method's delegate `index`; call `init` first."""
        self.backend_id = bound.backend_id
        self._backend = backend
        self._is_live = False
        # both are kept until the Method is closed, as the contract says: a backend may keep addresses alone
        self._payload: Payload | None = None
        self._named_data = KeptData(environment.named_data)
        self._environment = environment
        self._temporary = TemporaryAllocator()
        self._context: ExecuteContext[Any] = ExecuteContext(
            options=bound.options,
            method_name=environment.method,
            instance_name=environment.instance,
            temporary=self._temporary,
            parallel_for=environment.workers.parallel_for,
            tracer=environment.tracer,
        )
        # The context is frozen for the backend, and changed here through its dictionary: a new
        # context for each call would cost as much as a small delegate.
        self._context_fields = vars(self._context)
        self._stop: StopCheck | None = None
        self.index = index
        self._native: NativeCall | None = None

    def init(
        self,
        serialized: model.BackendDelegate,
        program: Program,
        guard: LibraryGuard | None = None,
        *,
        has_stable_arrays: bool = False,
    ) -> None:
        """Call the backend's `init` on the payload of `serialized`, with the executor's guard, if any."""
        payload = self._payload = Payload(program.delegate_data(serialized))
        environment = self._environment
        context: InitContext[Any] = InitContext(
            options=self._context.options,
            method_name=environment.method,
            instance_name=environment.instance,
            delegate_index=self.index,
            named_data=self._named_data,
            allocator=environment.allocator,
            tracer=environment.tracer,
            compile_specs=CompileSpecs(serialized.compile_specs),
            guard=guard,
            has_stable_arrays=has_stable_arrays,
        )
        with self._blame("init"), environment.tracer.record(f"init {self.backend_id}", "phase"):
            self._handle = self._backend.init(context, payload, context.compile_specs)
            self._is_live = True

    def run(self, args: list[Value], resize_output: ResizeOutput = resize_nothing) -> None:
        """Call the backend's `execute` on inputs, then outputs."""
        self._context_fields["resize_output"] = resize_output
        try:  # not `_blame`: its context manager takes a microsecond at each call
            try:
                self._backend.execute(self._context, self._handle, args)
            finally:
                self._temporary.reset()
            if self._stop is not None and self._stop.was_seen:
                raise StopSignal
        except Exception as error:
            if is_of_signal_handler(error):
                raise
            if self._stop is not None and self._stop.was_seen:  # it ended early, as it may
                raise StopSignal from error
            raise _failure(self.backend_id, self._environment.method, "execute", error) from error

    def set_stop(self, stop: StopCheck | None) -> None:
        """Let the backend see when the call must stop; None for calls that run to their end."""
        self._stop = stop
        self._context_fields["should_stop"] = never_stop if stop is None else stop.should_stop

    def native_call(self) -> NativeCall | None:
        """Return how to run the delegate without Python, until it is destroyed; None if it needs Python."""
        if self._environment.tracer.is_enabled:
            return None  # its events are recorded in Python
        with self._blame("init"):
            self._native = self._backend.native_call(self._handle)
        self._refresh_native()
        return self._native

    def native_failure(self, status: int, text: str) -> DelegateError:
        """Return the error for a run without Python that returned a status and a text."""
        assert self._native is not None
        cause = self._native.failure(status, text)
        error = _failure(self.backend_id, self._environment.method, "execute", cause)
        error.__cause__ = cause
        return error

    def native_service_failure(self, error: BaseException, status: int) -> BaseException | None:
        """Return the exception to raise for one that came up in a service during a run without Python.

        Args:
            error: The exception.
            status: The status that the run returned nevertheless; 0 if the run succeeded, or need not.

        Returns:
            An exception of the caller, such as KeyboardInterrupt, itself; another one as the cause of a
            DelegateError; None if the run succeeded in spite of it.
        """
        if not isinstance(error, Exception) or is_of_signal_handler(error):
            return error
        if status == 0:
            return None
        failure = _failure(self.backend_id, self._environment.method, "execute", error)
        failure.__cause__ = error
        return failure

    def _refresh_native(self) -> None:
        if self._native is not None:
            self._native.refresh(self._context)

    def set_resource(self, resource: object) -> None:
        """Set the `ExecuteContext.resource` that the backend sees from now on."""
        self._context_fields["resource"] = resource
        self._refresh_native()

    def set_options(self, options: object) -> None:
        """Set the `ExecuteContext.options` that the backend sees from now on."""
        self._context_fields["options"] = options
        self._refresh_native()

    def update(self, options: object, previous: object, changed: frozenset[str]) -> None:
        """Call the backend's `update`; the options of the context do not change yet."""
        context = UpdateContext(
            options=options,
            previous=previous,
            method_name=self._environment.method,
            instance_name=self._environment.instance,
        )
        with self._blame("update"):
            self._backend.update(context, self._handle, changed)

    def effective_options(self) -> Mapping[str, object]:
        """Return the options that the backend reports for this delegate."""
        with self._blame("effective_options"):
            return dict(self._backend.effective_options(self._handle))

    def destroy(self) -> None:
        """Call the backend's `destroy` if there is a live handle."""
        if not self._is_live:
            return
        # Marked first: `destroy` must run at most once, even if Ctrl-C comes while it runs. Without
        # `_blame` there is no call between the two lines, at which Ctrl-C could come in.
        try:
            self._is_live = False
            self._backend.destroy(self._handle)
        except Exception as error:
            if is_of_signal_handler(error):
                raise
            raise _failure(self.backend_id, self._environment.method, "destroy", error) from error

    def _blame(self, phase: str) -> AbstractContextManager[None]:
        return blame(self.backend_id, self._environment.method, phase)
