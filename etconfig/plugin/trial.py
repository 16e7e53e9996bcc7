"""Trial of an import in a process of its own, since an import can end or hang its process."""

from __future__ import annotations

import json
import subprocess
import sys

_SURVIVED = 93
"""The exit status after an import that came to an end; by this number, a plugin ends no process."""

_TRIAL = f"""\
import importlib, json, os, sys
sys.path[:] = json.loads(sys.argv[1])
try:
    importlib.import_module(sys.argv[2])
except BaseException:
    pass  # the import that follows in the other process reports it
os._exit({_SURVIVED})
"""


def end_of_import(module: str, limit_s: float) -> str | None:
    """Import a module in another process; return how that ended, or None if the import came to an end.

    An exception is an end, too. Without another process, the result is None: the caller's import shows
    the same.
    """
    try:
        done = subprocess.run(  # noqa: S603  # this Python
            [sys.executable, "-c", _TRIAL, json.dumps(sys.path), module],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"did not finish within {limit_s:g} s"
    except OSError:
        return None
    if done.returncode == _SURVIVED:
        return None
    if done.returncode < 0:
        return f"ends the process by signal {-done.returncode}"
    return f"ends the process with status {done.returncode}"
