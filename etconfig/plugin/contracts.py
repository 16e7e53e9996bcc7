"""The methods that each version of the plugin API calls, and the adapters for backends of older versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from etconfig.backend import Backend
from etconfig.records import record


def _unchanged(backend: Backend[Any, Any]) -> Backend[Any, Any]:
    return backend


@record(frozen=True, kw_only=True)
class BackendContract:
    """The demands of one version of the plugin API on backends.

    Attributes:
        calls: The methods that the core calls, with the names of their arguments, which are passed by
            position.
        adapt: Turns a backend of this version into one of the next.
    """

    calls: Mapping[str, tuple[str, ...]]
    adapt: Callable[[Backend[Any, Any]], Backend[Any, Any]] = _unchanged

    def definition(self, method: str) -> str:
        """Return the line that defines a method in a plugin."""
        return f"def {method}({', '.join(('self', *self.calls.get(method, ())))})"


BACKEND_CONTRACTS: Mapping[int, BackendContract] = {
    1: BackendContract(
        calls={
            "availability": (),
            "init": ("context", "processed", "compile_specs"),
            "execute": ("context", "handle", "args"),
            "update": ("context", "handle", "changed"),
            "effective_options": ("handle",),
            "destroy": ("handle",),
            "native_call": ("handle",),
        }
    ),
}
"""The contract of each version. A new version is added here, and the one before it gets an `adapt`."""
