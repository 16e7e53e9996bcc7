"""The contract of an executor: the classes it implements and the requests that it receives.

Authors import this as `etconfig.plugin.v1`. etconfig opens and verifies a program, resolves its
arguments, and guards every Method: one thread at a time, validated updates, closed once. An
executor only loads and runs.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from etconfig.backend import Availability, BoundBackend, LibraryGuard, ResizeOutput, Value, resize_nothing
from etconfig.base.effective import EffectiveOption
from etconfig.base.records import record

if TYPE_CHECKING:
    from etconfig.method.outputs import OutputArray
    from etconfig.method.stop import StopCheck
    from etconfig.program.program import Program

OptionChanges: TypeAlias = Mapping[str, tuple[Any, frozenset[str]]]
"""By backend id: the new options, and the names of the changed ones."""


class DelegateRun(Protocol):
    """Runs a delegate on its inputs, then outputs."""

    def __call__(self, args: list[Value], resize_output: ResizeOutput = resize_nothing) -> None:
        """Run it.

        Args:
            args: Inputs, then outputs.
            resize_output: Resizes an output and puts its new array into `args`. An executor that
                cannot resize outputs omits it.

        Raises:
            DelegateError: the backend failed.
        """


@record(frozen=True, kw_only=True)
class ProgramRequest:
    """A request to open a program.

    Attributes:
        program: The verified program. An executor with a reader of its own takes the bytes from
            `program.whole()` and `program.data_files`, since these were verified:
            the file may have changed meanwhile.
        options: The executor's own options, of the class that it declares; None if it declares none.
    """

    program: Program
    options: Any = None


def failure_of_service(error: BaseException, status: int) -> BaseException | None:
    """Return the exception itself, or None if it is an error and the run succeeded in spite of it."""
    return error if status != 0 or not isinstance(error, Exception) else None


@record(frozen=True, kw_only=True)
class NativeRun:
    """A delegate that an executor in C++ runs without Python, with the structs of `<etconfig/backend.h>`.

    Valid until the delegates are destroyed. The executor provides the services and the arguments.

    Attributes:
        function: The address of the function `run`.
        handle: The resource handle.
        call: The address of an EtconfigRun with the options and the resource in force, which may change
            between two executes.
        log: Logs a line of the library, given a level and the address of a text.
        failure: Returns the exception to raise for a status and a text of `function`.
        service_failure: Returns the exception to raise after a run for one that came up in a service of the
            executor, such as a line that cannot be logged; given that and the status of the run. None for
            nothing to raise.
    """

    function: int
    handle: int
    call: int
    log: Callable[[int, int], None]
    failure: Callable[[int, str], Exception]
    service_failure: Callable[[BaseException, int], BaseException | None] = failure_of_service


class DelegateHost(Protocol):
    """The delegates of a method that etconfig's own backends serve, and their worker threads."""

    def init(self, index: int) -> DelegateRun:
        """Initialize the method's delegate of this index, and return the function that runs it.

        Raises:
            BackendUnavailableError: its backend is not installed, or cannot run here.
            DelegateError: the backend failed. The returned function raises it, too.
        """

    def native_run(self, index: int) -> NativeRun | None:
        """Return how to run an initialized delegate without Python; None if it needs Python."""

    def set_guard(self, guard: LibraryGuard) -> None:
        """Let libraries with the C interface be called by way of a guard; before `init`."""

    def set_stable_arrays(self, delegates: Iterable[int]) -> None:
        """Name the delegates, by index, that always get the same arrays; before `init`.

        Their backends find `InitContext.has_stable_arrays`.
        """

    def init_all(self) -> list[DelegateRun]:
        """Initialize every delegate in order, or none if the backend of one cannot run here."""

    def set_resource(self, resource: object) -> None:
        """Set the `ExecuteContext.resource` that all backends see from now on."""

    def set_stop(self, stop: StopCheck | None) -> None:
        """Let all backends see when the call must stop; None for calls that run to their end."""

    def set_options(self, options: Mapping[str, Any]) -> None:
        """Set the options that all backends see from now on, by backend id, without updating them."""

    def update(self, changes: OptionChanges) -> None:
        """Give changed options to all delegates, or to none. Raises DelegateError."""

    def effective_options(self) -> Mapping[str, Mapping[str, object]]:
        """Return what the backends report to use, by backend id and option name. Raises DelegateError.

        A value may be an `EffectiveOption`, which states how the backend knows it.
        """

    def close(self) -> None:
        """Destroy all delegates, the last one first, and end the threads. Raises DelegateError."""

    def abandon(self, error: BaseException) -> None:
        """Close after loading failed with `error`, and add to it what goes wrong meanwhile."""


@record(frozen=True, kw_only=True)
class MethodRequest:
    """A request to load a method.

    Attributes:
        name: The method's name.
        instance: The named instance, or None for the default one.
        backends: The backends that the method delegates to, by id.
        check_inputs: Turns the caller's inputs into a list of numpy arrays (of any strides) and numbers
            that fit the method. Raises InvalidInputError, which names the input, the expected and the
            given value.
        host: Serves delegates through etconfig's own backends, for executors that cannot do so
            themselves. The executor closes it in `release`, and abandons it if loading fails.
        tracer: The `Track` of `etconfig.tracing` to record events with, or None. An executor that records
            none ignores it.
        optimize: True if the executor may omit work that changes no output beyond rounding.
        memory: The arenas in which to place planned tensors: for each planned buffer of the method, from
            memory 1 on, a writable numpy array of as many bytes, or None where the executor allocates.
            Empty: the executor allocates all of them. Their contents are the state so far; loading
            changes nothing but the initial values that the program stores.
        written_inputs: The positions of inputs without planned memory that instructions may write to: an
            executor that uses the caller's memory for such inputs must copy these.
    """

    name: str
    instance: str | None
    backends: Mapping[str, BoundBackend]
    check_inputs: Callable[[Sequence[object]], list[Any]]
    host: DelegateHost
    tracer: Any = None
    optimize: bool = True
    memory: Sequence[Any] = ()
    written_inputs: frozenset[int] = frozenset()


