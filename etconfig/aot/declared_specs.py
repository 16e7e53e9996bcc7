"""Compile specs by their declaration: values to bytes when exporting, and back when loading."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.diagnostics import did_you_mean
from etconfig.schema.spec import CompileSpecInfo


def encode_compile_specs(
    infos: Mapping[str, CompileSpecInfo], values: Mapping[str, object]
) -> dict[str, bytes]:
    r"""Return the bytes of compile specs, for the `compile_specs` of a partitioner.

    Example:
        >>> from etconfig.aot import encode_compile_specs
        >>> from etconfig.plugin.v1 import CompileSpecEncoding, CompileSpecInfo
        >>> infos = {"cores": CompileSpecInfo(doc="Cores to use.", encoding=CompileSpecEncoding.UINT32)}
        >>> encode_compile_specs(infos, {"cores": 4})
        {'cores': b'\x04\x00\x00\x00'}

    Args:
        infos: The declarations, as in `BackendSpec.compile_specs`.
        values: The values by key.

    Raises:
        ValueError: a key is not declared, or a value does not suit its encoding; the message names the key.
    """
    encoded = {}
    for key, value in values.items():
        try:
            encoded[key] = _info(infos, key).encode(value)
        except ValueError as error:
            raise ValueError(f"compile spec {key!r}: {error}") from None
    return encoded


def decode_compile_specs(
    infos: Mapping[str, CompileSpecInfo], specs: Mapping[str, bytes]
) -> dict[str, bytes | str | bool | int]:
    """Return the values of a delegate's compile specs, as `init` receives them.

    Args:
        infos: The declarations, as in `BackendSpec.compile_specs`.
        specs: The bytes by key.

    Raises:
        ValueError: a key is not declared or appears twice, or bytes do not follow their encoding; the message
            names the key.
    """
    decoded = {}
    for key in specs:
        try:
            decoded[key] = _info(infos, key).decode(specs[key])
        except ValueError as error:
            raise ValueError(f"compile spec {key!r}: {error}") from None
    return decoded


def _info(infos: Mapping[str, CompileSpecInfo], key: str) -> CompileSpecInfo:
    if key in infos:
        return infos[key]
    known = f"there is {', '.join(infos)}" if infos else "the backend has none"
    raise ValueError(f"it is not known; {did_you_mean(key, infos) or known}")
