"""The forking worker: it imports the kit once, reads orders from stdin, and forks a child for each.

Run as `python -m etconfig.conformance.runner.forking`; `process.forking_worker` describes an order. The
worker has one thread and nothing of a vendor, so a fork of it is safe, and a child of it begins like a new
process.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import tempfile
import warnings
from typing import Any

PRELOADED = (
    "etconfig.conformance.checks.check_catalog",
    "etconfig.schema.options",
    "etconfig.plugin.registry",
    "etconfig.plugin.v1",
    "etconfig.wire",
    "etconfig.numpy_executor",
    "etconfig.kernels",
    "ml_dtypes",
)
"""The modules that the load of a program imports, so that children need not."""


def serve_orders() -> None:
    """Fork a child for each order until stdin ends; in a child, run the request and return."""
    _preload()
    while line := sys.stdin.buffer.readline():
        order = json.loads(line)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # numpy's library has idle threads
            child = os.fork()
        if child == 0:
            _become(order)
            from etconfig.conformance.runner.isolated_process import run_check_of

            run_check_of(order["request"])
            return  # the child ends as any process does: with its exit handlers and threads
        _say({"child": child})
        _, status = os.waitpid(child, 0)
        _say({"code": os.waitstatus_to_exitcode(status)})


def _preload() -> None:
    for name in PRELOADED:
        importlib.import_module(name)
    sys.modules["etconfig.kernels"].builtin_tables()
    gc.collect()
    gc.freeze()  # children do not look at these objects again


def _become(order: dict[str, Any]) -> None:
    """Turn this forked child into a process of its own: session, output, environment and search path."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    said = os.open(order["said"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for source, target in ((nothing, 0), (said, 1), (said, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(said)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["directory"])
    tempfile.tempdir = None
    kept = [path for path in sys.path if path not in order["environment"]["PYTHONPATH"].split(os.pathsep)]
    sys.path[:] = [*order["environment"]["PYTHONPATH"].split(os.pathsep), *kept]
    importlib.invalidate_caches()


def _say(message: dict[str, int]) -> None:
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve_orders()
