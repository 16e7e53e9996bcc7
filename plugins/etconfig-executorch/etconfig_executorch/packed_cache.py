"""The file of packed weights: XNNPACK overwrites whatever is there, so only its own cache may be."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from etconfig.plugin.v1 import BackendUnavailableError, WireOption
from etconfig_executorch.options import XNNPACK

PATH = "packed_cache_path"
_END = b"CWPX"
"""The bytes before the last four. Source: backends/xnnpack/runtime/XNNWeightsCache.cpp, save_packed_index."""
_END_BYTES = 8


def check_packed_cache(options: Sequence[WireOption]) -> None:
    """Check that XNNPACK may write the file of packed weights that its options name, if they do.

    Raises:
        BackendUnavailableError: something else is there, or no file can be made there.
    """
    path = next((str(each.value) for each in options if each.key == PATH), None)
    reason = None if path is None else _obstacle(Path(path))
    if reason is not None:
        raise BackendUnavailableError(
            backend=XNNPACK,
            reason=f"{PATH} is {path!r}, {reason}",
            help="name another file, or remove this one",
        )


def _obstacle(path: Path) -> str | None:
    """Return why XNNPACK must not, or cannot, write the file; None if it may."""
    try:
        found = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            return "a symbolic link to a file that is not there"
        directory = path.absolute().parent
        return None if directory.is_dir() else f"but there is no directory {directory}"
    except OSError as error:
        return f"which cannot be read: {error.strerror}"
    if not stat.S_ISREG(found.st_mode):
        return "which is not a regular file"
    if found.st_size and not _is_cache(path):
        return "which is there, and not a cache that XNNPACK wrote: it would overwrite the file"
    return None


def _is_cache(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _END_BYTES))
            return file.read().startswith(_END)
    except OSError:
        return False
