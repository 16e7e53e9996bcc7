"""The directory of compiled models: one for each model, options, OpenVINO and driver.

OpenVINO names cached models by a hash of its own, which did not always cover all that they depend on: it
served
stale ones (its pull requests 13593 and 14731). A directory for each key never mixes them.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from etconfig.plugin.v1 import cache_key
from etconfig_openvino.devices import kind_of, parse_device
from etconfig_openvino.errors import ModelError
from etconfig_openvino.installed import openvino
from etconfig_openvino.options import OpenvinoOptions

_CHUNK_BYTES = 1 << 20
_ONNX_REFERENCE = b"\x0a\x08location"
"""The key of a reference to a file, as protobuf stores it. Source: onnx.proto, TensorProto.external_data."""

_DRIVER_KEYS = {"GPU": "GPU_DRIVER_VERSION", "NPU": "NPU_DRIVER_VERSION"}


def cache_directory(options: OpenvinoOptions, payload_hash: bytes, core: Any) -> Path:
    """Return the directory for a model, inside of `options.cache_dir`.

    Args:
        options: The options, which have a cache_dir.
        payload_hash: The SHA-256 of the model.
        core: The `openvino.Core` that knows the drivers of the devices.
    """
    key = cache_key(
        options,
        payload_hash=payload_hash.hex(),
        engine_version=openvino().__version__,
        driver=drivers(core, options.device),
    )
    return Path(str(options.cache_dir)) / key


def drivers(core: Any, device: str) -> str:
    """Return the devices behind a text and the versions of their drivers, such as `GPU.0 25.18`."""
    found = []
    for target in parse_device(device).targets or core.available_devices:
        name = str(core.get_property(target, "FULL_DEVICE_NAME"))
        key = _DRIVER_KEYS.get(kind_of(target))
        version = "" if key is None else str(core.get_property(target, key))
        found.append(f"{target} {name} {version}".strip())
    return ", ".join(found)


def hash_of_bytes(*parts: Any) -> bytes:
    """Return the SHA-256 of several byte strings, of which each counts with its length."""
    digest = hashlib.sha256()
    for part in parts:
        view = memoryview(part).cast("B") if len(part) else memoryview(b"")
        digest.update(len(view).to_bytes(8, "little"))
        digest.update(view)
    return digest.digest()


def hash_of_file(path: Path) -> bytes:
    """Return the SHA-256 of a model and of the .bin beside it, if there is one.

    Raises:
        ModelError: an .onnx refers to more files, whose changes the hash would miss.
    """
    if path.suffix == ".onnx" and _ONNX_REFERENCE in path.read_bytes():
        raise ModelError(
            f"{path} refers to files with weights, so it cannot be cached safely; convert it with "
            "openvino.convert_model and openvino.save_model, or unset cache_dir"
        )
    digest = hashlib.sha256()
    for each in (path, path.with_suffix(".bin")):
        if each.is_file():
            digest.update(each.stat().st_size.to_bytes(8, "little"))
            with each.open("rb") as file:
                while chunk := file.read(_CHUNK_BYTES):
                    digest.update(chunk)
    return digest.digest()
