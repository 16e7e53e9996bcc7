"""`Method`: one loaded, runnable instance of a method, which owns all its mutable memory."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from etconfig.backend import BoundBackend
from etconfig.errors import BackendUnavailableError, MethodClosedError, MethodInUseError
from etconfig.executor.compile import check_operators, compile_plan
from etconfig.executor.delegate import Surroundings
from etconfig.executor.delegate_set import DelegateSet
from etconfig.executor.inputs import Inputs
from etconfig.executor.memory import MethodAllocator
from etconfig.executor.options_update import validated_changes
from etconfig.executor.plan import DEFAULT_INSTRUCTION_LIMIT, Plan
from etconfig.executor.registry import Kernel
from etconfig.executor.tensor import Register, Tensor
from etconfig.executor.tracing import NullTracer, RecordingTracer, Track
from etconfig.executor.values import load_registers
from etconfig.executor.workers import Workers
from etconfig.program import MethodMeta
from etconfig.program.collection import collection_paused
from etconfig.records import record

if TYPE_CHECKING:
    from etconfig.program import Program


@record(frozen=True)
class _Loaded:
    """What a Method needs to run; a closed one has let go of it."""

    inputs: Inputs
    outputs: Sequence[Register]
    plan: Plan
    delegates: DelegateSet


class Method:
    """One loaded, runnable instance of a method. `load_method` makes it.

    Its memory, its delegates and its worker threads are its own: different Methods, also of
    one program, run in parallel. One Method serves one thread at a time; a second one gets
    MethodInUseError, and does not wait.

    `close` (or leaving a `with` block) destroys the delegates. A Method that is dropped
    without it does so when it is collected, silently unless a backend fails.
    """

    def __init__(
        self,
        meta: MethodMeta,
        instance: str | None,
        loaded: _Loaded,
        workers: Workers,
        track: Track | None,
    ) -> None:
        self._meta = meta
        self._instance = instance
        self._loaded: _Loaded | None = loaded
        self._options = loaded.delegates.options
        self._track = track
        self._lock = threading.Lock()
        # Called at most once, by `close`, by the collector, or when the interpreter ends.
        self._release = weakref.finalize(self, _release, loaded.delegates, workers)

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
            MethodInUseError: another call is under way.
            MethodClosedError: the Method was closed.
        """
        with self._entered() as loaded:
            loaded.inputs.set(inputs)
            loaded.delegates.set_resource(resource)
            try:
                with np.errstate(all="ignore"):  # infinities and NaN are results, as in PyTorch
                    self._run(loaded.plan)
            finally:
                loaded.delegates.set_resource(None)
            return [_output(register.value) for register in loaded.outputs]

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
        with self._entered() as loaded:
            return loaded.delegates.effective_options()

    def update(self, changes: Mapping[str, object]) -> None:
        """Change options that apply at execute: all of `changes`, or none.

        Args:
            changes: New values by `BACKEND.OPTION`, such as `{"NpuBackend.power_mode": "low"}`.

        Raises:
            OptionError: it holds every problem; no backend was called.
            DelegateError: a backend failed; the old options are in force.
            MethodInUseError: another call is under way.
            MethodClosedError: the Method was closed.
        """
        with self._entered() as loaded:
            delegates = loaded.delegates
            delegates.update(validated_changes(self.name, delegates.backends, delegates.options, changes))
            self._options = delegates.options

    def close(self) -> None:
        """Destroy the delegates, end the worker threads and let go of all memory; once is enough.

        Raises:
            DelegateError: a backend failed to destroy a handle; all others were destroyed.
            MethodInUseError: another call is under way.
        """
        if self._loaded is not None:
            with self._entered():
                self._loaded = None
                self._release()

    def __enter__(self) -> Method:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        name = self.name if self._instance is None else f"{self.name}@{self._instance}"
        return f"<Method {name}{' (closed)' if self._loaded is None else ''}>"

    @contextmanager
    def _entered(self) -> Iterator[_Loaded]:
        """Keep other threads out; do not wait for one that is inside."""
        if not self._lock.acquire(blocking=False):
            raise MethodInUseError(method=self.name)
        try:
            if self._loaded is None:
                raise MethodClosedError(method=self.name)
            yield self._loaded
        finally:
            self._lock.release()

    def _run(self, plan: Plan) -> None:
        if self._track is None:
            plan.run()
        else:
            with self._track.execute():
                plan.run()


def load_method(
    program: Program,
    name: str,
    kernels: Mapping[str, Kernel],
    backends: Mapping[str, BoundBackend],
    *,
    instance: str | None = None,
    tracer: RecordingTracer | None = None,
    instruction_limit: int = DEFAULT_INSTRUCTION_LIMIT,
    optimize: bool = True,
) -> Method:
    """Load a method: allocate its memory, initialise its delegates, bind its instructions.

    Args:
        program: The program; the Method refers to its constants without a copy.
        name: The method's name.
        kernels: Kernels by full operator name, such as a `KernelRegistry`.
        backends: Backends with their options, by id; those that are not needed are ignored.
        instance: The named instance, if this is one.
        tracer: Where to record events; None records nothing and costs nothing.
        instruction_limit: The most instructions one execute may run.
        optimize: Leave out what changes no output but its rounding. Without it every instruction
            runs as the program says.

    Raises:
        MethodNotFoundError: the program has no such method.
        MissingOperatorError: there is no kernel for some operators; all are named.
        BackendUnavailableError: a backend is not among `backends`, or cannot run here.
        DelegateError: a backend failed; handles that it had made were destroyed.
        KernelArgumentError: a kernel refuses its arguments.
        ProgramError: the program's data are not where it says.
        MemoryError: the memory that the program asks for cannot be had.
    """
    track = None if tracer is None else tracer.track(name if instance is None else f"{name}@{instance}")
    timer = NullTracer() if track is None else track
    with timer.record(name, "load"):
        with timer.record("place tensors", "phase"), collection_paused():
            plan = program.plan(name)
            check_operators(plan, kernels)
            registers = load_registers(program, plan)
        workers = Workers(f"etconfig-{name}")
        surroundings = Surroundings(
            method=name,
            instance=instance,
            named_data=program.named_data,
            workers=workers,
            allocator=MethodAllocator(),
            tracer=timer,
        )
        delegates = DelegateSet(program, plan, backends, surroundings)
        try:
            with timer.record("bind instructions", "phase"), collection_paused():
                inputs = Inputs(name, [registers[index] for index in plan.inputs])
                compiled = compile_plan(
                    plan, registers, kernels, delegates, track, instruction_limit, optimize
                )
        except BaseException:
            delegates.destroy()
            workers.close()
            raise
    outputs = [registers[index] for index in plan.outputs]
    return Method(MethodMeta(plan), instance, _Loaded(inputs, outputs, compiled, delegates), workers, track)


def _release(delegates: DelegateSet, workers: Workers) -> None:
    problems = delegates.destroy()
    workers.close()
    if problems:
        problems[0].cause = "; ".join([problems[0].cause, *map(str, problems[1:])])
        raise problems[0]


def _output(value: object) -> object:
    """A copy that later executes leave alone, in the tensor's dim order."""
    if isinstance(value, Tensor):
        value.ensure_memory()
        return value.array.copy(order="K")
    if isinstance(value, tuple):
        return [_output(item.value if isinstance(item, Register) else item) for item in value]
    return value
