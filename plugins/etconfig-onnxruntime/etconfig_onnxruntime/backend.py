"""`OnnxRuntimeBackend`: runs delegates with sessions of ONNX Runtime, in the memory of the method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from etconfig.aot import decode_compile_specs
from etconfig.plugin.v1 import (
    Availability,
    Backend,
    EffectiveOption,
    ExecuteContext,
    InitContext,
    InvalidPayloadError,
    Processed,
    UpdateContext,
    Value,
)
from etconfig_onnxruntime.effective import effective_options
from etconfig_onnxruntime.engine import engine_availability, import_engine
from etconfig_onnxruntime.errors import DelegateArgumentError, unavailable
from etconfig_onnxruntime.options import OnnxRuntimeOptions
from etconfig_onnxruntime.payload import open_payload
from etconfig_onnxruntime.run_options import RUN_OPTIONS, make_run_options, update_session
from etconfig_onnxruntime.session import build_session

_Array: TypeAlias = "np.ndarray[Any, Any]"

ELEMENT_TYPES: Mapping[str, str] = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    "tensor(int8)": "int8",
    "tensor(uint8)": "uint8",
    "tensor(int16)": "int16",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
}
"""The dtype of each element type of ONNX that arrays of a method can have."""


@dataclass(kw_only=True)
class SessionHandle:
    """One loaded delegate.

    Attributes:
        session: The session.
        binding: The memory that the session reads and writes.
        names: The names of its inputs, then of its outputs.
        dtypes: The dtype of each of them.
        input_count: The number of inputs.
        has_stable_arrays: True if each call passes the same arrays.
        run_options: The options of a run, or None.
        options: The options in force.
        addresses: The addresses and shapes that are bound; empty before the first call.
        copies: For each output that overlaps another array: the array that is bound in its place, and itself.
    """

    session: Any
    binding: Any
    names: tuple[str, ...]
    dtypes: tuple[str, ...]
    input_count: int
    has_stable_arrays: bool
    run_options: Any
    options: OnnxRuntimeOptions
    addresses: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    copies: list[tuple[_Array, _Array]] = field(default_factory=list)


class OnnxRuntimeBackend(Backend[OnnxRuntimeOptions, SessionHandle]):
    """Runs each delegate in a session of its own, which reads and writes the method's arrays in place."""

    def availability(self) -> Availability:
        """Check whether ONNX Runtime is installed, without importing it."""
        return engine_availability()

    def init(
        self,
        context: InitContext[OnnxRuntimeOptions],
        processed: Processed,
        compile_specs: Mapping[str, bytes],
    ) -> SessionHandle:
        """Create the session.

        Raises:
            DelegateInvalidCompatibilityError: the payload is for another backend, version or engine.
            InvalidPayloadError: the payload is damaged, or is not a model that a method can run.
            ValueError: there is a compile spec.
            BackendUnavailableError, ModelRefusedError: as for `build_session`.
        """
        decode_compile_specs({}, compile_specs)  # there are none
        if not context.options.use_per_session_threads:
            raise unavailable(
                "delegates have threads of their own: once the process has pools for all sessions, ONNX "
                "Runtime refuses every session that does not use them",
                "leave use_per_session_threads out",
            )
        ort = import_engine()
        model = open_payload(processed.data, ort.__version__)
        session = build_session(context.options, model)
        processed.free()
        values = (*session.get_inputs(), *session.get_outputs())
        return SessionHandle(
            session=session,
            binding=session.io_binding(),
            names=tuple(value.name for value in values),
            dtypes=tuple(map(_dtype, values)),
            input_count=len(session.get_inputs()),
            has_stable_arrays=context.has_stable_arrays,
            run_options=make_run_options(context.options),
            options=context.options,
        )

    def execute(
        self, context: ExecuteContext[OnnxRuntimeOptions], handle: SessionHandle, args: Sequence[Value]
    ) -> None:
        """Run the session on the arrays. Raises DelegateArgumentError."""
        if not (handle.has_stable_arrays and handle.addresses and len(args) == len(handle.names)):
            _bind(handle, args)
        handle.session.run_with_iobinding(handle.binding, handle.run_options)
        for computed, output in handle.copies:
            np.copyto(output, computed)

    def update(
        self, context: UpdateContext[OnnxRuntimeOptions], handle: SessionHandle, changed: frozenset[str]
    ) -> None:
        """Use new options of runs from the next one on, and pass the session's options to the providers."""
        run_options = make_run_options(context.options)
        update_session(handle.session, context.options, context.previous, changed)
        handle.run_options, handle.options = run_options, context.options

    def effective_options(self, handle: SessionHandle) -> Mapping[str, object]:
        """Return what the session reports, and what is passed to it or to its runs."""
        passed = {
            name: EffectiveOption.assumed(getattr(handle.options, name), "passed with each run")
            for name in RUN_OPTIONS
        }
        return {**effective_options(handle.session), **passed}

    def destroy(self, handle: SessionHandle) -> None:
        """Release the session and what it has bound."""
        handle.binding = handle.session = handle.run_options = None
        handle.copies = []


def _dtype(value: Any) -> str:
    dtype = ELEMENT_TYPES.get(value.type)
    if dtype is None:
        raise InvalidPayloadError(
            cause=f"its model has the value {value.name!r} of the type {value.type}, which is not supported",
            help=f"use one of {', '.join(ELEMENT_TYPES.values())}",
        )
    return dtype


def _bind(handle: SessionHandle, args: Sequence[Value]) -> None:
    """Bind the memory of the arrays, unless it is bound already."""
    arrays = _checked(handle, args)
    addresses = [(array.__array_interface__["data"][0], array.shape) for array in arrays]
    if addresses == handle.addresses:
        return
    handle.addresses, handle.copies = [], []
    for index, array in enumerate(arrays):
        is_input = index < handle.input_count
        bind = handle.binding.bind_input if is_input else handle.binding.bind_output
        bound = array
        if not is_input and any(np.may_share_memory(array, other) for other in arrays[:index]):
            bound = np.empty_like(array)
            handle.copies.append((bound, array))
        address = bound.__array_interface__["data"][0]
        bind(handle.names[index], "cpu", 0, array.dtype.type, array.shape, address)
    handle.addresses = addresses


def _checked(handle: SessionHandle, args: Sequence[Value]) -> list[_Array]:
    if len(args) != len(handle.names):
        raise DelegateArgumentError(
            f"takes {handle.input_count} input(s) and {len(handle.names) - handle.input_count} output(s), "
            f"given {len(args)} arguments"
        )
    arrays = []
    for index, (arg, dtype) in enumerate(zip(args, handle.dtypes, strict=True)):
        if not isinstance(arg, np.ndarray):
            raise DelegateArgumentError(f"argument {index} must be a tensor, given {type(arg).__name__}")
        if arg.dtype.name != dtype or not arg.flags.c_contiguous:
            order = "" if arg.flags.c_contiguous else " that is not contiguous"
            raise DelegateArgumentError(
                f"argument {index} must be contiguous and of {dtype}, given {arg.dtype.name}{order}"
            )
        arrays.append(arg)
    return arrays
