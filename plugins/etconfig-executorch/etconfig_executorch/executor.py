"""`ExecutorchExecutor`: loads and runs methods with the real ExecuTorch runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from etconfig.plugin.v1 import (
    Availability,
    BackendUnavailableError,
    BoundBackend,
    Diagnostic,
    EffectiveOption,
    Executor,
    ExecutorBackend,
    ExecutorProgram,
    ExecutorReport,
    LibraryGuard,
    MethodRequest,
    OptionChanges,
    OptionError,
    ProgramRequest,
    RunnableMethod,
)
from etconfig_executorch.delegates import check_xnnpack
from etconfig_executorch.effective import XnnpackState, effective_values
from etconfig_executorch.event_trace import EventTrace
from etconfig_executorch.failures import blame
from etconfig_executorch.hosting import LOADING_KEY
from etconfig_executorch.lasting_payloads import KeepingLoader
from etconfig_executorch.native import RUNTIME, native
from etconfig_executorch.openvino import OPENVINO
from etconfig_executorch.options import (
    NUM_THREADS,
    SINGLE_THREADED,
    XNNPACK,
    check_room,
    method_options,
    wire,
)
from etconfig_executorch.packed_cache import check_packed_cache
from etconfig_executorch.runtime import Runtime, the_runtime
from etconfig_executorch.static_shapes import check_static_shapes
from etconfig_executorch.survival import check_survivable
from etconfig_executorch.wheel_backends import version_of
from etconfig_executorch.wheel_libraries import WHEEL_OPERATORS, operator_help


class ExecutorchExecutor(Executor):
    """Runs programs on the real runtime; all executors of a process share one."""

    records_events = True

    def report(self, options: Any = None) -> ExecutorReport:
        """Return the runtime's backends and operators; loads the runtime."""
        runtime = the_runtime()
        runtime.libraries.load(_libraries(options))
        operators = frozenset(native.registered_operators())
        return ExecutorReport(
            version=RUNTIME,
            backends=tuple(
                ExecutorBackend(
                    id=backend, availability=runtime.availability(backend), version=version_of(backend)
                )
                for backend in runtime.native_backends()
            ),
            operators=operators,
            further_operators={
                each: operator_help(each) for each in WHEEL_OPERATORS if each not in operators
            },
        )

    def open_program(self, request: ProgramRequest) -> ExecutorProgram:
        """Open a program from the bytes that etconfig verified, without copying them."""
        the_runtime().libraries.load(_libraries(request.options))
        return _Program(the_runtime(), request)


class _Program(ExecutorProgram):
    def __init__(self, runtime: Runtime, request: ProgramRequest) -> None:
        self._runtime = runtime
        self._program = request.program
        self._survivable: set[str] = set()
        with blame("open", None):
            data_files = [file.loader() for file in request.program.data_files]
            self._loader = KeepingLoader(request.program.loader())
            self._native = native.Program(self._loader, data_files)

    def load_method(self, request: MethodRequest) -> RunnableMethod:
        """Load a method with the options of each of its backends."""
        try:
            return self._load(request)
        except BaseException as error:
            request.host.abandon(error)
            raise

    def _load(self, request: MethodRequest) -> RunnableMethod:
        plan = self._program.plan(request.name)
        if request.name not in self._survivable:  # a program does not change: once is enough
            check_survivable(plan)
            self._program.external_tensors(plan)  # the runtime takes any data of the name for the tensor
        check_room(request.name, request.backends)
        check_static_shapes(plan)
        brought = self._runtime.native_backends()
        wired = wire({each: bound for each, bound in request.backends.items() if each in brought})
        for backend in wired:
            _check_own(request.backends[backend])
            _check_available(backend, self._runtime.availability(backend))
        check_packed_cache(wired.get(XNNPACK, ()))
        openvino = [self._program.delegate_data(each) for each in plan.delegates if each.id == OPENVINO]
        # kept until the runtime has loaded them, so that it gets the bytes that were checked
        checked = [self._program.delegate_data(each) for each in plan.delegates if each.id == XNNPACK]
        if XNNPACK in wired and request.name not in self._survivable:
            check_xnnpack(self._program, plan)
        self._survivable.add(request.name)
        hosted = [backend for backend in request.backends if backend not in wired]
        delegates = [each.id for each in plan.delegates]
        trace = None if request.tracer is None else EventTrace(request.tracer, plan)
        request.host.set_guard(LibraryGuard(**native.LIBRARY_GUARD))
        with (
            blame("load", request.name),
            nullcontext() if trace is None else trace.load(),
            self._loader.keeping({len(each) for each in openvino}) as payloads,
            self._runtime.hosted.loading(delegates, request.host) as loading,
        ):
            self._runtime.hosted.register(hosted)
            for backend, options in wired.items():
                self._runtime.settle(backend, options)
            option_map: list[tuple[str, Sequence[tuple[str, bool | int | str]]]] = [
                *((backend, method_options(options)) for backend, options in wired.items()),
                *((backend, [(LOADING_KEY, loading.number)]) for backend in hosted),
            ]
            method = native.Method(
                self._native,
                request.name,
                option_map,
                single_threaded=_is_single_threaded(request),
                memory=request.memory,
                recorder=None if trace is None else trace.recorder,
                num_threads=_num_threads(request),
            )
        del checked
        return _Method(self._runtime, request, plan, method, list(wired), trace, payloads)

    def close(self) -> None:
        """Release the bytes; loaded methods keep them alive."""
        del self._native


