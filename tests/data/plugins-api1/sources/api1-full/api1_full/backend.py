"""A backend that implements every method and uses every part of what it is given."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from api1_full.options import FullOptions
from etconfig.plugin.v1 import (
    EXECUTORCH,
    Availability,
    Backend,
    BoundBackend,
    Capabilities,
    ExecuteContext,
    InitContext,
    Processed,
    Tracer,
    UpdateContext,
    Value,
    WireOption,
    wire_options,
)

CAPABILITIES = Capabilities(
    dtypes=frozenset({"float32"}), supports_dynamic_shapes=True, frees_processed=True
)
EVENTS: list[str] = []
"""What the core called, for the tests that look at it."""


@dataclass
class Handle:
    """One delegate."""

    factor: float
    bias: Any
    name: str
    wire: list[WireOption]
    scale: float


class FullBackend(Backend[FullOptions, Handle]):
    """`y = scale * factor * x + bias`, with the factor from the payload and the bias from named data."""

    def availability(self) -> Availability:
        return Availability.yes()

    def init(
        self, context: InitContext[FullOptions], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Handle:
        tracer: Tracer = context.tracer
        with tracer.span("decode", debug_id=7):
            (factor,) = struct.unpack("<f", processed.data)
            processed.free()
        stored = np.frombuffer(context.named_data["api1.bias"], np.float32)
        bias = context.allocator.allocate(stored.nbytes, alignment_bytes=64).view(np.float32)
        bias[:] = stored
        wire, problems = wire_options("Api1Full", context.options, EXECUTORCH, handled=("scale", "num_threads"))
        assert not problems, problems
        name = f"{context.method_name}@{context.instance_name}/{context.delegate_index}"
        EVENTS.append(f"init {name} on {compile_specs['device'].decode()}")
        return Handle(factor, bias, name, wire, context.options.scale)

    def execute(
        self, context: ExecuteContext[FullOptions], handle: Handle, args: Sequence[Value]
    ) -> None:
        x, y = args
        assert isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
        if x.dtype.name not in CAPABILITIES.dtypes:
            raise ValueError(f"{x.dtype.name} is not among {', '.join(CAPABILITIES.dtypes)}")
        if y.shape != x.shape:
            y = context.resize_output(1, x.shape)
        scaled = context.temporary.allocate(x.nbytes).view(np.float32).reshape(x.shape)

        def scale_row(row: int) -> None:
            scaled[row] = context.options.scale * handle.factor * x[row]

        if context.tracer.is_enabled:
            EVENTS.append(f"execute {handle.name} with {context.resource!r}")
        with context.tracer.span("scale"):
            context.parallel_for(len(x), scale_row, context.options.num_threads)
        np.add(scaled, handle.bias[: len(x)], out=y)

    def update(self, context: UpdateContext[FullOptions], handle: Handle, changed: frozenset[str]) -> None:
        if context.options.scale == 13.0:
            raise RuntimeError("13 brings bad luck")
        handle.scale = context.options.scale
        EVENTS.append(f"update {handle.name}: {', '.join(sorted(changed))} from {context.previous.scale}")

    def effective_options(self, handle: Handle) -> Mapping[str, object]:
        return {"scale": handle.scale, "label": next(each.value for each in handle.wire if each.key == "name")}

    def destroy(self, handle: Handle) -> None:
        EVENTS.append(f"destroy {handle.name}")


class AbsentBackend(FullBackend):
    """Cannot run anywhere."""

    def availability(self) -> Availability:
        return Availability.no("there is no /dev/api1", "plug it in")


def options_of(bound: BoundBackend) -> FullOptions:
    """The options of this backend, for the executor."""
    options = bound.options
    assert isinstance(options, FullOptions)
    return options
