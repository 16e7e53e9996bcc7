"""Packing: a resolution as the plain data that `etconfig.transport` writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from etconfig.diagnostics import Diagnostic, Severity
from etconfig.resolver import Arguments, BackendArguments, Resolution
from etconfig.schema import jsonable
from etconfig.transport import (
    EXECUTORCH,
    PackedBackend,
    PackedConfiguration,
    PackedMethod,
    PackedOption,
    PlainValue,
    sent_value,
)


def pack_resolution(name: str, resolution: Resolution) -> PackedConfiguration:
    """Return a resolution as plain data under a name."""
    return PackedConfiguration(name, resolution.fingerprint(), tuple(map(_pack_method, resolution)))


def notes_beside_the_map(configurations: Iterable[PackedConfiguration]) -> list[Diagnostic]:
    """Return a note for each option that a user set and ExecuTorch's option map cannot carry."""
    notes = {}
    for configuration in configurations:
        for method in configuration.methods:
            for backend, option in method.options():
                obstacle = option.obstacle(EXECUTORCH)
                if option.is_set and option.value is not None and obstacle is not None:
                    notes[backend, option.name] = _note(f"{backend}.{option.name}", obstacle)
    return list(notes.values())


def _note(option: str, obstacle: str) -> Diagnostic:
    return Diagnostic(
        code="cannot-carry",
        severity=Severity.NOTE,
        message=f"{EXECUTORCH.name} cannot carry {option}: {obstacle}",
        help="the file has it: let the application read it there and apply it",
    )


def _pack_method(arguments: Arguments) -> PackedMethod:
    backends = tuple(_pack_backend(*item) for item in arguments.backends.items())
    return PackedMethod(arguments.method, arguments.instance, backends)


def _pack_backend(backend_id: str, resolved: BackendArguments) -> PackedBackend:
    options = []
    for name, info in resolved.options.option_infos().items():
        value = jsonable(getattr(resolved.options, name))
        options.append(
            PackedOption(
                name=name,
                value=_frozen(value),
                key=info.wire.key,
                sent=_frozen(sent_value(info, value)),
                scope=info.scope,
                applies=info.applies,
                is_set=resolved.is_asked_for(name),
            )
        )
    return PackedBackend(backend_id, tuple(options))


def _frozen(value: object) -> PlainValue:
    """Replace lists in plain data by tuples, which cannot change."""
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return cast("PlainValue", value)
