"""`ReferenceCpuBackend`: computes delegates with numpy on the workers of the method instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from etconfig.plugin.v1 import Backend, ExecuteContext, InitContext, Processed, UpdateContext, Value
from etconfig_reference.delegate import Delegate
from etconfig_reference.graph import FLOAT32, FLOAT64
from etconfig_reference.numerics import Numerics
from etconfig_reference.options import Accumulate, ReferenceCpuOptions
from etconfig_reference.support import load_graph
from etconfig_reference.work import Limits, Work

_DTYPES: Mapping[Accumulate, np.dtype[Any]] = {Accumulate.FP32: FLOAT32, Accumulate.FP64: FLOAT64}


def cpu_limits(options: ReferenceCpuOptions) -> Limits:
    """Return the limits that options set."""
    return Limits(
        num_threads=options.num_threads,
        tile_bytes=options.scratch_bytes,
        accumulate=_DTYPES[options.accumulate],
    )


@dataclass(kw_only=True)
class CpuHandle:
    """One loaded delegate.

    Attributes:
        delegate: The verified payload.
        options: The options in force.
    """

    delegate: Delegate
    options: ReferenceCpuOptions


class ReferenceCpuBackend(Backend[ReferenceCpuOptions, CpuHandle]):
    """Runs delegates tile by tile, on up to `num_threads` workers."""

    def init(
        self,
        context: InitContext[ReferenceCpuOptions],
        processed: Processed,
        compile_specs: Mapping[str, bytes],
    ) -> CpuHandle:
        """Read and verify the payload. Raises PayloadError or CompileSpecError."""
        graph = load_graph("ReferenceCpuBackend", context, processed, compile_specs)
        numerics = Numerics(accumulate=_DTYPES[context.options.accumulate])
        delegate = Delegate(graph, allocator=context.allocator, numerics=numerics)
        return CpuHandle(delegate=delegate, options=context.options)

    def execute(
        self, context: ExecuteContext[ReferenceCpuOptions], handle: CpuHandle, args: Sequence[Value]
    ) -> None:
        """Compute the outputs. Raises DelegateArgumentError."""
        limits = vars(cpu_limits(context.options))
        work = Work(temporary=context.temporary, parallel_for=context.parallel_for, **limits)
        handle.delegate.run(context, args, work)

    def update(
        self, context: UpdateContext[ReferenceCpuOptions], handle: CpuHandle, changed: frozenset[str]
    ) -> None:
        """Use new options from the next execute on."""
        handle.options = context.options

    def effective_options(self, handle: CpuHandle) -> Mapping[str, object]:
        """Return all options; the backend adjusts none of them."""
        return dict(handle.options)
