"""What each version of the plugin API demands of backends, and how an older one meets the core of today."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from etconfig.backend import Backend
from etconfig.records import record


def _unchanged(backend: Backend[Any, Any]) -> Backend[Any, Any]:
    return backend


@record(frozen=True, kw_only=True)
class BackendContract:
    """What one version of the plugin API demands.

    Attributes:
        calls: The calls that the core makes: by method, the names of the arguments, given by position.
        adapt: Makes a backend of this version one of the next.
    """

    calls: Mapping[str, tuple[str, ...]]
    adapt: Callable[[Backend[Any, Any]], Backend[Any, Any]] = _unchanged

    def definition(self, method: str) -> str:
        """How a plugin defines a method."""
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
        }
    ),
}
"""By version. A new version says its calls here, and gives the one before it what adapts that one."""
