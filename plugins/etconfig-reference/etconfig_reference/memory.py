"""The memory that both backends take for a delegate, computed from its payload as they compute it."""

from __future__ import annotations

import math

from etconfig.plugin.v1 import DelegateFacts, DelegateInvalidCompatibilityError, DelegateMemory
from etconfig_reference.errors import PayloadError
from etconfig_reference.graph import FLOAT32, FLOAT64
from etconfig_reference.numerics import Numerics
from etconfig_reference.options import Accumulate, ReferenceCpuOptions, ReferenceNpuOptions
from etconfig_reference.payload import decode_graph
from etconfig_reference.plan import Plan


def cpu_memory(options: ReferenceCpuOptions, delegate: DelegateFacts) -> DelegateMemory:
    """Return the memory of a delegate on the CPU, which computes with the constants in the payload."""
    accumulate = FLOAT64 if options.accumulate is Accumulate.FP64 else FLOAT32
    return _memory(delegate, Numerics(accumulate=accumulate))


def npu_memory(options: ReferenceNpuOptions, delegate: DelegateFacts) -> DelegateMemory:
    """Return the memory of a delegate on the simulated device, which has the constants in its own memory."""
    return _memory(delegate, Numerics(copies_constants=True))


def _memory(delegate: DelegateFacts, numerics: Numerics) -> DelegateMemory:
    """Return the memory of the prepared constants, and of the results of all operations."""
    try:
        graph = decode_graph(delegate.read(), delegate.named_data)
        held_bytes = Plan(graph).arena_bytes
    except (PayloadError, DelegateInvalidCompatibilityError):  # loading it fails, and takes nothing
        return DelegateMemory(held_bytes=0)
    for constant in graph.constants.values():
        dtype = numerics.prepared_dtype(constant.dtype)
        if numerics.copies(constant.dtype):
            held_bytes += math.prod(constant.shape) * dtype.itemsize
    return DelegateMemory(held_bytes=held_bytes, keeps_payload=not numerics.copies_constants)
