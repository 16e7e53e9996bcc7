"""The directory of the C header, which is shipped beside this module."""

from __future__ import annotations

from pathlib import Path


def include_dir() -> Path:
    """Return the directory to pass to compilers as `-I` for `#include <etconfig/backend.h>`."""
    return Path(__file__).parent / "include"
