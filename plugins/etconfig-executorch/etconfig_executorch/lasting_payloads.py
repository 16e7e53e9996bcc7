"""Payloads that stay in memory although the runtime's backend frees them.

OpenVINO computes with the weights where they are in the payload, without a copy. ExecuTorch's backend frees
the payload after the import; its `execute` then reads memory that is gone.
Source: backends/openvino/runtime/OpenvinoBackend.cpp, init.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any


class KeepingLoader:
    """A loader of a program's bytes that also hands payloads to the method for which they are loaded.

    Args:
        loader: The loader of the bytes.
    """

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._current = threading.local()

    def size(self) -> int:
        """Return the size of the program in bytes."""
        size: int = self._loader.size()
        return size

    def load(self, offset: int, size: int) -> Any:
        """Return `size` bytes from `offset` on, without a copy."""
        data = self._loader.load(offset, size)
        if size in getattr(self._current, "sizes", ()):
            self._current.kept.append(data)
        return data

    @contextmanager
    def keeping(self, sizes: Collection[int]) -> Iterator[list[Any]]:
        """Collect what this thread loads meanwhile and has one of these sizes, in bytes; yields the views."""
        self._current.sizes, self._current.kept = sizes, []
        try:
            yield self._current.kept
        finally:
            del self._current.sizes, self._current.kept
