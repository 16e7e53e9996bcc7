"""The options of `ExampleCppBackend`, which `native/backend.cpp` receives by name."""

from __future__ import annotations

from typing import Annotated

from etconfig.plugin.v1 import BackendOptions, Ge, option

MIN_TILE_BYTES = 1024


class ExampleCppOptions(BackendOptions):
    """Options of `ExampleCppBackend`."""

    tile_bytes: Annotated[int, Ge(MIN_TILE_BYTES)] = option(
        "64 KiB",
        applies="load",
        unit="bytes",
        doc="The bytes of its input that a linear layer processes at once; at least one row.",
    )
    num_threads: Annotated[int, Ge(1)] = option(
        1,
        from_fact="cpu.available_cores",
        applies="execute",
        unit="threads",
        doc="The number of workers that share the tiles of a linear layer. Results do not change.",
    )
