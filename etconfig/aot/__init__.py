"""Tools for the ahead-of-time halves of backends: the payload's envelope, and partitioners.

The envelope needs neither torch nor executorch, and `etconfig.plugin.v1` has it too.
The partitioners import both when they are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {
    "EngineRange": "engine_range",
    "Envelope": "envelope",
    "HostConstraints": "host_constraints",
    "open_envelope": "envelope",
}
"""Which module each public name lives in."""

if TYPE_CHECKING:
    from etconfig.aot.engine_range import EngineRange
    from etconfig.aot.envelope import Envelope, open_envelope
    from etconfig.aot.host_constraints import HostConstraints

__all__ = [
    "EngineRange",
    "Envelope",
    "HostConstraints",
    "open_envelope",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
