"""Backends given in code, for tests and notebooks: they need no distribution and no entry point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from etconfig.backend import Backend
from etconfig.base.parameters import check_type
from etconfig.plugin.api_version import CURRENT
from etconfig.plugin.entry_points import BACKENDS, GIVEN_IN_CODE, EntryPoint
from etconfig.schema.options import BackendOptions
from etconfig.schema.spec import ApiRange, BackendSpec

GivenBackends: TypeAlias = "Mapping[str, Backend[Any, Any] | BackendSpec]"
"""By id: a backend, or the declaration of one."""

_EXPECTED = 'backends by id, as {"MyBackend": MyBackend()} or {"MyBackend": SPEC}'


class NoOptions(BackendOptions):
    """The options of a backend that declares none."""


def specs_of_given(
    given: GivenBackends, installed: Callable[[str], BackendSpec | None]
) -> dict[EntryPoint, BackendSpec]:
    """Return the declarations of backends given in code, each with an entry point that names its code.

    A backend without a declaration has the schema of the installed one with its id; else it has no options.

    Args:
        given: The backends.
        installed: Returns the declaration that an installed plugin has of an id, or None.

    Raises:
        TypeError: `given` is not a mapping, or has something else than backends and declarations.
        ValueError: a declaration has another id than its key.
    """
    check_type("backends", given, Mapping, _EXPECTED)
    specs: dict[EntryPoint, BackendSpec] = {}
    for backend_id, one in given.items():
        check_type("backends", backend_id, str, _EXPECTED)
        _check_given(backend_id, one)
        spec = one if isinstance(one, BackendSpec) else _spec_of(backend_id, one, installed(backend_id))
        if spec.id != backend_id:
            raise ValueError(
                f"backends[{backend_id!r}]: the declaration has the id {spec.id!r}; use one id for both"
            )
        specs[_entry_point(backend_id, one)] = spec
    return specs


def _check_given(backend_id: str, one: object) -> None:
    if not isinstance(one, (Backend, BackendSpec)):
        raise TypeError(f"backends[{backend_id!r}]: expected {_EXPECTED}, given {_what_instead(one)}")


def _what_instead(one: object) -> str:
    if isinstance(one, type):
        return f"the class {one.__name__}; make an object of it"
    if hasattr(one, "execute"):
        return f"an object of {type(one).__name__}; derive the class from etconfig.plugin.v1.Backend"
    return type(one).__name__


def _spec_of(backend_id: str, backend: Backend[Any, Any], installed: BackendSpec | None) -> BackendSpec:
    if installed is not None:
        return replace(installed, factory=lambda: backend)
    doc = type(backend).__doc__ or f"An object of {type(backend).__name__}."
    api = ApiRange(min=CURRENT, built=CURRENT)
    return BackendSpec(id=backend_id, doc=doc, options=NoOptions, api=api, factory=lambda: backend)


def _entry_point(backend_id: str, one: Backend[Any, Any] | BackendSpec) -> EntryPoint:
    code = one.options if isinstance(one, BackendSpec) else type(one)
    value = f"{code.__module__}:{code.__qualname__}"
    return EntryPoint(
        group=BACKENDS,
        name=backend_id,
        value=value,
        distribution=code.__module__,
        version=GIVEN_IN_CODE,
        location="",
    )
