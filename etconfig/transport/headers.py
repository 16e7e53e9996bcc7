"""The C++ headers that read `.etargs` files, which are shipped beside this module."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

INCLUDE = Path(__file__).parent / "include"
"""The directory to pass to compilers as `-I`."""


def include_files() -> Mapping[str, bytes]:
    """Return the content of each header, by its path in `#include`."""
    return {path.relative_to(INCLUDE).as_posix(): path.read_bytes() for path in sorted(INCLUDE.rglob("*.h"))}
