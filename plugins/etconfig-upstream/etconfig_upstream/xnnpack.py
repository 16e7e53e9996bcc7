"""`XnnpackBackend`: XNNPACK on CPUs. Source: backends/xnnpack/runtime, extension/threadpool."""

from __future__ import annotations

import enum
from typing import Annotated

from etconfig.plugin.v1 import (
    Advice,
    BackendOptions,
    BackendSpec,
    Capabilities,
    Consumes,
    DelegateFacts,
    DelegateMemory,
    Ge,
    Wire,
    model_validator,
    option,
)
from etconfig_upstream.api import API
from etconfig_upstream.xnnpack_data import data_names, describe, value_sizes


class WorkspaceSharing(enum.Enum):
    """The instances that share scratch memory."""

    DISABLED = "disabled"
    PER_MODEL = "per_model"
    GLOBAL = "global"


_POOL = Consumes(
    "threads",
    counts={None: "cpu.performance_cores"},
    only_if={"single_threaded": False},
    otherwise=1,
    shared_if={},
)
"""Instances of one size share a pool; one without a pool runs on the thread that calls it."""


class XnnpackOptions(BackendOptions):
    """Options of `XnnpackBackend`. Without a value, the default of the ExecuTorch build applies."""

    workspace_sharing_mode: WorkspaceSharing | None = option(
        None,
        applies="load",
        tune=True,
        wire=Wire(key="workspace_sharing_mode", values={"disabled": 0, "per_model": 1, "global": 2}),
        doc="The instances that share scratch memory: none, those of one program, or all. Sharing saves "
        "memory, but instances that share execute one after another.",
    )
    weight_cache_enabled: bool | None = option(
        None,
        applies="load",
        tune=True,
        doc="Pack weights once for all instances that use them. Instances that share a cache execute one "
        "after another.",
    )
    packed_cache_path: str | None = option(
        None,
        applies="load",
        doc="A file for packed weights, which are then mapped instead of kept in memory. Needs "
        "weight_cache_enabled.",
    )
    num_threads: Annotated[int, Ge(1)] | None = option(
        None,
        applies="load",
        tune=True,
        unit="threads",
        consumes=_POOL,
        wire=Wire(key=None),
        doc="The size of the thread pool of this instance; instances of one size share a pool. Without a "
        "value, it uses the process's pool: one thread per performance core, regardless of quotas and "
        "affinity.",
    )
    single_threaded: bool = option(
        False,
        applies="load",
        wire=Wire(key=None),
        doc="Run this instance on the thread that calls it, without the pool.",
    )

    @model_validator(mode="after")
    def _check_cache(self) -> XnnpackOptions:
        if self.packed_cache_path is not None and self.weight_cache_enabled is not True:
            raise ValueError("packed_cache_path needs weight_cache_enabled = true, or it has no effect")
        return self


_FAST_CORES = "Slow cores and second threads of a core slow the others down, since all wait for the last."

ADVICE = (
    Advice("num_threads", expr="min(cpu.available_cores, cpu.performance_cores)", reason=_FAST_CORES),
    Advice("num_threads", expr="cpu.performance_cores", reason=_FAST_CORES),
    Advice("num_threads", expr="min(cpu.available_cores, cpu.physical_cores)", reason=_FAST_CORES),
    Advice("num_threads", expr="cpu.physical_cores", reason=_FAST_CORES),
    Advice("num_threads", expr="cpu.available_cores", reason="More threads than cores wait for each other."),
)
"""One thread per performance core, but no more than this process may use; from the facts that are known."""


def memory(options: XnnpackOptions, delegate: DelegateFacts) -> DelegateMemory:
    """Return the memory of a delegate, as measured with ExecuTorch 1.5.1: `benchmarks/bench_need.py`.

    Packed weights take as much as the stored ones, and all are packed before the payload is freed. Delegates
    share the memory of the values between their operations, unless an option says otherwise.
    """
    pointer_bytes, workspace_bytes = value_sizes(bytes(delegate.read()))
    own_bytes = workspace_bytes if options.workspace_sharing_mode is WorkspaceSharing.DISABLED else 0
    return DelegateMemory(
        held_bytes=delegate.stored_bytes,
        running_bytes=pointer_bytes + own_bytes,
        workspace_bytes=workspace_bytes - own_bytes,
        is_shared=options.weight_cache_enabled is True,
        is_measured=True,
    )


SPEC = BackendSpec(
    id="XnnpackBackend",
    doc="XNNPACK: optimized kernels on CPUs.",
    options=XnnpackOptions,
    api=API,
    # for floating-point programs; quantized ones have int8 inputs, too
    capabilities=Capabilities(
        dim_orders=frozenset({"contiguous", "channels_last"}),
        supports_dynamic_shapes=True,
        uses_named_data=True,
    ),
    advice=ADVICE,
    data_names=data_names,
    describe_payload=describe,
    engine=("executorch",),
    memory=memory,
)
