"""Methods on numpy: `load_method` makes one directly, `NumpyProgram` serves etconfig."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from etconfig.backend import BoundBackend
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Kernel
from etconfig.kernel.tensor import Register, Tensor, end_alias
from etconfig.method import (
    DelegateHost,
    ExecuteRequest,
    ExecutorProgram,
    MethodRequest,
    OptionChanges,
    RunnableMethod,
)
from etconfig.method.inputs import TensorCheck
from etconfig.method.method import Method, guarded_method, out_of_memory
from etconfig.method.outputs import OutputArray
from etconfig.method.request import method_request
from etconfig.method.stop import StopCheck
from etconfig.numpy_executor.compile import compile_plan, kernels_of
from etconfig.numpy_executor.compiled_plan import DEFAULT_INSTRUCTION_LIMIT, CompiledPlan
from etconfig.numpy_executor.delegate_steps import stable_delegates
from etconfig.numpy_executor.rebinding import Rebinding
from etconfig.numpy_executor.registers import Registers
from etconfig.program.metadata import MethodMeta
from etconfig.program.model import TensorShapeDynamism
from etconfig.program.process_lock import collection_paused
from etconfig.tracing import NullTracer, RecordingTracer, Track

if TYPE_CHECKING:
    from etconfig.program.program import Program


class Inputs:
    """The inputs of one Method.

    Args:
        check: Checks a caller's inputs, as `MethodRequest.check_inputs` does.
        registers: The registers of the inputs, in their order.
    """

    def __init__(self, check: Callable[[Sequence[object]], list[Any]], registers: Sequence[Register]) -> None:
        self._check = check
        self._setters = [_setter(register) for register in registers]

    def set(self, values: Sequence[object]) -> None:
        """Copy `values` into the method's memory; nothing is written unless all of them fit.

        Raises:
            InvalidInputError: the number of inputs, or one of them, does not fit.
        """
        for set_one, value in zip(self._setters, self._check(values), strict=True):
            set_one(value)


class TensorDestination:
    """A tensor that values are copied into; their strides may be any, the copy has the tensor's dim order."""

    def __init__(self, register: Register, tensor: Tensor) -> None:
        self._register = register
        self._tensor = tensor
        if tensor.dynamism is TensorShapeDynamism.STATIC:
            tensor.ensure_memory()

    def set(self, value: Array) -> None:
        """Copy an array of a shape that fits."""
        tensor = self._tensor
        self._register.value = tensor  # the previous run may have moved another value there
        if tensor.is_alias:
            end_alias(tensor)
        tensor.resize(value.shape)
        tensor.array[...] = value  # takes half as long as np.copyto for a few elements


def _setter(register: Register) -> Callable[[Any], None]:
    value = register.value
    if isinstance(value, Tensor):
        return TensorDestination(register, value).set
    if value is None:
        return partial(setattr, register, "value")
    return _keep


def _keep(value: object) -> None:
    """Leave a scalar or string as it is: it was fixed when the program was exported."""


class Attributes:
    """The attributes of one Method.

    Args:
        method: Its name.
        tensors: The tensors by attribute name.
    """

    def __init__(self, method: str, tensors: Mapping[str, Tensor]) -> None:
        self._method = method
        self._tensors = tensors

    def get(self, name: str) -> Array:
        """Return a copy of the attribute, in its dim order."""
        tensor = self._tensors[name]
        tensor.ensure_memory()
        copied: Array = tensor.array.copy(order="K")
        return copied

    def set(self, name: str, value: object) -> None:
        """Copy a value, as an input may be given, into the attribute.

        Raises:
            InvalidInputError: it does not fit; nothing was written.
        """
        tensor = self._tensors[name]
        array = TensorCheck(self._method, f"attribute {name!r}", tensor.form).check(value)
        TensorDestination(Register(tensor), tensor).set(array)


class NumpyMethod(RunnableMethod):
    """A method whose instructions are bound to numpy kernels and delegates."""

    def __init__(
        self,
        inputs: Inputs,
        outputs: Sequence[Register],
        compiled: CompiledPlan,
        host: DelegateHost,
        track: Track | None,
        attributes: Attributes,
    ) -> None:
        self._attributes = attributes
        self._inputs = inputs
        self._outputs = outputs
        self._compiled = compiled
        self._host = host
        self._track = track

    def execute(self, inputs: Sequence[object], resource: object) -> list[Any]:
        """Copy the inputs in, run the compiled plan, copy the outputs out."""
        # not by way of execute_request, which takes longer than a small instruction
        self._inputs.set(inputs)
        if resource is not None:  # the backends find None otherwise
            self._host.set_resource(resource)
        try:
            with np.errstate(all="ignore"):  # infinities and NaN are results, as in PyTorch
                if self._track is None:  # not by way of _run, for the same reason
                    self._compiled.run()
                else:
                    self._run()
            return [_output(register.value) for register in self._outputs]
        finally:
            if resource is not None:
                self._host.set_resource(None)

    def execute_request(self, request: ExecuteRequest) -> list[Any]:
        """Do the same, and copy outputs into the caller's arrays at once."""
        self._inputs.set(request.inputs)
        self._host.set_resource(request.resource)
        if request.stop is not None:
            self._host.set_stop(request.stop)
        outputs = request.outputs or [None] * len(self._outputs)
        try:
            with np.errstate(all="ignore"):
                self._run(request.stop)
            pairs = zip(self._outputs, outputs, strict=True)
            return [_output(register.value, output) for register, output in pairs]
        finally:
            self._host.set_resource(None)
            if request.stop is not None:
                self._host.set_stop(None)

    def update(self, changes: OptionChanges) -> None:
        """Give the delegates their new options."""
        self._host.update(changes)

    def effective_options(self) -> Mapping[str, Mapping[str, object]]:
        """Return the options that the backends report."""
        return self._host.effective_options()

    def get_attribute(self, name: str) -> Any:
        """Return a copy of the attribute."""
        return self._attributes.get(name)

    def set_attribute(self, name: str, value: object) -> None:
        """Copy a value into the attribute."""
        self._attributes.set(name, value)

    def release(self) -> None:
        """Destroy the delegates and end the threads; the last reference frees the memory."""
        self._host.close()

    def _run(self, stop: StopCheck | None = None) -> None:
        if self._track is None:
            self._compiled.run(stop)
        else:
            with self._track.execute():
                self._compiled.run(stop)


