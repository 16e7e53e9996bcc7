"""The memory that both backends take for a delegate, computed from its payload as they compute it."""

from __future__ import annotations

import math

from etconfig.plugin.v1 import DelegateFacts, DelegateInvalidCompatibilityError, DelegateMemory
from etconfig_reference.cpu import cpu_limits
from etconfig_reference.errors import PayloadError
from etconfig_reference.npu import npu_limits, npu_numerics
from etconfig_reference.numerics import Numerics
from etconfig_reference.options import ReferenceCpuOptions, ReferenceNpuOptions
from etconfig_reference.payload import decode_graph
from etconfig_reference.plan import Plan
from etconfig_reference.work import Limits


def cpu_memory(options: ReferenceCpuOptions, delegate: DelegateFacts) -> DelegateMemory:
    """Return the memory of a delegate on the CPU, which computes with the constants in the payload."""
    limits = cpu_limits(options)
    return _memory(delegate, Numerics(accumulate=limits.accumulate), limits)


def npu_memory(options: ReferenceNpuOptions, delegate: DelegateFacts) -> DelegateMemory:
    """Return the memory of a delegate on the simulated device, which has the constants in its own memory."""
    return _memory(delegate, npu_numerics(options), npu_limits())


def _memory(delegate: DelegateFacts, numerics: Numerics, limits: Limits) -> DelegateMemory:
    """Return the memory of the prepared constants, and the temporary memory, which stays reserved."""
    try:
        graph = decode_graph(delegate.read(), delegate.named_data)
        running_bytes = Plan(graph).temporary_bytes(limits)
    except (PayloadError, DelegateInvalidCompatibilityError):  # loading it fails, and takes nothing
        return DelegateMemory(held_bytes=0)
    held_bytes = 0
    for constant in graph.constants.values():
        dtype = numerics.prepared_dtype(constant.dtype)
        if numerics.copies(constant.dtype):
            held_bytes += math.prod(constant.shape) * dtype.itemsize
    return DelegateMemory(
        held_bytes=held_bytes,
        running_bytes=running_bytes,
        keeps_payload=not numerics.copies_constants,
    )
