"""The options of `ExampleSchemaBackend`, with the keys and values that its C++ code reads."""

from __future__ import annotations

import enum
from typing import Annotated

from etconfig.plugin.v1 import BackendOptions, Ge, Le, Wire, model_validator, option


class PowerMode(enum.Enum):
    """The balance of speed and power."""

    LOW = "low"
    BALANCED = "balanced"
    HIGH = "high"


class ExampleSchemaOptions(BackendOptions):
    """Options of `ExampleSchemaBackend`. An option that is not set is not sent."""

    power_mode: PowerMode | None = option(
        None,
        applies="load",
        wire=Wire(key="power_mode", values={"low": 0, "balanced": 1, "high": 2}),
        doc="The balance of speed and power. By default, the firmware decides.",
    )
    num_threads: Annotated[int, Ge(1), Le(64)] | None = option(
        None,
        applies="load",
        unit="threads",
        doc="The number of threads that run operations which the device lacks. By default 1.",
    )
    use_cache: bool | None = option(
        None,
        applies="load",
        doc="Keep compiled kernels in cache_dir. By default, they are compiled at each load.",
    )
    cache_dir: str | None = option(
        None,
        applies="load",
        scope="process",
        doc="The directory of compiled kernels. All methods of a process use the same one.",
    )

    @model_validator(mode="after")
    def _check_cache(self) -> ExampleSchemaOptions:
        if self.use_cache and self.cache_dir is None:
            raise ValueError("use_cache needs cache_dir, the directory of the compiled kernels")
        return self
