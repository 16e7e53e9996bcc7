"""The files that a session writes: ONNX Runtime silently leaves out most files that it cannot write."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from etconfig.plugin.v1 import cache_key
from etconfig_onnxruntime.errors import ModelRefusedError, unavailable
from etconfig_onnxruntime.options import OnnxRuntimeOptions

_MEMORY_STATS = "session.collect_node_memory_stats_to_file"
_PARTITION = "session.node_partition_config_file"
_MODELS = ("optimized_model_filepath", "ep_context_file_path")
"""The options that name a model to write."""


@dataclass
class _Claim:
    """The session that writes a file: its model with the options that change the file, and its name."""

    key: str
    name: str
    is_written: bool = False


_CLAIMS: dict[str, _Claim] = {}
"""The models that sessions of this process write, by their real paths."""
_LOCK = threading.Lock()


def check_written_files(options: OnnxRuntimeOptions, model: str | os.PathLike[str] | bytes | None) -> None:
    """Check that the files of a session can be written, and that none of them is its model.

    Raises:
        BackendUnavailableError: the directory of a file is missing, or it or the file cannot be written.
        ModelRefusedError: a file is the model, which ONNX Runtime would overwrite.
    """
    source = None if model is None or isinstance(model, bytes) else os.fspath(model)
    for place, path in _written(options, source):
        _check_directory(place, path)
        if Path(path).is_dir():
            raise unavailable(f"{place} is {path!r}, which is a directory", "name a file")
        if Path(path).exists() and not os.access(path, os.W_OK):
            raise unavailable(f"{place} is {path!r}, which cannot be written", "name another file")
        if source is not None and _is_same(path, source):
            raise ModelRefusedError(
                model=source,
                cause=f"{place} is {path!r}, which is this file: ONNX Runtime would overwrite the model",
                help="name another file",
            )
    if options.enable_profiling:
        _check_directory("profile_file_prefix", options.profile_file_prefix)


@contextmanager
def claimed_files(
    options: OnnxRuntimeOptions, name: str, model: str | os.PathLike[str] | bytes, version: str
) -> Iterator[None]:
    """Keep a session's models apart from other sessions' models, while it is built and afterwards.

    The same model with the same options may be written again, and so may a file that was removed.

    Raises:
        ModelRefusedError: another model, or other options, wrote such a file in this process.
    """
    paths = {place: getattr(options, place) for place in _MODELS if getattr(options, place)}
    if not paths:
        yield
        return
    data = model if isinstance(model, bytes) else Path(model).read_bytes()
    mine = _Claim(
        cache_key(options, payload_hash=hashlib.sha256(data).hexdigest(), engine_version=version), name
    )
    files = [os.path.realpath(path) for path in paths.values()]
    with _LOCK:
        for (place, path), file in zip(paths.items(), files, strict=True):
            other = _CLAIMS.get(file, mine)
            if other.key != mine.key and (not other.is_written or Path(file).exists()):
                whose = "another model, or other options" if other.name == name else other.name
                raise ModelRefusedError(
                    model=name,
                    cause=f"{place} is {path!r}, which was written for {whose}: ONNX Runtime would overwrite "
                    "it",
                    help="name a file for each model, or remove this one",
                )
        before = {file: _CLAIMS.get(file) for file in files}
        _CLAIMS.update(dict.fromkeys(files, mine))
    try:
        yield
    except BaseException:
        with _LOCK:
            for file, former in before.items():
                if former is None:
                    del _CLAIMS[file]
                else:
                    _CLAIMS[file] = former
        raise
    mine.is_written = True


def _written(options: OnnxRuntimeOptions, source: str | None) -> Iterator[tuple[str, str]]:
    """Yield the place of each file in the options, and its path."""
    if options.optimized_model_filepath:
        yield "optimized_model_filepath", options.optimized_model_filepath
    if options.ep_context_file_path:
        yield "ep_context_file_path", options.ep_context_file_path
    for key in (_MEMORY_STATS, _PARTITION):
        path = options.config_entries.get(key)
        if path:
            # ONNX Runtime takes this one relative to the model
            start = Path(source or "").parent if key == _MEMORY_STATS else Path()
            yield f"config_entries[{key!r}]", str(start / path)


def _check_directory(place: str, path: str) -> None:
    directory = Path(f"{path}_").absolute().parent  # also if it ends with a slash, or is the start of a name
    if not directory.is_dir():
        help = "create it, or name a file in another one"
        raise unavailable(f"{place} is {path!r}, but there is no directory {directory}", help)
    if not os.access(directory, os.W_OK | os.X_OK):
        raise unavailable(
            f"{place} is {path!r}, but the directory {directory} cannot be written",
            "allow that, or name a file in another one",
        )


def _is_same(path: str, source: str) -> bool:
    return Path(path).exists() and Path(source).exists() and Path(path).samefile(source)
