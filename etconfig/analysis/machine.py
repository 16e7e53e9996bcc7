"""`MachineReport`: what a measurement depends on besides the program."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from etconfig.base.records import record

_BLAS_VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""These variables decide which code BLAS runs, and on how many threads."""


@record(frozen=True, kw_only=True)
class MachineReport:
    """The machine, Python, numpy and BLAS.

    Attributes:
        python: The implementation and version, such as `CPython 3.12.1`, or the program in its place.
        system: The operating system and architecture, such as `Linux x86_64`.
        cores: The number of cores that this process may use; None if unknown.
        load_average: The load average of the last minute; None on systems without one.
        numpy: The version of numpy; None where no Python measures.
        blas: The name and version of the BLAS library that numpy uses; None without numpy.
        blas_settings: The environment variables that are set for BLAS.
    """

    python: str
    system: str
    cores: int | None
    load_average: float | None
    numpy: str | None
    blas: str | None
    blas_settings: Mapping[str, str]


def describe_machine() -> MachineReport:
    """Describe the machine and the state that it is in now."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    has_affinity = hasattr(os, "sched_getaffinity")
    return MachineReport(
        python=f"{platform.python_implementation()} {platform.python_version()}",
        system=f"{platform.system()} {platform.machine()}",
        cores=len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count(),
        load_average=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        numpy=np.__version__,
        blas=f"{blas.get('name')} {blas.get('version')}",
        blas_settings={name: os.environ[name] for name in _BLAS_VARIABLES if name in os.environ},
    )


def peak_rss_bytes() -> int | None:
    """Return the peak resident memory of this process in bytes; None on systems that do not report it.

    On Linux it comes from /proc, since `getrusage` there counts from the memory that the parent process had
    when it started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"^VmHWM:\s*(\d+) kB$", status.read_text("ascii", errors="replace"), re.MULTILINE)
        return int(found[1]) * 1024 if found else None
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # kilobytes except on macOS
