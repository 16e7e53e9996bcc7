"""`TvmBackend`: runs delegates that were compiled ahead of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import memmove
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
from etconfig_tvm.threads import check_threads, threads_in_force, use_threads

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
        places: The addresses and sizes in bytes of the outputs, if they stay; from the first call on.
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
    places: tuple[tuple[int, int], ...] = ()


class TvmBackend(Backend[TvmOptions, Handle]):
    """Loads a private copy of a delegate's library, and calls it."""

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
            BackendUnavailableError, LibraryError, ThreadPoolError, PrivateFileError: see
                `etconfig_tvm.engine.build`.
        """
        options = context.options
        if options.device is not Device.CPU:
            raise DeviceError(
                problem=f"delegates run on the cpu, and device is {options.device.value!r}",
                help='set device to "cpu"',
            )
        decode_compile_specs(COMPILE_SPECS, compile_specs)
        library = open_payload(processed.data, version_of(COMPILER))
        check_threads(options)
        runtime = load_runtime(options.runtime_library)
        with private_file([library]) as path:
            module = runtime.load_library(path, "of the delegate")
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
        if not handle.tensors:
            _bind(handle, args[: handle.input_count])
        for index, copy in handle.copies.items():
            np.copyto(copy, args[index])  # type: ignore[arg-type]  # the program has arrays here
        results = handle.run(*handle.tensors)
        if handle.places:
            for index, (address, size_bytes) in enumerate(handle.places):
                memmove(address, results[index].data_ptr(), size_bytes)
        else:
            _copy_results(handle, results, args[handle.input_count :])

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
            **threads_in_force(handle.runtime, options),
            "memory": EffectiveOption.assumed(options.memory, passed_on),
            "device": EffectiveOption.assumed(options.device, "delegates run on the processor"),
            "device_index": EffectiveOption.assumed(options.device_index, "delegates run on the processor"),
            "checksum": EffectiveOption.observed(options.checksum, "the SHA-256 of the payload was compared"),
            "runtime": EffectiveOption.assumed(options.runtime, "delegates need the minimal runtime only"),
            "runtime_library": EffectiveOption.observed(
                options.runtime_library, f"loaded from {handle.runtime.path}"
            ),
        }

    def destroy(self, handle: Handle) -> None:
        """Release the virtual machine and its memory."""
        handle.tensors = handle.places = ()
        handle.copies.clear()
        handle.run = handle.machine = None


def _copy_results(handle: Handle, results: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Copy the results to the outputs, and keep the addresses of outputs that stay where they are.

    With the addresses, later calls make no arrays of numpy, which takes 2 us for each output.
    """
    arrays = [np.from_dlpack(result) for result in results]
    for output, array in zip(outputs, arrays, strict=True):
        np.copyto(output, array)
    is_plain = all(
        output.flags.c_contiguous and array.flags.c_contiguous and output.dtype == array.dtype
        for output, array in zip(outputs, arrays, strict=True)
    )
    if handle.has_stable_arrays and is_plain:
        handle.places = tuple((output.ctypes.data, output.nbytes) for output in outputs)


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
