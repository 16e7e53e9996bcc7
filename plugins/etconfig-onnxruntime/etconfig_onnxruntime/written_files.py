"""The files that a session writes: ONNX Runtime leaves most of those that it cannot write out in silence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from etconfig_onnxruntime.errors import ModelRefusedError, unavailable
from etconfig_onnxruntime.options import OnnxRuntimeOptions

_MEMORY_STATS = "session.collect_node_memory_stats_to_file"
_PARTITION = "session.node_partition_config_file"


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
