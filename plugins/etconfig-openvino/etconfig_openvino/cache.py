"""The directory of compiled models: one for each model, options, OpenVINO and driver.

OpenVINO names cached models by a hash of its own, which did not always cover all that they depend on: it
served stale ones (its pull requests 13593 and 14731). A directory for each key never mixes them.
It also runs a cached model with damaged weights. So each file has a checksum beside it.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from etconfig.plugin.v1 import cache_key, write_own_file
from etconfig_openvino.devices import kind_of, parse_device
from etconfig_openvino.errors import ModelError
from etconfig_openvino.installed import openvino
from etconfig_openvino.options import OpenvinoOptions

_CHUNK_BYTES = 1 << 20
_ONNX_REFERENCE = b"\x0a\x08location"
"""The key of a reference to a file, as protobuf stores it. Source: onnx.proto, TensorProto.external_data."""

SAVED_MODEL = "saved_model.pb"
"""The file in the directory of a model of TensorFlow by which OpenVINO knows it."""

_SUM_SUFFIX = ".sha256"
"""The end of the name of a file with the SHA-256 of another one, in hexadecimal digits."""

_SUM_BYTES = 65
"""The size of such a file; a damaged one may be smaller."""

_LOG = logging.getLogger("etconfig_openvino")

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


@contextmanager
def checked_files(directory: Path, device: str) -> Iterator[None]:
    """Remove damaged files before a model is compiled, and write checksums afterwards.

    Args:
        directory: The directory, which may be absent.
        device: The option of this name.

    Raises:
        ModelError: a file cannot be read, removed or written.
    """
    with _usable(directory):
        _remove_damaged(directory, device)
    yield
    with _usable(directory):
        _write_sums(directory)


@contextmanager
def _usable(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ModelError(
            f"the cache {directory} cannot be used: {error.strerror or error}; let cache_dir name a "
            "directory that can be written, or unset it"
        ) from error


def _remove_damaged(directory: Path, device: str) -> None:
    """Remove the files without their checksum: something ended the process that wrote them.

    AUTO writes some files after it has compiled a model, so models that have none stay there.
    """
    for path in _files(directory):
        expected = _sum_of(path)
        if expected is None and parse_device(device).kind == "AUTO":
            continue
        if expected != _sha256(path):
            _LOG.warning("the cached model %s is damaged; the model is compiled again", path)
            path.unlink()


def _write_sums(directory: Path) -> None:
    for path in _files(directory):
        found = _sha256(path)
        if _sum_of(path) != found:
            sums = path.with_name(path.name + _SUM_SUFFIX)
            write_own_file(sums, f"{found}\n".encode(), "a checksum", _is_checksum)


def _is_checksum(path: Path) -> bool:
    return path.stat().st_size <= _SUM_BYTES


def _files(directory: Path) -> list[Path]:
    """Return the files that OpenVINO wrote to a directory; none if there is no directory."""
    if not directory.is_dir():
        return []
    return sorted(path for path in directory.iterdir() if _is_of_openvino(path))


def _is_of_openvino(path: Path) -> bool:
    """Return False for checksums, also for checksums that another process is writing, and for directories."""
    return path.is_file() and path.suffix != _SUM_SUFFIX and not path.name.startswith(".")


def _sum_of(path: Path) -> str | None:
    """Return the checksum that is written beside a file."""
    sums = path.with_name(path.name + _SUM_SUFFIX)
    return sums.read_text(errors="replace").strip() if sums.is_file() else None


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
    """Return the SHA-256 of a model and of the .bin beside it, or of all files of a directory.

    Raises:
        ModelError: an .onnx refers to more files, whose changes the hash would miss.
    """
    if path.suffix == ".onnx" and _ONNX_REFERENCE in path.read_bytes():
        raise ModelError(
            f"{path} refers to files with weights, so it cannot be cached safely; convert it with "
            "openvino.convert_model and openvino.save_model, or unset cache_dir"
        )
    digest = hashlib.sha256()
    is_directory = path.is_dir()
    for each in sorted(path.rglob("*")) if is_directory else (path, path.with_suffix(".bin")):
        if each.is_file():
            if is_directory:
                digest.update(hash_of_bytes(str(each.relative_to(path)).encode()))
            digest.update(each.stat().st_size.to_bytes(8, "little"))
            _add(digest, each)
    return digest.digest()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    _add(digest, path)
    return digest.hexdigest()


def _add(digest: hashlib._Hash, path: Path) -> None:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