@record(frozen=True, kw_only=True)
class ExecuteRequest:
    """A request to run a method, with what applies to this call alone.

    Attributes:
        inputs: The inputs, as for `RunnableMethod.execute`.
        resource: Passed to every backend as `ExecuteContext.resource`.
        outputs: The caller's arrays, or None for outputs that the executor makes. None for all of them.
        stop: Says between two instructions if the run must end, which then raises `stop.error(...)`. None
            for a run to its end.
    """

    inputs: Sequence[object]
    resource: object = None
    outputs: Sequence[OutputArray | None] | None = None
    stop: StopCheck | None = None


class RunnableMethod(abc.ABC):
    """A loaded method. etconfig calls it from one thread at a time, and not after `release`."""

    @abc.abstractmethod
    def execute(self, inputs: Sequence[object], resource: object) -> list[Any]:
        """Run the method; the outputs must not share memory with later runs. Raises ExecutionError."""

    def execute_request(self, request: ExecuteRequest) -> list[Any]:
        """Run the method for a call with more than inputs and a resource.

        The default calls `execute` and copies the outputs into the caller's arrays. An executor that
        overrides it may write there at once.

        Raises:
            ExecutionError: as `execute`.
            ExecutionStoppedError: `request.stop` ended the run.
            NotImplementedError: by the default, which cannot end a run early.
        """
        if request.stop is not None:
            raise NotImplementedError
        results = self.execute(request.inputs, request.resource)
        if request.outputs is None:
            return results
        pairs = zip(request.outputs, results, strict=True)
        return [result if output is None else output.write(result) for output, result in pairs]

    @abc.abstractmethod
    def update(self, changes: OptionChanges) -> None:
        """Apply changed options: all of them, or none.

        Args:
            changes: The new options, validated.

        Raises:
            DelegateError: a backend failed; the old options are in force.
        """

    @abc.abstractmethod
    def effective_options(self) -> Mapping[str, Mapping[str, object]]:
        """Return the values that the backends report to use, by backend id and option name.

        A backend may report only some of its options. A value may be an `EffectiveOption`, as
        `DelegateHost.effective_options` returns it: pass it on.
        """

    def effective_values(self) -> Mapping[str, Mapping[str, EffectiveOption]]:
        """Return the same with the source of each value; by default, all come from the backends."""
        return {
            backend: {name: EffectiveOption.of_backend(value) for name, value in values.items()}
            for backend, values in self.effective_options().items()
        }

    def get_attribute(self, name: str) -> Any:
        """Return a copy of an attribute of the method; the default gives no access to attributes."""
        raise NotImplementedError

    def set_attribute(self, name: str, value: object) -> None:
        """Copy a value into an attribute of the method; the default gives no access to attributes.

        Raises:
            InvalidInputError: the value does not fit; nothing was written.
        """
        raise NotImplementedError

    @abc.abstractmethod
    def release(self) -> None:
        """Release everything.

        Called once, in any thread and possibly by the garbage collector; again if Ctrl-C interrupts it.
        """


class ExecutorProgram(abc.ABC):
    """A program, opened by an executor. Threads may share it."""

    @abc.abstractmethod
    def load_method(self, request: MethodRequest) -> RunnableMethod:
        """Load a method.

        Raises:
            ExecutionError: it cannot be loaded; nothing is left behind.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Release the program. Loaded methods stay usable."""


@record(frozen=True, kw_only=True)
class ExecutorBackend:
    """A backend that the runtime behind an executor has, without a plugin of etconfig.

    Attributes:
        id: Its id.
        availability: Whether it can run here, with the reason and the fix if it cannot.
        version: What it runs on, such as `OpenVINO 2026.4.1`; None if that is not known.
    """

    id: str
    availability: Availability
    version: str | None = None


@record(frozen=True, kw_only=True)
class ExecutorReport:
    """The contents of the runtime behind an executor, as `doctor`, `backends` and `inspect` show them.

    Attributes:
        version: The runtime and its version, such as `executorch 1.5.1`; None if that is not known.
        backends: The runtime's own backends. Those of etconfig's plugins are not among them.
        operators: The names of the operators that it has kernels for, such as `aten::add.out`; None if that
            is not known.
        further_operators: What to do to get kernels that the runtime has not loaded, by operator.
    """

    version: str | None = None
    backends: tuple[ExecutorBackend, ...] = ()
    operators: frozenset[str] | None = None
    further_operators: Mapping[str, str] = field(default_factory=dict)

    def backend(self, backend_id: str) -> ExecutorBackend | None:
        """Return the runtime's own backend of an id, or None."""
        return next((each for each in self.backends if each.id == backend_id), None)


class Executor(abc.ABC):
    """Runs programs. One object serves all programs and threads.

    Attributes:
        records_events: True if methods record events with `MethodRequest.tracer`.
    """

    records_events: bool = False

    def report(self, options: Any = None) -> ExecutorReport:
        """Return the contents of the runtime; it may load the runtime. The default knows nothing.

        Args:
            options: The executor's own options, or None.
        """
        return ExecutorReport()

    @abc.abstractmethod
    def open_program(self, request: ProgramRequest) -> ExecutorProgram:
        """Prepare a program for its methods to be loaded.

        Raises:
            ProgramError: the executor cannot read it.
        """
