"""Runs delegates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from acme_vector.options import AcmeVectorOptions, Precision
from acme_vector.payload import decode
from etconfig.plugin.v1 import (
    Availability,
    Backend,
    ExecuteContext,
    InitContext,
    Processed,
    UpdateContext,
    Value,
)

_FUNCTIONS = {
    "abs": lambda x: np.abs(x, out=x),
    "neg": lambda x: np.negative(x, out=x),
    "relu": lambda x: np.maximum(x, 0, out=x),
}


@dataclass
class Handle:
    """One loaded delegate."""

    operations: tuple[str, ...]
    options: AcmeVectorOptions


class AcmeVectorBackend(Backend[AcmeVectorOptions, Handle]):
    """Runs each delegate tile by tile, on the workers of the method instance."""

    def availability(self) -> Availability:
        return Availability.yes()  # or: Availability.no("no Acme device", "load the driver acme_vu")

    def init(
        self,
        context: InitContext[AcmeVectorOptions],
        processed: Processed,
        compile_specs: Mapping[str, bytes],
    ) -> Handle:
        if compile_specs:
            raise ValueError(f"compile spec {min(compile_specs)!r} is not known; there are none")
        handle = Handle(decode(processed.data), context.options)
        processed.free()  # nothing refers to the bytes any more
        return handle

    def execute(
        self, context: ExecuteContext[AcmeVectorOptions], handle: Handle, args: Sequence[Value]
    ) -> None:
        source, result = args
        options = context.options
        rows = max(1, options.tile_bytes // max(1, result[0].nbytes))
        tiles = [slice(start, start + rows) for start in range(0, len(result), rows)]

        def run_tile(index: int) -> None:
            tile = result[tiles[index]]
            np.copyto(tile, source[tiles[index]])
            for name in handle.operations:
                _FUNCTIONS[name](tile)
            if options.saturate is not None:
                np.clip(tile, -options.saturate, options.saturate, out=tile)
            if options.precision is Precision.FP16:
                np.copyto(tile, tile.astype(np.float16))

        with context.tracer.span("acme tiles"):
            context.parallel_for(len(tiles), run_tile, options.num_threads)

    def update(
        self, context: UpdateContext[AcmeVectorOptions], handle: Handle, changed: frozenset[str]
    ) -> None:
        handle.options = context.options

    def effective_options(self, handle: Handle) -> Mapping[str, object]:
        return dict(handle.options)
