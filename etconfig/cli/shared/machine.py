"""What measurements depend on beside the program: the machine, Python, numpy, BLAS and its settings."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

import numpy as np

_BLAS_VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""What decides which code BLAS runs, and on how many threads."""


def describe_surroundings() -> dict[str, Any]:
    """All of it as plain data, and how busy the machine is."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    has_affinity = hasattr(os, "sched_getaffinity")
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count(),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "numpy": np.__version__,
        "blas": f"{blas.get('name')} {blas.get('version')}",
        "blas_settings": {name: os.environ[name] for name in _BLAS_VARIABLES if name in os.environ},
    }


def peak_rss_bytes() -> int | None:
    """The most memory that this process had resident; None where the system does not tell."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # kilobytes but on macOS
