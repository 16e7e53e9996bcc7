"""`Method`: one loaded, runnable instance of a method, for every executor."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from etconfig.base.effective import ComparedOption, EffectiveOption, compare_options
from etconfig.base.interrupts import is_of_signal_handler
from etconfig.base.parameters import check_type, plain_value
from etconfig.errors import (
    AttributeNotFoundError,
    BackendUnavailableError,
    DelegateError,
    MethodClosedError,
    MethodInUseError,
    OutOfMemoryError,
    UnsupportedCallError,
)
from etconfig.method.executor_contract import (
    ExecuteRequest,
    ExecutorProgram,
    MethodRequest,
    OptionChanges,
    RunnableMethod,
)
from etconfig.method.options_update import joint_update, validated_changes
from etconfig.method.stop import CancelToken, StopCheck
from etconfig.program.metadata import MethodMeta, signature_texts
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, shown_text

if TYPE_CHECKING:
    from etconfig.method.outputs import OutputChecker


class Method(HasView):
    """One loaded, runnable instance of a method. `LoadedProgram.load_method` makes it.

    Its memory, delegates and worker threads are its own: different Methods, also of one program,
    run in parallel, unless the program was loaded with `share_memory_arenas=True`. One Method serves
    one thread at a time; a second thread does not wait, but gets MethodInUseError.

    `close` (or leaving a `with` block) destroys the delegates. Otherwise the garbage collector
    does so when the Method is dropped, silently unless a backend fails.
    """

    def __init__(self, meta: MethodMeta, request: MethodRequest, runnable: RunnableMethod) -> None:
        self._meta = meta
        self._instance = request.instance
        self._backends = request.backends
        self._options: Mapping[str, Any] = {each: bound.options for each, bound in request.backends.items()}
        self._check_inputs = request.check_inputs
        self._host = request.host
        self._warm_up_s: tuple[float, ...] = ()
        self._pending_options: OptionChanges | None = None
        """The changes that end the changes for one call: not None while such a call is under way."""
        self._runnable: RunnableMethod | None = runnable
        # A token of the call that is inside, if any. Not a lock: Ctrl-C between taking it and entering
        # `try` would leave it taken forever. `dict.setdefault` tests and sets in one atomic step.
        self._inside: dict[None, object] = {}
        # Called by `close`, by the collector, or at the end of the interpreter, whichever comes first.
        self._release = weakref.finalize(self, runnable.release)

    @property
    def name(self) -> str:
        """The method's name in the program."""
        return self._meta.name()

    @property
    def instance(self) -> str | None:
        """The named instance, or None for the default one."""
        return self._instance

    @property
    def metadata(self) -> MethodMeta:
        """The method's inputs, outputs and attributes."""
        return self._meta

    @property
    def warm_up_s(self) -> tuple[float, ...]:
        """The seconds that each execute of the warm-up took; empty without `load_method(..., warm_up=N)`."""
        return self._warm_up_s

    def execute(
        self,
        inputs: Sequence[object] = (),
        *,
        resource: object = None,
        outputs: Sequence[object] | None = None,
        options: Mapping[str, object] | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> list[Any]:
        """Run the method.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> with program.load_method("forward") as method:
            ...     (scores,) = method.execute([np.zeros((1, 1, 8, 8), np.float32)])
            >>> scores.dtype, scores.shape
            (dtype('float32'), (1, 10))

        Args:
            inputs: One value for each input: for a tensor, anything with numpy's array protocol,
                DLPack or the buffer protocol, in the program's dtype; for a number, a scalar of
                Python or numpy. They are copied.
            resource: Passed to every backend as `ExecuteContext.resource`, untouched.
            outputs: For each output an array to write into, or None to make one: a numpy array, a torch
                tensor or a writable buffer, in the program's dtype. For an output of a fixed shape, the
                array has that shape; for a dynamic one, at least as many elements as the upper bounds, one
                after the other in the program's dim order. No array may overlap another one or an input.
            options: Options that apply at execute, for this call alone: values as for `update`. Backends
                that they concern are updated before the call and back after it, also if it fails.
            timeout: Seconds after which to stop; 0 stops before the first instruction. None for no limit.
            cancel: Stops the run when it is canceled, in another thread or in a signal handler. Like
                `timeout`, it is looked at between two instructions, and by backends that do so.

        Returns:
            The outputs: new numpy arrays that nothing else refers to (bfloat16 ones have
            ml_dtypes' dtype), numbers, or None. For an array in `outputs`, that object itself; or, if a
            dynamic output has another shape, a numpy array over the beginning of its memory.

        Raises:
            InvalidInputError: an input does not fit; nothing was run.
            InvalidOutputError: an array in `outputs` does not fit; nothing was run.
            OptionError: some `options` are wrong, with every problem; nothing was run.
            ExecutionStoppedError: `timeout` or `cancel` ended the run. The Method can be used again;
                mutable buffers keep what was written to them.
            UnsupportedCallError: the executor cannot end a run early.
            TypeError: `options`, `timeout` or `cancel` is of another type.
            KernelArgumentError: a kernel refuses its arguments.
            DelegateError: a backend failed.
            InstructionLimitError: the method does not end.
            OutOfMemoryError: the memory that it needs cannot be had.
            MethodInUseError: another call is under way.
            MethodClosedError: the Method was closed.
        """
        # Not `_entered`: its context manager costs as much as ten small instructions.
        me = object()
        try:
            if self._inside.setdefault(None, me) is not me:
                raise MethodInUseError(method=self.name)
            if self._runnable is None:
                raise MethodClosedError(method=self.name)
            if (
                outputs is None
                and options is None
                and timeout is None
                and cancel is None
                and self._pending_options is None
            ):
                return self._runnable.execute(inputs, resource)
            return self._call(self._runnable, inputs, resource, outputs, options, timeout, cancel)
        except MemoryError as error:
            raise out_of_memory(self.name, error) from error
        finally:
            if self._inside == {None: me}:
                self._inside.clear()

    def options(self, backend_id: str) -> Any:
        """Return the options in force for the method's delegates of one backend.

        Raises:
            BackendUnavailableError: the method delegates nothing to it.
            TypeError: it is not a text.
        """
        check_type("backend_id", backend_id, str, "the id of a backend")
        try:
            return self._options[backend_id]
        except KeyError:
            reason = f"method {self.name!r} delegates nothing to it"
            raise BackendUnavailableError(backend=backend_id, reason=reason) from None

    def effective_options(self) -> Mapping[str, Mapping[str, object]]:
        """Return the values that the backends report to use, by backend id and option name.

        A backend may report only some of its options. If several delegates of one backend differ,
        the last one of the program counts. Options that the backend marks as unknown are left out.

        Raises:
            DelegateError: a backend failed to report.
            MethodInUseError: another call is under way.
            MethodClosedError: the Method was closed.
        """
        with self._entered():
            runnable = self._open_runnable()
            self._restore_options(runnable)
            reported = runnable.effective_options()
        return {backend: _known_values(values) for backend, values in reported.items()}

    def effective_values(self) -> Mapping[str, Mapping[str, EffectiveOption]]:
        """Return the values of `effective_options` with their source: read back, observed, or assumed.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> with program.load_method("forward") as method:
            ...     option = method.effective_values()["ReferenceNpuBackend"]["power_mode"]
            >>> option.value.value, option.source.value, option.reason
            ('balanced', 'read back', 'the backend reports it')

        Raises:
            DelegateError: a backend failed to report.
            MethodInUseError: another call is under way.
            MethodClosedError: the Method was closed.
        """
        with self._entered():
            runnable = self._open_runnable()
            self._restore_options(runnable)
            return runnable.effective_values()

    def compared_options(self) -> Mapping[str, Mapping[str, ComparedOption]]:
        """Return every option, as requested and in force, by backend id and option name.

        Options that a backend does not report are unknown.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> with program.load_method("forward") as method:
            ...     option = method.compared_options()["ReferenceNpuBackend"]["power_mode"]
            >>> option.requested.value, option.effective.value.value, option.differs
            ('balanced', 'balanced', False)

        Raises:
            DelegateError: a backend failed to report.
            MethodInUseError: another call is under way.
            MethodClosedError: the Method was closed.
        """
        with self._entered():
            runnable = self._open_runnable()
            self._restore_options(runnable)
            effective, requested = runnable.effective_values(), self._options
        return {
            backend: compare_options(dict(_fields(options)), effective.get(backend, {}))
            for backend, options in requested.items()
        }

    def update(self, changes: Mapping[str, object]) -> None:
        """Change options that apply at execute: all of `changes`, or none.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> with program.load_method("forward") as method:
            ...     method.update({"ReferenceNpuBackend.power_mode": "low"})
            ...     method.options("ReferenceNpuBackend").power_mode.value
            'low'

        Args:
            changes: New values by `BACKEND.OPTION`, such as `{"NpuBackend.power_mode": "low"}`; or by
                backend, as a table or as the options object of the backend.

        Raises:
            OptionError: some changes are wrong, with every problem; no backend was called.
            DelegateError: a backend failed; the old options are in force.
            MethodInUseError: another call is under way.
            MethodClosedError: the Method was closed.
            TypeError: `changes` is not a mapping.
        """
        with self._entered():
            self._change_options(changes)

    @contextmanager
    def tentative_update(self, changes: Mapping[str, object]) -> Iterator[None]:
        """Change options as `update` does, and back if the `with` block raises; no other call enters before.

        Args:
            changes: As for `update`.

        Raises: as `update`; and what the block raises.
        """
        with self._entered():
            before = self._options
            validated = self._change_options(changes)
            try:
                yield
            except BaseException:
                self._change_back(before, validated)
                raise

    def get_attribute(self, name: str) -> Any:
        """Return a copy of an attribute: a mutable buffer that the program names.

        A program names its buffers if it was exported with `emit_mutable_buffer_names=True`;
        `metadata.attribute_names()` lists them.

        Raises:
            AttributeNotFoundError: there is no such attribute, or the executor gives no access.
            MethodInUseError: another call is under way.
            MethodClosedError: the Method was closed.
        """
        with self._attribute(name) as runnable:
            return runnable.get_attribute(name)

    def set_attribute(self, name: str, value: object) -> None:
        """Copy a value, of any type that an input accepts, into an attribute.

        Raises:
            AttributeNotFoundError: there is no such attribute, or the executor gives no access.
            InvalidInputError: the value does not fit; nothing was written.
            MethodInUseError: another call is under way.
            MethodClosedError: the Method was closed.
        """
        with self._attribute(name) as runnable:
            runnable.set_attribute(name, value)

    def close(self) -> None:
        """Destroy the delegates, end the worker threads and release all memory.

        Further calls do nothing. If Ctrl-C interrupts it, the Method is closed, and a second call
        finishes the work.

        Raises:
            DelegateError: a backend failed to destroy a handle; all others were destroyed.
            MethodInUseError: another call is under way.
        """
        # The finalizer is detached only after its function has returned: until then a second call,
        # or the collector, can finish what Ctrl-C interrupted.
        pending = self._release.peek()
        if pending is not None:
            with self._entered():
                self._runnable = None
                try:
                    pending[1]()
                except Exception as error:
                    if not is_of_signal_handler(error):
                        self._release.detach()
                    raise
                self._release.detach()

    def __enter__(self) -> Method:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except DelegateError as problem:
            if not isinstance(error, DelegateError):
                raise
            error.cause += f"; {problem}"  # the first error goes on, since it is more likely the cause

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        load = f"program.load_method({self.name!r})"
        raise TypeError(f"a loaded Method cannot be copied or pickled: load another one with {load}")

    def __repr__(self) -> str:
        return f"<Method {self._title()}>"

    def _view(self) -> View:
        inputs, outputs = signature_texts(self._meta)
        rows = [
            (backend, option, str(plain_value(value)))
            for backend, options in self._options.items()
            for option, value in _fields(options)
        ]
        table = Table(caption="options in force", headers=("BACKEND", "OPTION", "VALUE"), rows=rows)
        lines = (f"inputs: {inputs or 'none'}", f"outputs: {outputs or 'none'}")
        return View(title=f"Method {self._title()}", lines=lines, tables=(table,))

    def _title(self) -> str:
        name = self.name if self._instance is None else f"{self.name}@{self._instance}"
        return f"{shown_text(name)}{' (closed)' if self._runnable is None else ''}"

    def _call(
        self,
        runnable: RunnableMethod,
        inputs: Sequence[object],
        resource: object,
        outputs: Sequence[object] | None,
        options: Mapping[str, object] | None,
        timeout: float | None,
        cancel: CancelToken | None,
    ) -> list[Any]:
        """Run the method for a call with more than inputs and a resource."""
        stop = None
        if timeout is not None or cancel is not None:
            stop = _stop_check(timeout, cancel)
        self._restore_options(runnable)
        changes = self._validated_options(options)
        arrays = None
        if outputs is not None:
            inputs = self._check_inputs(inputs)
            arrays = self._output_checker.check(outputs, inputs)
        request = ExecuteRequest(inputs=inputs, resource=resource, outputs=arrays, stop=stop)
        try:
            if not changes:
                return runnable.execute_request(request)
            return self._call_with_options(runnable, request, changes)
        except NotImplementedError:
            feature = "a time limit or a token; it runs every method to its end"
            raise UnsupportedCallError(method=self.name, feature=feature) from None

    def _validated_options(self, options: Mapping[str, object] | None) -> OptionChanges:
        if options is None:
            return {}
        check_type("options", options, Mapping, 'values, as {"NpuBackend.power_mode": "low"}')
        return validated_changes(self.name, self._backends, self._options, options)

    def _call_with_options(
        self, runnable: RunnableMethod, request: ExecuteRequest, changes: OptionChanges
    ) -> list[Any]:
        """Run with changed options, and change them back."""
        is_refused = False
        try:
            # before the change, so that whoever comes next finds it, if Ctrl-C interrupts the way back, too
            self._pending_options = self._way_back(changes)
            try:
                self._update_delegates(runnable, changes)
            except DelegateError:  # the old options are in force
                is_refused = True
                raise
            return runnable.execute_request(request)
        finally:
            if is_refused:
                self._pending_options = None
            self._restore_options(runnable)

    def _change_options(self, changes: Mapping[str, object]) -> OptionChanges:
        """Change options, all or none, and return the validated changes. Raises as `update`."""
        check_type("changes", changes, Mapping, 'values, as {"NpuBackend.power_mode": "low"}')
        runnable = self._open_runnable()
        self._restore_options(runnable)
        before = self._options
        validated = validated_changes(self.name, self._backends, before, changes)
        try:
            self._update_delegates(runnable, validated)
            self._options = {**before, **{each: options for each, (options, _) in validated.items()}}
        except DelegateError:  # the old options are in force
            raise
        except BaseException:  # Ctrl-C, at any moment
            self._change_back(before, validated)
            raise
        return validated

    def _change_back(self, before: Mapping[str, Any], changes: OptionChanges) -> None:
        """End `changes`: the options are again those before. Raises DelegateError."""
        self._options = before
        self._pending_options = self._way_back(changes)  # for the next call, if Ctrl-C interrupts this one
        self._restore_options(self._open_runnable())

    def _way_back(self, changes: OptionChanges) -> OptionChanges:
        """Return the changes that end `changes`."""
        return {backend: (self._options[backend], names) for backend, (_, names) in changes.items()}

    def _update_delegates(self, runnable: RunnableMethod, changes: OptionChanges) -> None:
        """Update the delegates; options of the process move in all of them at once. Raises DelegateError."""
        is_updated = False
        try:
            with ExitStack() as joint:
                for backend in changes:
                    joint.enter_context(joint_update(self._backends[backend], self.name))
                runnable.update(changes)
                is_updated = True
        except DelegateError:
            if is_updated:  # the delegates agreed, and then something else in the process did not
                runnable.update(self._way_back(changes))
            raise

    def _restore_options(self, runnable: RunnableMethod) -> None:
        """Change the options of a call back, unless that is done; also if this raises DelegateError."""
        if self._pending_options is not None:
            try:
                self._update_delegates(runnable, self._pending_options)
            except DelegateError:
                self._host.set_options(self._options)
                self._pending_options = None
                raise
            self._pending_options = None

    @cached_property
    def _output_checker(self) -> OutputChecker:
        from etconfig.method.outputs import OutputChecker  # numpy comes with it; resolving does not need it

        return OutputChecker(self._meta)

    @contextmanager
    def _attribute(self, name: str) -> Iterator[RunnableMethod]:
        """Enter as `_entered`, for access to an attribute that the program has."""
        names = self._meta.attribute_names()
        if name not in names:
            known = (
                f"it has {', '.join(map(repr, names))}" if names else "its program names no mutable buffer"
            )
            help_line = None if names else "export it with emit_mutable_buffer_names=True"
            raise AttributeNotFoundError(method=self.name, attribute=name, reason=known, help=help_line)
        with self._entered():
            try:
                yield self._open_runnable()
            except NotImplementedError:
                reason = "the executor gives no access to it; the built-in one does"
                raise AttributeNotFoundError(method=self.name, attribute=name, reason=reason) from None

    @contextmanager
    def _entered(self) -> Iterator[None]:
        """Keep other threads out, without waiting for one that is inside."""
        me = object()
        try:
            if self._inside.setdefault(None, me) is not me:
                raise MethodInUseError(method=self.name)
            yield
        finally:
            if self._inside == {None: me}:  # an expression without a call, after which Ctrl-C could come
                self._inside.clear()

    def _open_runnable(self) -> RunnableMethod:
        if self._runnable is None:
            raise MethodClosedError(method=self.name)
        return self._runnable


def _fields(options: Any) -> Iterator[tuple[str, object]]:
    """Yield the names and values of an options object, in the order of declaration."""
    return ((name, getattr(options, name)) for name in options.option_infos())


def _stop_check(timeout: float | None, cancel: CancelToken | None) -> StopCheck:
    if cancel is not None:
        check_type("cancel", cancel, CancelToken, "an etconfig.CancelToken()")
    return StopCheck(timeout, cancel)


def guarded_method(
    meta: MethodMeta,
    request: MethodRequest,
    program: ExecutorProgram,
    guard: Callable[[MethodMeta, MethodRequest, RunnableMethod], Method] = Method,
) -> Method:
    """Load a method with an executor, and guard it. Raises as `ExecutorProgram.load_method`."""
    runnable = program.load_method(request)
    try:
        return guard(meta, request, runnable)
    except BaseException:  # Ctrl-C: nothing else refers to the runnable yet
        runnable.release()
        raise


def out_of_memory(method: str, error: MemoryError) -> OutOfMemoryError:
    """Return the typed error for a MemoryError of Python or numpy; Python's own may have no text."""
    return OutOfMemoryError(method=method, detail=str(error) or "the system has no more")


def _known_values(reported: Mapping[str, object]) -> dict[str, object]:
    """Return values without their sources, and without options about which nothing is known."""
    options = {name: EffectiveOption.of_backend(value) for name, value in reported.items()}
    return {name: option.value for name, option in options.items() if option.is_known}
