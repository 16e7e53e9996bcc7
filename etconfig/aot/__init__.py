"""Tools for the ahead-of-time halves of backends: the payload's envelope, compile specs, partitioners.

Only the partitioners need torch and executorch; `etconfig.plugin.v1` has the envelope too.
They import both when they are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.base.lazy import lazy_names

_HOME = {
    "EngineRange": "engine_range",
    "Envelope": "envelope",
    "HostConstraints": "host_constraints",
    "decode_compile_specs": "declared_specs",
    "encode_compile_specs": "declared_specs",
    "open_envelope": "envelope",
    "operator_name": "operators",
    "operator_partitioner": "partitioners",
    "tag_supported": "partitioners",
    "whole_graph_partitioner": "partitioners",
}
"""Which module each public name lives in."""

if TYPE_CHECKING:
    from etconfig.aot.declared_specs import decode_compile_specs, encode_compile_specs
    from etconfig.aot.engine_range import EngineRange
    from etconfig.aot.envelope import Envelope, open_envelope
    from etconfig.aot.host_constraints import HostConstraints
    from etconfig.aot.operators import operator_name
    from etconfig.aot.partitioners import (
        operator_partitioner,
        tag_supported,
        whole_graph_partitioner,
    )

__all__ = [
    "EngineRange",
    "Envelope",
    "HostConstraints",
    "decode_compile_specs",
    "encode_compile_specs",
    "open_envelope",
    "operator_name",
    "operator_partitioner",
    "tag_supported",
    "whole_graph_partitioner",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
