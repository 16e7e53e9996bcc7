"""The C++ headers that read `.etargs` files; they are shipped beside this module."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

INCLUDE = Path(__file__).parent / "include"
"""The directory that compilers take as `-I`."""


def include_files() -> Mapping[str, bytes]:
    """The content of each header, by the path that `#include` has."""
    return {path.relative_to(INCLUDE).as_posix(): path.read_bytes() for path in sorted(INCLUDE.rglob("*.h"))}