class NumpyProgram(ExecutorProgram):
    """A program whose methods run on numpy kernels.

    Args:
        program: The program; its Methods refer to its constants without a copy.
        kernels: Kernels by full operator name.
        instruction_limit: The most instructions that one execute may run.
    """

    def __init__(
        self,
        program: Program,
        kernels: Mapping[str, Kernel],
        instruction_limit: int = DEFAULT_INSTRUCTION_LIMIT,
    ) -> None:
        self._program = program
        self._kernels = kernels
        self._instruction_limit = instruction_limit

    def load_method(self, request: MethodRequest) -> NumpyMethod:
        """Allocate the method's memory, initialize its delegates, bind its instructions.

        Raises:
            MissingOperatorError: there is no kernel for some operators; all are named.
            KernelArgumentError: a kernel refuses its arguments.
            ProgramError: the program's data are not where it says.
            OutOfMemoryError: the memory that the program requests is not available.
            DelegateError, BackendUnavailableError: as the host's `init`.
        """
        try:
            return self._load_method(request)
        except BaseException as error:
            request.host.abandon(error)
            if isinstance(error, MemoryError):
                raise out_of_memory(request.name, error) from error
            raise

    def _load_method(self, request: MethodRequest) -> NumpyMethod:
        track: Track | None = request.tracer
        timer = NullTracer() if track is None else track
        with timer.record(request.name, "load"):
            with timer.record("place tensors", "phase"), collection_paused():
                plan = self._program.plan(request.name)
                called = kernels_of(plan, self._kernels)
                registers = Registers(self._program, plan, request.memory)
                rebinding = Rebinding(plan, registers, called)
            request.host.set_stable_arrays(stable_delegates(plan, rebinding))
            delegates = request.host.init_all()
            with timer.record("bind instructions", "phase"), collection_paused():
                inputs = Inputs(request.check_inputs, [registers[index] for index in plan.inputs])
                outputs = [registers[index] for index in plan.outputs]
                attributes = Attributes(request.name, registers.attributes())
                compiled = compile_plan(
                    plan,
                    registers,
                    called,
                    rebinding,
                    delegates,
                    track,
                    self._instruction_limit,
                    request.optimize,
                )
        return NumpyMethod(inputs, outputs, compiled, request.host, track, attributes)

    def close(self) -> None:
        """Do nothing: loaded Methods keep the parts of the program that they need."""


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
    """Load a method on numpy kernels.

    Args:
        program: The program; the Method refers to its constants without a copy.
        name: The method's name.
        kernels: Kernels by full operator name.
        backends: Backends with their options, by id; backends that are not needed are ignored.
        instance: The named instance, if this is one.
        tracer: The tracer that records events; None records nothing and costs nothing.
        instruction_limit: The most instructions one execute may run.
        optimize: Leave out work, as far as outputs change by rounding at most. Otherwise every instruction
            runs as the program says.

    Raises:
        MethodNotFoundError: the program has no such method.
        MissingOperatorError: there is no kernel for some operators; all are named.
        BackendUnavailableError: a backend is not among `backends`, or cannot run here.
        DelegateError: a backend failed; handles that it had made were destroyed.
        KernelArgumentError: a kernel refuses its arguments.
        ProgramError: the program's data are not where it says.
        OutOfMemoryError: the memory that the program requests is not available.
    """
    plan = program.plan(name)
    request = method_request(program, plan, backends, instance=instance, tracer=tracer, optimize=optimize)
    return guarded_method(MethodMeta(plan), request, NumpyProgram(program, kernels, instruction_limit))


def _output(value: object, output: OutputArray | None = None) -> object:
    """Copy a value to `output`, or to a new array in its dim order, which later executes do not change."""
    if isinstance(value, Tensor):
        value.ensure_memory()
        if output is not None:
            return output.write(value.array)
        return value.array.copy(order="K")
    if isinstance(value, tuple):
        return [_output(item.value if isinstance(item, Register) else item) for item in value]
    return value
