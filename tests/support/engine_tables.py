"""Tables of options that tests put inside options: a union with a discriminator, and tables in tables."""

from __future__ import annotations

from typing import Annotated, Literal

from etconfig.plugin.v1 import Ge, Le, Len, OptionTable, option


class Limits(OptionTable):
    memory: int = option("1 KiB", unit="bytes", applies="load", doc="The memory.")
    streams: Annotated[tuple[int, ...], Len(0, 2)] = option((), applies="load", doc="The streams.")


class Cpu(OptionTable):
    engine: Literal["cpu"] = "cpu"
    threads: Annotated[int, Ge(1), Le(9)] | None = option(None, applies="load", doc="The threads.")
    is_fast: bool = option(False, applies="load", doc="A flag.")


class Gpu(OptionTable):
    engine: Literal["gpu"] = "gpu"
    device: int = option(applies="load", doc="The device, which is required.")
    mode: Literal["low", "high"] = option("low", applies="load", doc="The mode.")
    limits: Limits = option({}, applies="load", doc="The limits.")