class _Method(RunnableMethod):
    def __init__(
        self,
        runtime: Runtime,
        request: MethodRequest,
        plan: Any,
        method: Any,
        brought: Sequence[str],
        trace: EventTrace | None,
        payloads: Sequence[object],
    ) -> None:
        self._payloads = payloads
        self._trace = trace
        self._runtime = runtime
        self._request = request
        self._plan = plan
        self._dim_orders = [getattr(plan.values[index], "dim_order", None) for index in plan.inputs]
        self._native = method
        self._brought = brought
        self._is_prepared = trace is not None or bool(request.written_inputs)
        xnnpack = request.backends.get(XNNPACK)
        self._xnnpack = XnnpackState.seen(xnnpack.options) if xnnpack and XNNPACK in brought else None

    def execute(self, inputs: Sequence[object], resource: object) -> list[Any]:
        self._request.host.set_resource(resource)
        if self._is_prepared:
            with nullcontext() if self._trace is None else self._trace.execute():
                if self._request.written_inputs:  # the runtime would write to the caller's memory
                    with blame("execute", self._request.name):
                        return self._execute_checked(inputs)
                return self._execute(inputs)
        return self._execute(inputs)

    def _execute(self, inputs: Sequence[object]) -> list[Any]:
        try:
            outputs: list[Any] = self._native.execute(inputs)
        except Exception as error:  # `blame` only now: it takes longer than a small instruction
            with blame("execute", self._request.name):
                if not isinstance(error, native.InputMismatchError):
                    raise
                outputs = self._execute_checked(inputs)
        return outputs

    def _execute_checked(self, inputs: Sequence[object]) -> list[Any]:
        outputs: list[Any] = self._native.execute_into(
            self._as_stored(self._request.check_inputs(inputs)), ()
        )
        return outputs

    def execute_request(self, request: Any) -> list[Any]:
        """Run it for an `ExecuteRequest`, a name that the first release of the plugin API lacks."""
        self._request.host.set_resource(request.resource)
        given = request.outputs or [None] * len(self._plan.outputs)
        memories = [None if each is None or each.memory is None else _bytes_of(each.memory) for each in given]
        stored = self._as_stored(self._request.check_inputs(request.inputs))
        tracing = nullcontext() if self._trace is None else self._trace.execute()
        with tracing:
            if request.stop is None:
                with blame("execute", self._request.name):
                    results = self._native.execute_into(stored, memories)
            else:
                results = self._execute_until(stored, memories, request.stop)
        return [_written(*each) for each in zip(given, results, strict=True)]

    def _execute_until(self, inputs: list[Any], memories: list[Any], stop: Any) -> list[Any]:
        """Run it until `stop`, a `StopCheck`, ends the run."""
        self._request.host.set_stop(stop)
        try:
            with blame("execute", self._request.name):
                results: list[Any] = self._native.execute_until(inputs, memories, stop.flag, stop.deadline_ns)
            return results
        except Exception as error:
            if isinstance(error, native.StoppedError) or stop.was_seen:  # a Python backend ended early
                raise stop.error(self._request.name, *self._place()) from error
            raise
        finally:
            self._request.host.set_stop(None)

    def _place(self) -> tuple[int | None, str | None]:
        """Return the index of the instruction at which a run ended, and its operator or backend."""
        plan = self._plan
        chain, index = self._native.position
        if chain == len(plan.chains) or index == len(plan.chains[chain].instructions):
            return None, None
        instruction = plan.chains[chain].instructions[index]
        if hasattr(instruction, "op_index"):
            return index, plan.operators[instruction.op_index].full_name
        if hasattr(instruction, "delegate_index"):
            return index, plan.delegates[instruction.delegate_index].id
        return index, type(instruction).__name__

    def _as_stored(self, checked: Sequence[object]) -> list[Any]:
        """Return checked inputs as the runtime stores them; copies of the inputs that it writes to."""
        stored = [_as_stored(value, order) for value, order in zip(checked, self._dim_orders, strict=True)]
        for position in self._request.written_inputs:
            stored[position] = stored[position].copy(order="K")
        return stored

    def update(self, changes: OptionChanges) -> None:
        problems = [_not_updatable(backend) for backend in changes if backend in self._brought]
        if problems:
            raise OptionError(diagnostics=tuple(problems))
        self._request.host.update(changes)

    def effective_options(self) -> Mapping[str, Mapping[str, object]]:
        return self.effective_values()

    def effective_values(self) -> Mapping[str, Mapping[str, EffectiveOption]]:
        """Return the options in force with their sources."""
        bound = self._request.backends
        with blame("effective_options", self._request.name):
            own = {
                backend: effective_values(
                    backend,
                    bound[backend].options,
                    self._runtime.in_force(backend),
                    self._native.num_threads,
                    self._xnnpack if backend == XNNPACK else None,
                )
                for backend in self._brought
            }
        reported = {
            backend: {name: EffectiveOption.of_backend(value) for name, value in values.items()}
            for backend, values in self._request.host.effective_options().items()
        }
        return {**reported, **own}

    def release(self) -> None:
        self._native = None  # the runtime destroys the delegates
        self._payloads = ()
        self._request.host.close()


