"""`TvmBackend`: runs delegates that were compiled ahead of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from etconfig.aot import decode_compile_specs
from etconfig.plugin.v1 import (
    Availability,
    Backend,
    EffectiveOption,
    ExecuteContext,
    InitContext,
    Processed,
    UpdateContext,
    Value,
)
from etconfig_tvm.arrays import empty_aligned, is_aligned, same_memory
from etconfig_tvm.errors import DeviceError
from etconfig_tvm.installed import COMPILER, availability, version_of
from etconfig_tvm.options import Device, TvmOptions
from etconfig_tvm.payload import COMPILE_SPECS, open_payload
from etconfig_tvm.private_file import private_file
from etconfig_tvm.runtime import Runtime, load_runtime
from etconfig_tvm.threads import use_threads

_Array = NDArray[Any]


@dataclass(kw_only=True, eq=False)
class Handle:
    """One loaded delegate.

    Attributes:
        runtime: TVM's runtime.
        machine: The virtual machine, with memory of its own.
        run: Its function `main`: takes the inputs, and returns the outputs.
        input_count: The number of inputs.
        has_stable_arrays: True if every call gets the same arrays.
        options: The options in force.
        tensors: The inputs as TVM's tensors, from the first call on.
        copies: Memory of this delegate for the inputs that TVM cannot read where they are, by index.
    """

    runtime: Runtime
    machine: Any
    run: Any
    input_count: int
    has_stable_arrays: bool
    options: TvmOptions
    tensors: tuple[Any, ...] = ()
    copies: dict[int, _Array] = field(default_factory=dict)


class TvmBackend(Backend[TvmOptions, Handle]):
    """Loads the library of a delegate from a private directory, and calls it."""

    def availability(self) -> Availability:
        """Report whether TVM's runtime is installed, without importing it."""
        return availability()

    def init(
        self, context: InitContext[TvmOptions], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Handle:
        """Check the payload against this device, then load its library.

        Raises:
            DelegateInvalidCompatibilityError: the payload is for another device or TVM.
            DeviceError: `device` is not the processor.
            ValueError: a compile spec is unknown.
            BackendUnavailableError, LibraryError, ThreadPoolError: see `etconfig_tvm.engine.build`.
        """
        options = context.options
        if options.device is not Device.CPU:
            raise DeviceError(
                problem=f"delegates run on the cpu, and device is {options.device.value!r}",
                help='set device to "cpu"',
            )
        decode_compile_specs(COMPILE_SPECS, compile_specs)
        library = open_payload(processed.data, version_of(COMPILER))
        runtime = load_runtime(options.runtime_library)
        use_threads(runtime, options)
        with private_file(library, ".so") as path:
            module = runtime.load_library(path)
        library.release()
        processed.free()
        machine = runtime.start_machine(module, Device.CPU, 0, options.memory)
        return Handle(
            runtime=runtime,
            machine=machine,
            run=machine["main"],
            input_count=int(machine["get_function_arity"]("main")),
            has_stable_arrays=context.has_stable_arrays,
            options=options,
        )

    def execute(self, context: ExecuteContext[TvmOptions], handle: Handle, args: Sequence[Value]) -> None:
        """Run the library on the calling thread and its pool, and copy the results to the outputs."""
        use_threads(handle.runtime, context.options)
        inputs, outputs = args[: handle.input_count], args[handle.input_count :]
        if not handle.tensors:
            _bind(handle, inputs)
        for index, copy in handle.copies.items():
            np.copyto(copy, inputs[index])  # type: ignore[arg-type]  # the program has arrays here
        results = handle.run(*handle.tensors)
        for output, result in zip(outputs, results, strict=True):
            np.copyto(output, np.from_dlpack(result))  # type: ignore[arg-type]

    def update(self, context: UpdateContext[TvmOptions], handle: Handle, changed: frozenset[str]) -> None:
        """Use the new threads from the next execute on, which raises ThreadPoolError if it cannot have them.

        The pool belongs to the thread that executes, so nothing can be set up here.
        """
        handle.options = context.options

    def effective_options(self, handle: Handle) -> Mapping[str, object]:
        """Return the threads as TVM reports them for the calling thread, and what was passed on."""
        options = handle.options
        passed_on = "passed to TVM's virtual machine, which does not report it"
        return {
            "num_threads": _threads_in_force(handle),
            "cores": EffectiveOption.assumed(options.cores, "passed to TVM, which does not report it"),
            "pin_threads": EffectiveOption.assumed(
                options.pin_threads, "passed to TVM, which does not report it"
            ),
            "memory": EffectiveOption.assumed(options.memory, passed_on),
            "device": options.device,
            "device_index": EffectiveOption.assumed(options.device_index, "delegates run on the processor"),
            "runtime": EffectiveOption.assumed(options.runtime, "delegates need the minimal runtime only"),
            "runtime_library": EffectiveOption.assumed(
                options.runtime_library, "loaded into this process once"
            ),
        }

    def destroy(self, handle: Handle) -> None:
        """Release the virtual machine and its memory."""
        handle.tensors = ()
        handle.copies.clear()
        handle.run = handle.machine = None


def _threads_in_force(handle: Handle) -> EffectiveOption:
    """Return the threads of the calling thread's pool, unless the next execute will change them."""
    wanted = handle.options.num_threads
    if handle.runtime.count_threads() == wanted:
        return EffectiveOption.read_back(wanted, "NumThreads of the calling thread's pool")
    return EffectiveOption.assumed(wanted, "set by the next execute, for the thread that calls it")


def _bind(handle: Handle, inputs: Sequence[Any]) -> None:
    """Make a tensor of each input: of its own memory if that stays and is aligned, otherwise of a copy."""
    arrays = []
    for index, array in enumerate(inputs):
        if handle.has_stable_arrays and is_aligned(array):
            arrays.append(same_memory(array))
        else:
            handle.copies[index] = empty_aligned(array.shape, array.dtype)
            arrays.append(handle.copies[index])
    handle.tensors = tuple(map(handle.runtime.tensor, arrays))
