"""The options of `ExampleNpuBackend`. Neither numpy nor the device is needed to know them."""

from __future__ import annotations

from typing import Annotated

from etconfig.plugin.v1 import BackendOptions, Ge, option

MIN_TILE_BYTES = 1024


class ExampleNpuOptions(BackendOptions):
    """Options of `ExampleNpuBackend`."""

    tile_bytes: Annotated[int, Ge(MIN_TILE_BYTES)] = option(
        "64 KiB",
        applies="load",
        unit="bytes",
        doc="How many bytes of its input a linear layer takes in hand at once; one row at least.",
    )
    num_threads: Annotated[int, Ge(1)] = option(
        1,
        from_fact="cpu.available_cores",
        applies="execute",
        unit="threads",
        doc="How many workers share the tiles of a linear layer. Results do not depend on it.",
    )
