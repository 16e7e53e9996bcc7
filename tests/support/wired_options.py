"""Options with every way onto the wire, for tests of configurations that are resolved when packing."""

from __future__ import annotations

import enum

from etconfig.plugin.v1 import BackendOptions, Wire, option


class Sharing(enum.Enum):
    OFF = "off"
    ALL = "all"


class WiredOptions(BackendOptions):
    sharing: Sharing = option(
        "off", applies="load", wire=Wire(key="share_mode", values={"off": 0, "all": 2}), doc="Who shares."
    )
    layers: tuple[str, ...] = option((), applies="load", wire=Wire(key="layers", separator=","), doc="Names.")
    threads: int = option(
        1,
        from_fact="cpu.available_cores",
        applies="execute",
        scope="process",
        wire=Wire(key=None),
        doc="Threads.",
    )
    labels: dict[str, list[int]] = option({}, applies="load", doc="Labels.")
