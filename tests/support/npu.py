"""A backend whose options use every kind of declaration."""

from __future__ import annotations

import enum
from typing import Annotated, Literal

from etconfig.plugin.v1 import (
    ApiRange,
    BackendOptions,
    BackendSpec,
    CompileSpecEncoding,
    CompileSpecInfo,
    Ge,
    Le,
    Len,
    MultipleOf,
    Wire,
    model_validator,
    option,
)


class PowerMode(enum.Enum):
    LOW = "low"
    HIGH = "high-power"


class NpuOptions(BackendOptions):
    """Options of `NpuBackend`."""

    core: Annotated[int, Ge(0), Le(3)] = option(applies="load", doc="Which core.")
    threads: Annotated[int, Ge(1)] = option(
        from_fact="cpu.available_cores",
        applies="execute",
        scope="process",
        unit="threads",
        renamed_from="num_threads",
        doc="Worker threads.",
    )
    cache_bytes: Annotated[int, MultipleOf(4096)] | None = option(
        None, applies="load", unit="bytes", doc="Cache size."
    )
    timeout: float = option("1.5 s", applies="execute", unit="s", doc="Time limit.", since="2.1")
    power_mode: PowerMode = option(
        "low",
        applies="execute",
        doc="How fast it is clocked.",
        wire=Wire(key="power", values={"low": 0, "high-power": 1}),
    )
    tile: Literal[0, 32, "auto"] = option("auto", applies="load", doc="Rows of a tile.")
    verbose: bool = option(False, applies="load", deprecated="use tracing", doc="Log | more.")
    scale: float = option(1.0, applies="execute", doc="Scale of results.")
    label: Annotated[str, Len(1, 8)] = option("npu", applies="load", doc="A label.")
    methods: tuple[str, ...] = option(
        (), applies="load", doc="Methods to capture.", wire=Wire(key="methods", separator=",")
    )
    priorities: dict[str, Annotated[int, Ge(0)]] = option({}, applies="load", doc="Priority by method.")
    levels: Annotated[list[int], Len(0, 2)] = option([], applies="load", doc="Levels.")

    @model_validator(mode="after")
    def _core_3_runs_slowly(self) -> NpuOptions:
        if self.core == 3 and self.power_mode is PowerMode.HIGH:
            raise ValueError("core 3 cannot run with power_mode high-power")
        return self


SPEC = BackendSpec(
    id="NpuBackend",
    doc="An accelerator for tests.",
    options=NpuOptions,
    api=ApiRange(min=1, built=1),
    compile_specs={"device": CompileSpecInfo(doc="Device name.", encoding=CompileSpecEncoding.UTF8)},
)

INFOS = NpuOptions.option_infos()
