"""The options of both reference backends. Neither numpy nor a payload is needed to know them."""

from __future__ import annotations

import enum
from typing import Annotated

from etconfig.plugin.v1 import BackendOptions, Ge, Le, model_validator, option

MIN_SCRATCH_BYTES = 4096
"""Room for 1024 numbers; fp64 sums need twice as much."""


class Accumulate(enum.Enum):
    """The type that sums are kept in."""

    FP32 = "fp32"
    FP64 = "fp64"


class Precision(enum.Enum):
    """The type that weights and results are rounded to."""

    FP32 = "fp32"
    FP16 = "fp16"


class PowerMode(enum.Enum):
    """How fast the simulated device is clocked."""

    LOW = "low"
    BALANCED = "balanced"
    HIGH = "high"


class Fault(enum.Enum):
    """What the simulated device fails to do."""

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
        doc="How many workers share the tiles of a convolution or linear layer. Results do not "
        "depend on it. Work that fits into one tile runs on one worker.",
    )
    scratch_bytes: Annotated[int, Ge(MIN_SCRATCH_BYTES)] = option(
        "1 MiB",
        applies="load",
        unit="bytes",
        doc="How much data one tile may hold: the gathered pixels of a convolution, the weight rows "
        "of a linear layer. Smaller tiles fit a cache and keep more workers busy; larger ones "
        "have less overhead. A tile holds one row at least.",
    )
    accumulate: Accumulate = option(
        "fp32",
        applies="load",
        doc="The type that sums are kept in. With fp64 the weights take twice the memory.",
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
        doc="The core of the simulated device. Cores 0 and 1 do 64 multiply-accumulates in a cycle, "
        "cores 2 and 3 do 16.",
    )
    power_mode: PowerMode = option(
        "balanced",
        applies="execute",
        doc="The clock of the simulated device: low is 5 MHz, balanced 10 MHz, high 20 MHz.",
    )
    precision: Precision = option(
        "fp32",
        applies="load",
        doc="What weights and the result of every operation are rounded to.",
    )
    fault: Fault = option(
        "none",
        applies="execute",
        doc="Makes the device fail at init, at each execute, or at the update that sets it: for tests of "
        "what surrounds a backend.",
    )