def _not_updatable(backend: str) -> Diagnostic:
    return Diagnostic(
        code="not-updatable",
        message=f"ExecuTorch passes options to {backend} only when it loads a method",
        help="load the method again with other options",
    )


def _as_stored(value: Any, dim_order: tuple[int, ...] | None) -> Any:
    """Return an input as the runtime stores it: in dim order, with a type that supports buffers."""
    if dim_order is None:
        return value
    in_order = np.transpose(value, dim_order)
    address = in_order.__array_interface__["data"][0]
    if not in_order.flags.c_contiguous or address % in_order.itemsize:
        in_order = np.array(in_order, order="C")
    if in_order.dtype.kind == "V":  # bfloat16 and float8: the buffer protocol has no name for them
        in_order = in_order.view(f"u{in_order.dtype.itemsize}")
    return np.transpose(in_order, np.argsort(dim_order))


def _bytes_of(memory: Any) -> Any:
    """Return a one-dimensional array as bytes: the buffer protocol has no name for some types."""
    return memory.view(np.uint8)


def _written(output: Any, result: Any) -> Any:
    """Return what the caller gets: for an array that the runtime wrote to, `result` is the shape."""
    if output is None:
        return result
    return output.write(result) if output.memory is None else output.written(result)


def _num_threads(request: MethodRequest) -> int:
    """Return the size of the pool for XNNPACK's delegates; 0 for the process's own pool, or none."""
    bound = request.backends.get(XNNPACK)
    if bound is None or _is_single_threaded(request):
        return 0
    return getattr(bound.options, NUM_THREADS, None) or 0


def _is_single_threaded(request: MethodRequest) -> bool:
    bound = request.backends.get(XNNPACK)
    return bound is not None and bool(getattr(bound.options, SINGLE_THREADED, False))


def _libraries(options: Any) -> Sequence[str]:
    libraries: Sequence[str] = () if options is None else options.libraries
    return libraries


def _check_own(bound: BoundBackend) -> None:
    if bound.is_given:
        raise BackendUnavailableError(
            backend=bound.backend_id,
            reason="it was given in code, but ExecuTorch has one of this id, which cannot be replaced",
            help="load the program with the numpy executor, or do not give the backend",
        )


def _check_available(backend: str, availability: Availability) -> None:
    if not availability.is_available:
        reason = availability.reason or "it gives no reason"
        raise BackendUnavailableError(backend=backend, reason=reason, help=availability.fix)
