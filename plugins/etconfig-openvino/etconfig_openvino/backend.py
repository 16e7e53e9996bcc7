"""`OpenvinoBackend`: runs delegates of programs with OpenVINO."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from etconfig.plugin.v1 import (
    Availability,
    Backend,
    ExecuteContext,
    InitContext,
    Processed,
    UpdateContext,
    Value,
)
from etconfig_openvino import engine, payload, readback
from etconfig_openvino.declared import check_compile_specs
from etconfig_openvino.errors import ModelError
from etconfig_openvino.installed import availability, openvino
from etconfig_openvino.options import OpenvinoOptions
from etconfig_openvino.ports import Ports


class OpenvinoHandle:
    """One loaded delegate: a compiled model, and the request that runs it.

    Args:
        compiled: The `openvino.CompiledModel`.
        options: The options that it was compiled with.
        has_stable_arrays: True if all calls pass the same arrays.
    """

    def __init__(self, compiled: Any, options: OpenvinoOptions, has_stable_arrays: bool) -> None:
        self.compiled = compiled
        self.options = options
        self.ports = Ports(compiled)
        self.stays_bound = has_stable_arrays and self.ports.are_static
        self.is_bound = False
        self.process_id = os.getpid()


class OpenvinoBackend(Backend[OpenvinoOptions, OpenvinoHandle]):
    """Runs blobs that ExecuTorch's partitioner compiled, and OpenVINO IR and ONNX models."""

    def availability(self) -> Availability:
        """Report whether OpenVINO is installed and new enough, without importing it."""
        return availability()

    def init(
        self,
        context: InitContext[OpenvinoOptions],
        processed: Processed,
        compile_specs: Mapping[str, bytes],
    ) -> OpenvinoHandle:
        """Compile or import the payload with the instance's options, from a copy that OpenVINO keeps.

        Raises:
            BackendUnavailableError, DelegateInvalidCompatibilityError, InvalidPayloadError, ModelError,
            PropertyError, AdjustedValueError: see `payload.load`.
            PayloadError: a compile spec is unknown or wrongly encoded.
        """
        check_compile_specs(compile_specs)
        compiled = payload.load(context.options, processed.data, openvino().Core())
        processed.free()
        return OpenvinoHandle(compiled, context.options, context.has_stable_arrays)

    def execute(
        self, context: ExecuteContext[OpenvinoOptions], handle: OpenvinoHandle, args: Sequence[Value]
    ) -> None:
        """Run the model on the memory of the arguments.

        Raises:
            PayloadError: the arguments do not fit the model.
            ModelError: the process was forked after the model was loaded, or OpenVINO fails.
        """
        ports = handle.ports
        if os.getpid() != handle.process_id:
            raise ModelError("the process was forked after the model was loaded; load it again here")
        if not handle.is_bound:
            ports.check_count(args)
            ports.bind(args)
            handle.is_bound = handle.stays_bound
        if context.tracer.is_enabled:
            with context.tracer.span("openvino.infer"):
                ports.run()
        else:
            ports.run()
        if not ports.are_static:
            ports.copy_outputs(args, context.resize_output)

    def update(
        self, context: UpdateContext[OpenvinoOptions], handle: OpenvinoHandle, changed: frozenset[str]
    ) -> None:
        """Give the changed options to the model. Raises ModelError."""
        engine.update(handle.compiled, context.options, context.previous, changed)
        handle.options = context.options

    def effective_options(self, handle: OpenvinoHandle) -> Mapping[str, object]:
        """Return what OpenVINO reports to use, with a reason for each option that it does not report."""
        return readback.effective(handle.compiled)

    def destroy(self, handle: OpenvinoHandle) -> None:
        """Release the request, then the model."""
        del handle.ports, handle.compiled
