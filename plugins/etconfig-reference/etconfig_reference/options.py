"""The options of both reference backends. This module imports neither numpy nor the backends."""

from __future__ import annotations

import enum
from typing import Annotated

from etconfig.plugin.v1 import BackendOptions, Ge, Le, model_validator, option

MIN_SCRATCH_BYTES = 4096
"""Enough for 1024 numbers; fp64 sums need twice as much."""


class Accumulate(enum.Enum):
    """The type in which sums are accumulated."""

    FP32 = "fp32"
    FP64 = "fp64"


class Precision(enum.Enum):
    """The type that weights and results are rounded to."""

    FP32 = "fp32"
    FP16 = "fp16"


class PowerMode(enum.Enum):
    """The clock rate of the simulated device."""

    LOW = "low"
    BALANCED = "balanced"
    HIGH = "high"


class Fault(enum.Enum):
    """The call in which the simulated device fails."""

    NONE = "none"
    INIT = "init"
    EXECUTE = "execute"
    UPDATE = "update"


class ReferenceCpuOptions(BackendOptions):
    """Options of `ReferenceCpuBackend`."""

    num_threads: Annotated[int, Ge(1)] = option(
        1,
        from_fact="cpu.available_cores",
        applies="execute",
        unit="threads",
        tune=True,
        consumes="threads",
        doc="The number of workers that share the tiles of a convolution or linear layer. Results do "
        "not depend on it. Work that fits into one tile runs on one worker.",
    )
    scratch_bytes: Annotated[int, Ge(MIN_SCRATCH_BYTES)] = option(
        "1 MiB",
        applies="load",
        unit="bytes",
        consumes="memory",
        tune=("256 KiB", "1 MiB", "4 MiB"),
        doc="The largest size of a tile: the gathered pixels of a convolution, the weight rows of a "
        "linear layer. Smaller tiles fit into a cache and keep more workers busy; larger ones have "
        "less overhead. A tile has at least one row.",
    )
    accumulate: Accumulate = option(
        "fp32",
        applies="load",
        tune=True,
        doc="The type in which sums are accumulated. With fp64, weights take twice the memory.",
    )

    @model_validator(mode="after")
    def _check_scratch(self) -> ReferenceCpuOptions:
        needed_bytes = 2 * MIN_SCRATCH_BYTES
        if self.accumulate is Accumulate.FP64 and self.scratch_bytes < needed_bytes:
            raise ValueError(
                f"scratch_bytes must be at least {needed_bytes} when accumulate is fp64, "
                f"not {self.scratch_bytes}"
            )
        return self


class ReferenceNpuOptions(BackendOptions):
    """Options of `ReferenceNpuBackend`."""

    core: Annotated[int, Ge(0), Le(3)] = option(
        0,
        applies="load",
        tune=True,
        doc="The core of the simulated device. Cores 0 and 1 do 64 multiply-accumulates per cycle, "
        "cores 2 and 3 do 16.",
    )
    power_mode: PowerMode = option(
        "balanced",
        applies="execute",
        tune=True,
        doc="The clock of the simulated device: low is 5 MHz, balanced 10 MHz, high 20 MHz.",
    )
    precision: Precision = option(
        "fp32",
        applies="load",
        doc="The type to which weights and the result of every operation are rounded.",
    )
    fault: Fault = option(
        "none",
        applies="execute",
        doc="Makes the device fail in init, in each execute, or in the update that sets it: for tests of "
        "the code around a backend.",
    )
