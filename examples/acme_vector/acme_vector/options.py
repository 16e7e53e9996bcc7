"""The options of `AcmeVectorBackend`."""

from __future__ import annotations

import enum
from typing import Annotated

from etconfig.plugin.v1 import BackendOptions, Ge, Gt, model_validator, option

FLOAT16_MAX = 65504.0


class Precision(enum.Enum):
    """The precision to which results are rounded."""

    FP32 = "fp32"
    FP16 = "fp16"


class AcmeVectorOptions(BackendOptions):
    """Options of `AcmeVectorBackend`."""

    precision: Precision = option("fp32", applies="load", doc="What results are rounded to.")
    saturate: Annotated[float, Gt(0)] | None = option(
        None, applies="execute", doc="Results are cut off at this magnitude; by default they are not."
    )
    tile_bytes: Annotated[int, Ge(1024)] = option(
        "64 KiB", applies="execute", unit="bytes", doc="How much data one job takes in hand."
    )
    num_threads: Annotated[int, Ge(1)] = option(
        1,
        from_fact="cpu.available_cores",
        applies="execute",
        unit="threads",
        doc="How many workers share the jobs. Results do not depend on it.",
    )

    @model_validator(mode="after")
    def _check_saturate(self) -> AcmeVectorOptions:
        if self.precision is Precision.FP16 and (self.saturate or 0) > FLOAT16_MAX:
            raise ValueError(f"saturate must be at most {FLOAT16_MAX} when precision is fp16")
        return self
