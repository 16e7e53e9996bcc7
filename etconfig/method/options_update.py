"""Validation of options that change, by `Method.update` or for one call: all problems, before any change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from etconfig.backend import BoundBackend
from etconfig.base.option_path import parse_option_path
from etconfig.base.parameters import check_type, plain_value
from etconfig.diagnostics import Diagnostic, did_you_mean_backend
from etconfig.diagnostics.error_text import error_text
from etconfig.errors import DelegateError, OptionError
from etconfig.method.executor_contract import OptionChanges


def validated_changes(
    method: str,
    backends: Mapping[str, BoundBackend],
    current: Mapping[str, Any],
    changes: Mapping[str, object],
) -> OptionChanges:
    """Validate changes, and return the new options of each backend that they name.

    Args:
        method: The method's name, for messages.
        backends: The backends that the method delegates to, by id.
        current: Their options in force, by id.
        changes: New values by `BACKEND.OPTION`; or by backend, as a table or as its options object, of
            which those count that its author set.

    Raises:
        OptionError: some changes are wrong, with every problem.
        TypeError: a key is not a text.
    """
    problems: list[Diagnostic] = []
    by_backend: dict[str, dict[str, object]] = {}
    for key, value in _by_path(changes):
        problem = _key_problem(method, backends, key)
        if problem is None:
            path = parse_option_path(key)
            by_backend.setdefault(path.backend, {})[path.option] = plain_value(value)
        else:
            problems.append(problem)
    validated: dict[str, tuple[Any, frozenset[str]]] = {}
    for backend_id, values in by_backend.items():
        try:
            options = backends[backend_id].changed(current[backend_id], values)
            validated[backend_id] = options, frozenset(values)
        except OptionError as error:
            problems.extend(error.diagnostics)
    if problems:
        raise OptionError(diagnostics=tuple(problems))
    return validated


@contextmanager
def joint_update(backend: BoundBackend, method: str) -> Iterator[None]:
    """Let all updates of a backend's delegates in the `with` block count as one.

    Raises:
        DelegateError: they, or other users of the process, disagree at the end on an option of the process.
    """
    if backend.joint_update is None:
        yield
        return
    try:
        with backend.joint_update():
            yield
    except DelegateError:
        raise
    except Exception as error:
        cause = error_text(error)
        raise DelegateError(backend=backend.backend_id, method=method, phase="update", cause=cause) from error


def _by_path(changes: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the path and the value of each change, also in tables and options objects."""
    for key, value in changes.items():
        check_type("changes", key, str, 'paths of options as keys, as "NpuBackend.power_mode"')
        table = value if isinstance(value, Mapping) else _set_options(value)
        if table is None or "." in key:
            yield key, value
        else:
            yield from ((f"{key}.{option}", each) for option, each in table.items())


def _set_options(value: object) -> Mapping[str, object] | None:
    """Return the options that the author of an options object set, by name; None for any other value."""
    names, infos = getattr(value, "model_fields_set", None), getattr(value, "option_infos", None)
    if names is None or infos is None:
        return None
    return {name: getattr(value, name) for name in infos() if name in names}


def _key_problem(method: str, backends: Mapping[str, BoundBackend], key: str) -> Diagnostic | None:
    try:
        path = parse_option_path(key)
    except ValueError as error:
        return Diagnostic(code="invalid-option-path", message=str(error), help="write 'BACKEND.OPTION'")
    if path.method is not None:
        message = f"{key!r} names a method, but an update is for this one, {method!r}, only"
        return Diagnostic(code="invalid-option-path", message=message, help="write 'BACKEND.OPTION'")
    if path.backend not in backends:
        message = f"method {method!r} delegates nothing to {path.backend!r}"
        known = ", ".join(map(repr, backends)) or "no backend"
        help_text = did_you_mean_backend(path.backend, backends) or f"it delegates to {known}"
        return Diagnostic(code="not-delegated", message=message, help=help_text)
    return None
