"""From a resolution to what `etconfig.transport` carries."""

from __future__ import annotations

from typing import cast

from etconfig.provenance import OriginKind
from etconfig.resolver import Arguments, BackendArguments, Resolution
from etconfig.schema import jsonable
from etconfig.transport import (
    PackedBackend,
    PackedConfiguration,
    PackedMethod,
    PackedOption,
    PlainValue,
    sent_value,
)

_UNASKED = frozenset({OriginKind.DEFAULT, OriginKind.RECOMMENDATION})


def pack_resolution(name: str, resolution: Resolution) -> PackedConfiguration:
    """A resolution under a name, as plain data."""
    return PackedConfiguration(name, resolution.fingerprint(), tuple(map(_pack_method, resolution)))


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
                is_set=resolved.story(name).winner.origin.kind not in _UNASKED,
            )
        )
    return PackedBackend(backend_id, tuple(options))


def _frozen(value: object) -> PlainValue:
    """Plain data with tuples instead of lists."""
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return cast("PlainValue", value)
