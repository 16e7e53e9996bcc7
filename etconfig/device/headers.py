"""The directories of the C++ headers and of their package for CMake, which are shipped beside this module."""

from __future__ import annotations

from pathlib import Path


def device_include_dir() -> Path:
    """Return the directory to pass to compilers as `-I` for `#include <etconfig/facts.h>`."""
    return Path(__file__).parent / "include"


def cmake_dir() -> Path:
    """Return the directory to pass to CMake as `-Detconfig_DIR=` for `find_package(etconfig)`."""
    return Path(__file__).parent / "cmake"
