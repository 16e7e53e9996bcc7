"""`watch_output`: what this process prints on standard output, from Python, from C and from its children."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

_STDOUT = 1


@contextmanager
def watch_output() -> Iterator[list[str]]:
    """Collect what is printed inside; the list has one text then, which is empty if nothing was."""
    found: list[str] = []
    kept = os.dup(_STDOUT)
    with tempfile.TemporaryFile() as file, open(os.dup(file.fileno()), "w", encoding="utf-8") as stream:  # noqa: PTH123
        _flush_c()
        os.dup2(file.fileno(), _STDOUT)
        try:
            with redirect_stdout(stream):
                yield found
        finally:
            for each in (stream, sys.__stdout__):
                if each is not None:
                    each.flush()
            _flush_c()
            os.dup2(kept, _STDOUT)
            os.close(kept)
        file.seek(0)
        found.append(file.read().decode("utf-8", "replace"))


def _flush_c() -> None:
    """Write what libraries in C have printed and not written yet."""
    if sys.platform != "win32":
        import ctypes

        ctypes.CDLL(None).fflush(None)
