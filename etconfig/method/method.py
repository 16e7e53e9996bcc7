"""`Method`: one loaded, runnable instance of a method, whatever executor runs it."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from etconfig.errors import (
    AttributeNotFoundError,
    BackendUnavailableError,
    MethodClosedError,
    MethodInUseError,
    OutOfMemoryError,
)
from etconfig.method.contract import ExecutorProgram, MethodRequest, RunnableMethod
from etconfig.method.options_update import validated_changes
from etconfig.program import MethodMeta


class Method:
    """One loaded, runnable instance of a method. `LoadedProgram.load_method` makes it.

    Its memory, its delegates and its worker threads are its own: different Methods, also of
    one program, run in parallel. One Method serves one thread at a time; a second one gets
    MethodInUseError, and does not wait.

    `close` (or leaving a `with` block) destroys the delegates. A Method that is dropped
    without it does so when it is collected, silently unless a backend fails.
    """

    def __init__(self, meta: MethodMeta, request: MethodRequest, runnable: RunnableMethod) -> None:
        self._meta = meta
        self._instance = request.instance
        self._backends = request.backends
        self._options: Mapping[str, Any] = {each: bound.options for each, bound in request.backends.items()}
        self._runnable: RunnableMethod | None = runnable
        # Holds who is inside. No lock: Ctrl-C right after it was taken would leave it taken forever.
        self._inside: dict[None, object] = {}
        # Called by `close`, by the collector, or when the interpreter ends.
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
        """What the method takes and gives."""
        return self._meta

    def execute(self, inputs: Sequence[object] = (), *, resource: object = None) -> list[Any]:
        """Run the method.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> with program.load_method("forward") as method:
            ...     (scores,) = method.execute([np.zeros((1, 1, 8, 8), np.float32)])
            >>> scores.dtype, scores.shape
            (dtype('float32'), (1, 10))

        Args:
            inputs: One value for each input: anything with numpy's array protocol, DLPack or
                the buffer protocol for a tensor, in the program's dtype; Python's or numpy's
                scalars for numbers. They are copied.
            resource: Handed to every backend as `ExecuteContext.resource`, untouched.

        Returns:
            The outputs: new numpy arrays that nothing else refers to (bfloat16 ones have
            ml_dtypes' dtype), numbers, or None.

        Raises:
            InvalidInputError: an input does not fit; nothing was run.
            KernelArgumentError: a kernel refuses what it was given.
            DelegateError: a backend failed.
            InstructionLimitError: the method does not come to an end.
            OutOfMemoryError: the memory that it asks for cannot be had.
            MethodInUseError: another call is under way.
            MethodClosedError: the Method was closed.
        """
        # Not by `_entered`, whose context manager costs as much as ten small instructions.
        me = object()
        try:
            if self._inside.setdefault(None, me) is not me:
                raise MethodInUseError(method=self.name)
            if self._runnable is None:
                raise MethodClosedError(method=self.name)
            return self._runnable.execute(inputs, resource)
        except MemoryError as error:
            raise out_of_memory(self.name, error) from error
        finally:
            if self._inside == {None: me}:
                self._inside.clear()

    def options(self, backend_id: str) -> Any:
        """The options in force for the method's delegates of one backend.

        Raises:
            BackendUnavailableError: the method delegates nothing to it.
        """
        try:
            return self._options[backend_id]
        except KeyError:
            reason = f"method {self.name!r} delegates nothing to it"
            raise BackendUnavailableError(backend=backend_id, reason=reason) from None

    def effective_options(self) -> Mapping[str, Mapping[str, object]]:
        """What the backends say they really use, by backend id and option name.

        A backend may report a part of its options. Where several delegates of one backend
        differ, the last one of the program counts.

        Raises:
            DelegateError: a backend failed to say it.
            MethodInUseError: another call is under way.
            MethodClosedError: the Method was closed.
        """
        with self._entered():
            return self._open_runnable().effective_options()

    def update(self, changes: Mapping[str, object]) -> None:
        """Change options that apply at execute: all of `changes`, or none.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> with program.load_method("forward") as method:
            ...     method.update({"ReferenceNpuBackend.power_mode": "low"})
            ...     method.options("ReferenceNpuBackend").power_mode.value
            'low'

        Args:
            changes: New values by `BACKEND.OPTION`, such as `{"NpuBackend.power_mode": "low"}`.

        Raises:
            OptionError: it holds every problem; no backend was called.
            DelegateError: a backend failed; the old options are in force.
            MethodInUseError: another call is under way.
            MethodClosedError: the Method was closed.
        """
        with self._entered():
            runnable = self._open_runnable()
            validated = validated_changes(self.name, self._backends, self._options, changes)
            new = {**self._options, **{each: options for each, (options, _) in validated.items()}}
            runnable.update(validated)
            self._options = new

    def get_attribute(self, name: str) -> Any:
        """A copy of what an attribute holds: a mutable buffer that the program names.

        A program names them if it was exported with `emit_mutable_buffer_names=True`;
        `metadata.attribute_names()` lists them.

        Raises:
            AttributeNotFoundError: there is no such attribute, or the executor gives no access.
            MethodInUseError: another call is under way.
            MethodClosedError: the Method was closed.
        """
        with self._attribute(name) as runnable:
            return runnable.get_attribute(name)

    def set_attribute(self, name: str, value: object) -> None:
        """Copy a value, which may be whatever an input may be, into an attribute.

        Raises:
            AttributeNotFoundError: there is no such attribute, or the executor gives no access.
            InvalidInputError: the value does not fit; nothing was written.
            MethodInUseError: another call is under way.
            MethodClosedError: the Method was closed.
        """
        with self._attribute(name) as runnable:
            runnable.set_attribute(name, value)

    def close(self) -> None:
        """Destroy the delegates, end the worker threads and let go of all memory; once is enough.

        If Ctrl-C interrupts it, the Method is closed, and a second call does what is left.

        Raises:
            DelegateError: a backend failed to destroy a handle; all others were destroyed.
            MethodInUseError: another call is under way.
        """
        pending = self._release.peek()
        if pending is not None:
            with self._entered():
                self._runnable = None
                try:
                    pending[1]()
                except Exception:
                    self._release.detach()
                    raise
                self._release.detach()

    def __enter__(self) -> Method:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        name = self.name if self._instance is None else f"{self.name}@{self._instance}"
        return f"<Method {name}{' (closed)' if self._runnable is None else ''}>"

    @contextmanager
    def _attribute(self, name: str) -> Iterator[RunnableMethod]:
        """As `_entered`, for access to an attribute that the program has."""
        names = self._meta.attribute_names()
        if name not in names:
            known = (
                f"it has {', '.join(map(repr, names))}" if names else "its program names no mutable buffer"
            )
            advice = None if names else "export it with emit_mutable_buffer_names=True"
            raise AttributeNotFoundError(method=self.name, attribute=name, reason=known, help=advice)
        with self._entered():
            try:
                yield self._open_runnable()
            except NotImplementedError:
                reason = "the executor gives no access to it; the built-in one does"
                raise AttributeNotFoundError(method=self.name, attribute=name, reason=reason) from None

    @contextmanager
    def _entered(self) -> Iterator[None]:
        """Keep other threads out; do not wait for one that is inside."""
        me = object()
        try:
            if self._inside.setdefault(None, me) is not me:
                raise MethodInUseError(method=self.name)
            yield
        finally:
            if self._inside == {None: me}:  # compared without a call, at whose end Ctrl-C could come
                self._inside.clear()

    def _open_runnable(self) -> RunnableMethod:
        if self._runnable is None:
            raise MethodClosedError(method=self.name)
        return self._runnable


def guarded_method(meta: MethodMeta, request: MethodRequest, program: ExecutorProgram) -> Method:
    """Let an executor load a method, and guard it. Raises as `ExecutorProgram.load_method`."""
    runnable = program.load_method(request)
    try:
        return Method(meta, request, runnable)
    except BaseException:  # Ctrl-C: nobody else knows of it
        runnable.release()
        raise


def out_of_memory(method: str, error: MemoryError) -> OutOfMemoryError:
    """The typed error for one of Python or numpy; Python's own may have no text."""
    return OutOfMemoryError(method=method, detail=str(error) or "the system has no more")
