"""The contents of payloads of Core ML and Core AI, and the systems that they need.

Source: backends/apple/coreml/runtime/inmemoryfs, coremltools' Model.proto and MIL.proto;
backends/apple/coreai/compiler/preprocess.py.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from etconfig.plugin.v1 import CompileSpecs, InvalidPayloadError, PayloadDescription, PayloadNeed

_APPLE = '["macos", "ios", "ipados", "tvos", "watchos", "visionos"]'
_ON_APPLE = PayloadNeed(f"os.name in {_APPLE}", reason="it is for Apple's systems")
_MACOS = {4: "10.15", 5: "11", 6: "12", 7: "13", 8: "14", 9: "15", 10: "26"}
_IOS = {4: "13", 5: "14", 6: "15", 7: "16", 8: "17", 9: "18", 10: "26"}
"""The first versions that read a specification of Core ML, by its number."""
_REFERENCE = b"CMJR"
_MAX_DIRECTORY_BYTES = 1 << 20
_VERSION = 1
_OPERATIONS = (502, 2, 2, 3, 2, 3, 1)
"""The way to the names of operations: the program, a function, one of its blocks, an operation, its type."""
_USER_DEFINED = (2, 100, 100)
_TOOLS = b"com.github.apple.coremltools.version"
_BAD_BYTES = (ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError)


def describe_core_ml(payload: bytes, compile_specs: CompileSpecs) -> PayloadDescription:
    """Return the operations and the first systems of a model. Raises InvalidPayloadError: it is damaged."""
    if payload.startswith(_REFERENCE):
        notes = ["the model is in the program's named data, since several methods share it"]
        return PayloadDescription(needs=[_ON_APPLE], notes=notes)
    try:
        files = _files(payload)
        if "model.mlmodel" not in files:  # compiled ahead of time, in a format that is not public
            name = next(each for each in files if each in ("coremldata.bin", "model.mil"))
            return PayloadDescription(target="a compiled model", needs=[_ON_APPLE], notes=[f"it has {name}"])
        model = files["model.mlmodel"]
        version = next((value for field, value in _fields(model) if field == _VERSION), 0)
        operators = Counter(bytes(name).decode() for name in _inside(model, _OPERATIONS))
        defined = [bytes(entry) for entry in _inside(model, _USER_DEFINED)]
        tools = next((_entry(each)[1] for each in defined if _entry(each)[0] == _TOOLS), b"").decode()
    except StopIteration:
        raise InvalidPayloadError(cause="it has no model that Core ML reads") from None
    except _BAD_BYTES as error:
        raise InvalidPayloadError(cause="it is damaged, or not a payload of Core ML") from error
    number = version if isinstance(version, int) else 0
    known = number in _MACOS
    return PayloadDescription(
        operators=dict(sorted(operators.items())),
        target=f"macOS {_MACOS[number]} and iOS {_IOS[number]}, or later" if known else None,
        sdk_version=f"coremltools {tools}" if tools else None,
        needs=[_ON_APPLE, *([_macos_from(_MACOS[number])] if known else [])],
    )


def describe_core_ai(payload: bytes, compile_specs: CompileSpecs) -> PayloadDescription:
    """Return the assets that a manifest names. Raises InvalidPayloadError: it is damaged.

    Nothing says which device an architecture stands for, so only the system is compared.
    """
    try:
        manifest: Mapping[str, Any] = json.loads(payload)
        packaging, archs = str(manifest["packaging"]), manifest.get("archs", {})
        platform, first = manifest.get("platform"), manifest["min_deployment_version"]
        names = sorted(map(str, archs))
        is_portable = not packaging.startswith("aot_compiled")
    except _BAD_BYTES as error:
        raise InvalidPayloadError(cause="it is damaged, or not a manifest of Core AI") from error
    system = " ".join(map(str, filter(None, (platform, first))))
    target = "Apple's systems, portable" if is_portable else ", ".join(names)
    where = "beside the program" if packaging.endswith("sidecar") else "in the program's named data"
    needs = [_ON_APPLE]
    if not is_portable and isinstance(platform, str) and platform.isalpha():
        condition = f'os.name == "{platform.lower()}"'
        needs = [PayloadNeed(condition, reason=f"it is compiled for {platform}", found="os.name")]
    return PayloadDescription(
        target=f"{target}; from {system} on" if first else target,
        needs=needs,
        notes=[f"the model is {where}"],
    )


def _macos_from(version: str) -> PayloadNeed:
    """Return the need of a version of macOS; other systems' versions are not known as facts."""
    condition = f'os.name != "macos" || version(os.version) >= "{version}"'
    return PayloadNeed(condition, reason=f"it needs macOS {version}", found='"macOS " + os.version')


def _files(payload: bytes) -> dict[str, memoryview]:
    """Return the files in a payload by name: their bytes, then a directory as JSON, from the end backward."""
    text = payload[: -_MAX_DIRECTORY_BYTES - 1 : -1].decode("utf-8", "replace")
    directory, _ = json.JSONDecoder().raw_decode(text)
    found, data = {}, memoryview(payload)
    for node in directory["nodes"]:
        start, size = node["dataRegion"]["offset"], node["dataRegion"]["size"]
        if type(start) is not int or type(size) is not int or not 0 <= start <= start + size <= len(payload):
            raise ValueError("a file ends behind it")
        found[str(node["name"])] = data[start : start + size]
    return found


def _entry(message: bytes) -> tuple[bytes, bytes]:
    parts = {
        field: bytes(value) for field, value in _fields(memoryview(message)) if not isinstance(value, int)
    }
    return parts.get(1, b""), parts.get(2, b"")


def _inside(message: memoryview, way: Sequence[int]) -> Iterator[memoryview]:
    if not way:
        yield message
        return
    for field, value in _fields(message):
        if field == way[0] and not isinstance(value, int):
            yield from _inside(value, way[1:])


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """Yield the number of each field of a protobuf message, and its bytes or number."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        size, at = _varint(message, at) if kind in (0, 2) else ({1: 8, 5: 4}[kind], at)
        if kind == 0:
            yield tag >> 3, size
            continue
        if size > len(message) - at:
            raise ValueError("a field ends behind its message")
        if kind == 2:
            yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("a number of more than ten bytes")
