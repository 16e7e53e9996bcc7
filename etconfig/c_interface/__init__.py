"""Backends in C and C++: the interface of their libraries, and the `Backend` that calls one.

The interface is `include/etconfig/backend.h`. Importing this package loads none of its modules, since most of
them import ctypes and numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {"CBackend": "backend", "CBackendError": "failure", "include_dir": "headers"}
"""Which module each public name lives in."""

if TYPE_CHECKING:
    from etconfig.c_interface.backend import CBackend
    from etconfig.c_interface.failure import CBackendError
    from etconfig.c_interface.headers import include_dir

__all__ = ["CBackend", "CBackendError", "include_dir"]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
