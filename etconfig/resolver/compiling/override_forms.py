"""The forms that overrides take in Python, each as option paths with values.

{"forward@left:XnnpackBackend.num_threads": 2}
{"XnnpackBackend": {"num_threads": 2}}
{"forward@left": {"XnnpackBackend": {"num_threads": 2}}}
{"forward:XnnpackBackend": XnnpackOptions(num_threads=2)}
XnnpackOptions(num_threads=2)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from etconfig.base.parameters import check_type, plain_value

if TYPE_CHECKING:
    from etconfig.schema.options import BackendOptions

Overrides: TypeAlias = "Mapping[str, object] | BackendOptions | Sequence[str | BackendOptions]"
"""Values by option path, the options object of a backend, or a list of such objects and texts `PATH=VALUE`.

A mapping may also be nested, by backend or by method, and have options objects in place of tables.
"""

FindBackend: TypeAlias = "Callable[[type[BackendOptions]], str]"
"""Returns the id of the backend that has an options class; raises OptionError if there is not exactly one."""

_PARAMETER = "overrides"
_EXPECTED = (
    'values by option path, as {"XnnpackBackend.num_threads": 2}, the options object of a backend, '
    'or a list of such objects and of texts, as ["XnnpackBackend.num_threads=2"]'
)
_METHOD = r"[^:@=\s]+(?:@[^:@=\s]+)?"
_BACKEND_OF_METHOD = re.compile(rf"{_METHOD}:[A-Za-z_][\w-]*")
_METHOD_INSTANCE = re.compile(_METHOD)


def override_parts(overrides: Overrides, find_backend: FindBackend) -> Iterator[str | Mapping[str, object]]:
    """Yield the parts of overrides in order: texts `PATH=VALUE`, and mappings.

    Raises:
        TypeError: the overrides have none of the forms.
        OptionError: the backend of an options object is not clear.
    """
    if isinstance(overrides, Mapping):
        yield overrides
        return
    parts = [overrides] if isinstance(overrides, str) or is_options(overrides) else overrides
    given: object = parts
    if not isinstance(given, Sequence) or isinstance(given, (bytes, bytearray)):
        raise TypeError(f"{_PARAMETER}: expected {_EXPECTED}, given {type(parts).__name__}")
    for part in parts:
        if is_options(part):
            yield {find_backend(type(part)): part}
        elif isinstance(part, str):
            yield part
        else:
            kinds = f"{type(parts).__name__} with an item of type {type(part).__name__}"
            raise TypeError(f"{_PARAMETER}: expected {_EXPECTED}, given {kinds}")


def typed_values(overrides: Mapping[str, object], backends: Collection[str]) -> Iterator[tuple[str, object]]:
    """Yield the path and the plain value of every option that a mapping sets, as it may be nested.

    A key with a dot is the path of an option. Another key stands for a backend, `forward:NpuBackend` for one
    of a method, and a name that no backend has for a method if all its values are tables in turn.

    Args:
        overrides: The mapping.
        backends: The ids of the known backends.

    Raises:
        TypeError: a key is not a text.
    """
    for key, value in overrides.items():
        _check_key(key)
        table = _table(value)
        if table is None or _is_path(key):
            yield key, plain_value(value)
        elif _is_method(key, table, backends):
            for backend, options in table.items():
                _check_key(backend)
                inner = _table(options)
                path = f"{key}:{backend}"
                yield from ((path, options),) if inner is None else _options_of(path, inner)
        else:
            yield from _options_of(key, table)


def is_options(value: object) -> TypeGuard[BackendOptions]:
    """Return True for the options object of a backend."""
    if not hasattr(value, "model_fields_set"):  # without importing pydantic for a number
        return False
    from etconfig.schema.options import BackendOptions

    return isinstance(value, BackendOptions)


def _options_of(backend: str, table: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for option, value in table.items():
        _check_key(option)
        yield f"{backend}.{option}", plain_value(value)


def _check_key(key: object) -> None:
    check_type(_PARAMETER, key, str, f"{_EXPECTED}, with texts as keys")


def _table(value: object) -> Mapping[str, object] | None:
    """Return a table of options, of an options object what its author set; else None."""
    if isinstance(value, Mapping):
        return value
    if is_options(value):
        given = value.model_fields_set
        return {name: getattr(value, name) for name in value.option_infos() if name in given}
    return None


def _is_path(key: str) -> bool:
    return "." in key.rpartition(":")[2]


def _is_method(key: str, table: Mapping[str, object], backends: Collection[str]) -> bool:
    if key in backends or _BACKEND_OF_METHOD.fullmatch(key):
        return False
    is_nested = bool(table) and all(_table(each) is not None for each in table.values())
    return _METHOD_INSTANCE.fullmatch(key) is not None and ("@" in key or is_nested)
