"""`collection_paused`: build many long-lived objects without the garbage collector looking at them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Let Python's cyclic garbage collector rest meanwhile, in all threads.

    What is built here lives on and holds no garbage, but the collector would go through all of it
    several times: with 30,000 instructions that took twice the time of the work itself. Collection
    resumes with the first of several threads that leaves, and always does: only a thread that
    found the collector running stops it, and that thread starts it again.
    """
    if not gc.isenabled():
        yield
        return
    try:
        gc.disable()  # within: Ctrl-C may come right after it
        yield
    finally:
        gc.enable()
