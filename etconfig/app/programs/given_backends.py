"""The backends that a caller gives to `load_program` and `load_method`, by id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from etconfig.app.configuring.targets import Delegating
from etconfig.backend import Backend, BoundBackend
from etconfig.base.parameters import check_type
from etconfig.diagnostics import did_you_mean_backend
from etconfig.schema.spec import BackendSpec

if TYPE_CHECKING:
    from etconfig.plugin.code_backends import GivenBackends

BackendsByName: TypeAlias = "Mapping[str, Backend[Any, Any] | BackendSpec | BoundBackend]"
"""Backends that a caller gives: objects, declarations, or bound ones that `LoadedProgram.bind` returned."""


def split_backends(
    program: Delegating, backends: BackendsByName | None
) -> tuple[dict[str, BoundBackend], GivenBackends]:
    """Return the bound ones, which are used as they are, and the others, which the installation gets.

    Raises:
        TypeError: `backends` is not a mapping, or a key is not a text.
        ValueError: no method of the program delegates to one of them.
    """
    if not backends:
        return {}, {}
    check_type("backends", backends, Mapping, 'backends by id, as {"MyBackend": MyBackend()}')
    known = sorted({backend for method in program.method_names for backend in program.backends(method)})
    for backend_id in backends:
        check_type("backends", backend_id, str, "texts as keys, the ids of backends")
        if backend_id not in known:
            guess = did_you_mean_backend(backend_id, known)
            advice = guess or f"it delegates to {', '.join(known) or 'none'}"
            raise ValueError(f"backends: no method of the program delegates to {backend_id!r}; {advice}")
    bound = {name: one for name, one in backends.items() if isinstance(one, BoundBackend)}
    return bound, {name: one for name, one in backends.items() if not isinstance(one, BoundBackend)}
