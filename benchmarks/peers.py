"""Helpers of the benchmarks against torch and ExecuTorch: one module run four ways, timed in turns."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
from executorch.runtime import Runtime
from threadpoolctl import threadpool_info
from torch import nn

import etconfig

ROUNDS = 200
SECONDS_EACH = 1.0
"""The time limit of one side of a comparison; afterwards it skips the remaining rounds."""

Run = Callable[[], object]


def use_one_thread() -> None:
    """Let BLAS, torch and XNNPACK use one thread; restart the script if BLAS has another setting."""
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    torch.set_num_threads(1)
    _unsafe_reset_threadpool(1)


def print_settings() -> None:
    """Return the versions and the machine on which the numbers depend."""
    blas = next(each for each in threadpool_info() if "numpy" in each["filepath"])
    print(f"numpy {np.__version__}, {blas['internal_api']} {blas['version']} for {blas['architecture']},")
    print(f"OPENBLAS_CORETYPE={os.environ.get('OPENBLAS_CORETYPE', '')}, {blas['num_threads']} thread")


def runs_of(
    module: nn.Module,
    inputs: Sequence[torch.Tensor],
    kept: Path | None = None,
    **optimization: Mapping[str, object],
) -> dict[str, Run]:
    """Return the ways to run a module: etconfig, ExecuTorch without and with XNNPACK, and torch itself.

    Args:
        module: The module; it is exported in evaluation mode.
        inputs: The inputs of the calls.
        kept: The path to keep programs at, as `KEPT.portable.pte` and `KEPT.xnnpack.pte`.
        optimization: More ways to run etconfig: arguments of `load_method`, by the name of the way.
    """
    portable, delegated = (
        _exported(module.eval(), inputs, partitioner, kept and kept.with_name(f"{kept.name}.{kind}.pte"))
        for kind, partitioner in (("portable", []), ("xnnpack", [XnnpackPartitioner()]))
    )
    arrays = [each.numpy() for each in inputs]
    runs = {
        name: _bound(etconfig.load_program(portable).load_method("forward", **keywords).execute, arrays)
        for name, keywords in {"etconfig": {}, **optimization}.items()
    }
    runs["portable"] = _stock_run(portable, inputs)
    if etconfig.load_program(delegated).program.plan("forward").delegates:
        runs["xnnpack"] = _stock_run(delegated, inputs)

    def eager() -> object:
        with torch.no_grad():
            return module(*inputs)

    return {**runs, "torch": eager}


def _exported(
    module: nn.Module,
    inputs: Sequence[torch.Tensor],
    partitioner: list[XnnpackPartitioner],
    kept: Path | None,
) -> bytes:
    """Return the program of the module, from the file `kept` if it exists."""
    if kept is not None and kept.exists():
        return kept.read_bytes()
    edge = to_edge_transform_and_lower(torch.export.export(module, tuple(inputs)), partitioner=partitioner)
    program: bytes = edge.to_executorch().buffer
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(program)
    return program


def _bound(execute: Callable[[Sequence[object]], object], inputs: Sequence[object]) -> Run:
    return lambda: execute(inputs)


def _stock_run(program: bytes, inputs: Sequence[torch.Tensor]) -> Run:
    loaded = Runtime.get().load_program(program)
    method = loaded.load_method("forward")
    return lambda: (loaded, method.execute(inputs))  # a method does not keep its program alive


def times_in_turns(runs: Mapping[str, Run]) -> dict[str, float]:
    """Return the seconds of each: the 15th percentile over rounds in which each runs once.

    This is the processor time of this thread, which does all of the work, so that other processes
    disturb it less.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(ROUNDS):
        for name, run in runs.items():
            if sum(times[name]) < SECONDS_EACH:
                start = time.thread_time()
                run()
                times[name].append(time.thread_time() - start)
    return {name: float(np.percentile(each, 15)) for name, each in times.items()}


def print_ratios(names: Sequence[str], label: str, times: Mapping[str, float]) -> None:
    """Return one row: etconfig's microseconds, and the ratio of its time to that of each of `names`."""
    ratios = "".join(
        f"{times['etconfig'] / times[name]:>12.2f}" if name in times else f"{'-':>12}" for name in names
    )
    print(f"{label:<34}{times['etconfig'] * 1e6:>11.0f}{ratios}", flush=True)
