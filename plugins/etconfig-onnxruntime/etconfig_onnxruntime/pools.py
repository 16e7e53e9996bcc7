"""The thread pools of ONNX Runtime; the pools of the process are created once and never change."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from etconfig.plugin.v1 import EffectiveOption
from etconfig_onnxruntime.engine import import_engine
from etconfig_onnxruntime.errors import unavailable
from etconfig_onnxruntime.options import OnnxRuntimeOptions

THREAD_VARIABLES: Mapping[str, str] = {
    "intra_op_num_threads": "ORT_INTRA_OP_NUM_THREADS",
    "inter_op_num_threads": "ORT_INTER_OP_NUM_THREADS",
}
"""The environment variable that ONNX Runtime reads for each of these options where it is 0."""

_TASKS = Path("/proc/self/task")
_RELU = bytes.fromhex(
    "080812003a330a0c0a0178120179220452656c751201675a0f0a0178120a0a"
    "08080112040a020801620f0a0179120a0a08080112040a02080142040a001011"
)
"""A model with one operator."""

_lock = threading.Lock()
_created: list[tuple[int, int]] = []
"""The sizes of the pools that this module created; ONNX Runtime itself cannot be asked for them."""


def ensure_pools(ort: Any, options: OnnxRuntimeOptions) -> None:
    """Create the pools of the process if a session needs them.

    Raises:
        BackendUnavailableError: they exist and have other sizes, or the session would have threads of its own
            while they exist, which ONNX Runtime refuses.
    """
    sizes = (options.intra_op_num_threads, options.inter_op_num_threads)
    with _lock:
        if options.use_per_session_threads:
            if _created:
                raise unavailable(
                    "this process has thread pools for all sessions, so no session can have its own threads",
                    "set use_per_session_threads = false for this model, too",
                )
            return
        if not _created:
            _create(ort, sizes)
            _created.append(sizes)
        if _created[0] != sizes:
            raise unavailable(
                f"the pools of this process have the sizes {_shown(_created[0])}, not {_shown(sizes)}, "
                "and ONNX Runtime cannot change them",
                "give all models that share them the same intra_op_num_threads and inter_op_num_threads",
            )


def created_pools() -> tuple[int, int] | None:
    """Return the sizes of the pools that `ensure_pools` created, intra-op first; None if it did not."""
    return _created[0] if _created else None


def threads_of_environment() -> dict[str, EffectiveOption]:
    """Return the threads that sessions without options have, as the system counts them.

    Raises:
        BackendUnavailableError: ONNX Runtime cannot be imported.
    """
    ort = import_engine()
    if not _TASKS.is_dir():
        return {}
    started = {}
    for mode in ("ORT_SEQUENTIAL", "ORT_PARALLEL"):
        settings = ort.SessionOptions()
        settings.execution_mode = getattr(ort.ExecutionMode, mode)
        before = len([*_TASKS.iterdir()])
        kept = ort.InferenceSession(_RELU, settings, providers=["CPUExecutionProvider"])
        started[mode] = len([*_TASKS.iterdir()]) - before
        del kept
    intra = started["ORT_SEQUENTIAL"] + 1
    inter = started["ORT_PARALLEL"] - started["ORT_SEQUENTIAL"] + 1
    counted = "threads of a new session, as the system counts them"
    return {
        "intra_op_num_threads": EffectiveOption.observed(intra, counted),
        "inter_op_num_threads": EffectiveOption.observed(inter, f"{counted}, in the mode parallel"),
    }


def _create(ort: Any, sizes: tuple[int, int]) -> None:
    try:
        ort.set_global_thread_pool_sizes(*sizes)
    except Exception as error:  # a class of ONNX Runtime's own
        raise unavailable(
            f"the thread pools of this process cannot be created: {error}",
            "let etconfig create them: build this session before other code calls "
            "set_global_thread_pool_sizes",
        ) from error


def _shown(sizes: tuple[int, int]) -> str:
    return f"{sizes[0]} (intra_op) and {sizes[1]} (inter_op)"
