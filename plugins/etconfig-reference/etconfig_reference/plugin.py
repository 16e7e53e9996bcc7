"""The specs of both reference backends, which etconfig loads.

numpy and the backends are imported only when a backend is created, so that configurations can be
checked quickly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from etconfig.plugin.v1 import (
    Advice,
    ApiRange,
    Backend,
    BackendRequest,
    BackendSpec,
    CompileSpecs,
    DelegateFacts,
    DelegateMemory,
    InvalidPayloadError,
    PayloadDescription,
    hookimpl,
)
from etconfig_reference.declared import CAPABILITIES, COMPILE_SPECS, NPU_VARIABLE
from etconfig_reference.options import MIN_SCRATCH_BYTES, ReferenceCpuOptions, ReferenceNpuOptions

_API = ApiRange(min=1, built=1)


def make_cpu_backend() -> Backend[Any, Any]:
    """Return a `ReferenceCpuBackend`."""
    from etconfig_reference.cpu import ReferenceCpuBackend

    return ReferenceCpuBackend()


def cpu_memory(options: ReferenceCpuOptions, delegate: DelegateFacts) -> DelegateMemory:
    """Return the memory of a delegate; see `etconfig_reference.memory`."""
    from etconfig_reference import memory

    return memory.cpu_memory(options, delegate)


def npu_memory(options: ReferenceNpuOptions, delegate: DelegateFacts) -> DelegateMemory:
    """Return the memory of a delegate; see `etconfig_reference.memory`."""
    from etconfig_reference import memory

    return memory.npu_memory(options, delegate)


def describe_payload(payload: bytes, compile_specs: CompileSpecs) -> PayloadDescription:
    """Return the operations of a payload, which runs on any device.

    Raises:
        InvalidPayloadError: it is damaged, or another plugin's.
        DelegateInvalidCompatibilityError: its format has another version.
    """
    from etconfig_reference.errors import PayloadError
    from etconfig_reference.payload import operators_of

    try:
        return PayloadDescription(operators=operators_of(memoryview(payload)))
    except PayloadError as error:
        raise InvalidPayloadError(cause=str(error)) from error


def make_npu_backend() -> Backend[Any, Any]:
    """Return a `ReferenceNpuBackend`."""
    from etconfig_reference.npu import ReferenceNpuBackend

    return ReferenceNpuBackend()


CPU_ADVICE = (
    Advice(
        "scratch_bytes",
        expr=f"max({MIN_SCRATCH_BYTES}, cpu.cache.l2 / 2)",
        reason="Tiles of half the level 2 cache leave the other half to the results.",
    ),
)
"""The recommendation for `ReferenceCpuBackend`."""

SPECS: Mapping[str, BackendSpec] = {
    spec.id: spec
    for spec in (
        BackendSpec(
            id="ReferenceCpuBackend",
            doc="Computes delegates with numpy, on several workers.",
            options=ReferenceCpuOptions,
            api=_API,
            factory=make_cpu_backend,
            compile_specs=COMPILE_SPECS,
            capabilities=CAPABILITIES["ReferenceCpuBackend"],
            advice=CPU_ADVICE,
            memory=cpu_memory,
            describe_payload=describe_payload,
        ),
        BackendSpec(
            id="ReferenceNpuBackend",
            doc="Simulates an accelerator with four cores: real results, simulated time.",
            options=ReferenceNpuOptions,
            api=_API,
            factory=make_npu_backend,
            compile_specs=COMPILE_SPECS,
            environment={NPU_VARIABLE: "`off` makes the simulated device unavailable; `on` is the default."},
            capabilities=CAPABILITIES["ReferenceNpuBackend"],
            memory=npu_memory,
            describe_payload=describe_payload,
        ),
    )
}


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """Return the spec of the requested backend."""
    return SPECS[request.name]
