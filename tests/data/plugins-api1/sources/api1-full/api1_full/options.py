"""Options of every kind."""

from __future__ import annotations

import enum
from typing import Annotated, Literal

from etconfig.plugin.v1 import (
    Applies,
    BackendOptions,
    Ge,
    Gt,
    Le,
    Len,
    Lt,
    MultipleOf,
    Scope,
    Unit,
    Wire,
    model_validator,
    option,
)


class Mode(enum.Enum):
    """How fast."""

    SLOW = "slow"
    FAST = "fast"


class FullOptions(BackendOptions):
    """Options of every kind."""

    scale: Annotated[float, Gt(0.0), Lt(100.0)] = option(2.0, applies="execute", doc="What to multiply with.")
    num_threads: Annotated[int, Ge(1), Le(64)] = option(
        1, from_fact="cpu.available_cores", applies=Applies.EXECUTE, unit=Unit.THREADS, doc="How many workers there are."
    )
    cache_bytes: Annotated[int, MultipleOf(64)] | None = option(
        "64 KiB", applies="load", scope=Scope.PROCESS, unit="bytes", doc="The size of the cache."
    )
    timeout: float = option(
        "20 ms", applies="load", unit="s", since="1.1", doc="How long one run may take.", wire=Wire(key=None)
    )
    mode: Mode = option(
        "fast", applies="load", doc="How fast it shall run.", wire=Wire(key="m", values={"slow": 0, "fast": 1})
    )
    tile: Literal[8, 16, "auto"] = option("auto", applies="load", doc="How many rows a tile has.", renamed_from=("rows", "tiles"))
    label: Annotated[str, Len(1, 8)] = option("full", applies="load", doc="What reports call it.", wire="name")
    trace: bool = option(False, applies="execute", deprecated="run with --trace", doc="Tell more about each run.")
    layers: tuple[str, ...] = option((), applies="load", doc="Which layers it shall run.", wire=Wire(key="layers", separator=","))
    sizes: list[int] = option([1], applies="load", doc="Which sizes are prepared.", wire=Wire(key=None))
    weights: dict[str, float] = option({"a": 0.5}, applies="load", doc="The weight of each part.", wire=Wire(key=None))

    @model_validator(mode="after")
    def _check_mode(self) -> FullOptions:
        if self.mode is Mode.SLOW and self.scale > 10:
            raise ValueError("scale must be at most 10.0 when mode is slow")
        return self
