"""The rule for what a backend supports, which exporting and loading both follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from etconfig_reference.declared import CAPABILITIES, COMPILE_SPECS
from etconfig_reference.errors import CompileSpecError, InvalidGraphError
from etconfig_reference.graph import Graph, ValueType
from etconfig_reference.payload import decode_graph

if TYPE_CHECKING:
    from etconfig.plugin.v1 import InitContext, Processed


def why_unsupported(value: ValueType, backend_id: str) -> str | None:
    """Return why a backend does not support such a value, or None if it does."""
    capabilities = CAPABILITIES[backend_id]
    if value.dtype not in capabilities.dtypes:
        return f"takes {', '.join(sorted(capabilities.dtypes))} only"
    if value.dynamic and not capabilities.supports_dynamic_shapes:
        return "takes fixed shapes only"
    if 0 in value.shape and not capabilities.supports_zero_size:
        return "takes no tensors without elements"
    return None


def check_compile_specs(compile_specs: Mapping[str, bytes]) -> None:
    """Raise CompileSpecError unless each compile spec is known and correctly encoded."""
    for key, value in compile_specs.items():
        if key not in COMPILE_SPECS:
            raise CompileSpecError(f"compile spec {key!r} is not known; there is {', '.join(COMPILE_SPECS)}")
        try:
            COMPILE_SPECS[key].decode(value)
        except ValueError as error:
            raise CompileSpecError(f"compile spec {key!r}: {error}") from None


def load_graph(
    backend_id: str, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
) -> Graph:
    """Return the graph of a payload, if the backend can run it.

    Raises:
        CompileSpecError: a compile spec is unknown or wrongly encoded.
        PayloadError: the payload cannot be used.
    """
    check_compile_specs(compile_specs)
    graph = decode_graph(processed.data, context.named_data)
    for index, value in enumerate(graph.values):
        reason = why_unsupported(value, backend_id)
        if reason is not None:
            raise InvalidGraphError(f"values[{index}] is {value}; {backend_id} {reason}")
    return graph
