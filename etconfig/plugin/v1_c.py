"""The plugin API for backends in C and C++, version 1; apart from `etconfig.plugin.v1`, to import no numpy.

The header `etconfig/backend.h` in `include_dir()` documents the interface. Only plugins import this module;
etconfig itself does not.
"""

from etconfig.c_interface.backend import CBackend
from etconfig.c_interface.backend_error import CBackendError
from etconfig.c_interface.headers import include_dir

__all__ = ["CBackend", "CBackendError", "include_dir"]
