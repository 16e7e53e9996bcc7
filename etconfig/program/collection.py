"""`collection_paused`: keep the garbage collector away while many long-lived objects are built."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause Python's cyclic garbage collector, in all threads.

    The objects of a plan live on and contain no garbage, but the collector would visit all of them
    several times: with 30,000 instructions that took twice the time of the work itself. With several
    threads, collection resumes when the first one leaves. It always resumes: only a thread that found
    the collector running stops it, and that thread starts it again.
    """
    if not gc.isenabled():
        yield
        return
    try:
        gc.disable()  # inside `try`, because Ctrl-C may come right after it
        yield
    finally:
        gc.enable()
