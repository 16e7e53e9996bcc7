"""Helpers of the model builders: export methods, inspect a program, run ExecuTorch's runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from executorch.exir import EdgeProgramManager, ExecutorchProgramManager, to_edge_transform_and_lower
from executorch.exir.backend.partitioner import Partitioner
from executorch.runtime import Runtime
from torch import Tensor, nn


def lower_methods(
    methods: Mapping[str, nn.Module], example: Tensor, partitioners: Mapping[str, Partitioner]
) -> EdgeProgramManager:
    """Export each module as a method with one input tensor shaped as `example`.

    Args:
        partitioners: The partitioner of each method; a method without one is not delegated.
    """
    return to_edge_transform_and_lower(
        {name: torch.export.export(module, (example,)) for name, module in methods.items()},
        partitioner={name: [partitioners[name]] if name in partitioners else [] for name in methods},
    )


def describe_program(manager: ExecutorchProgramManager) -> dict[str, Any]:
    """Return, for each method, the operators that it needs, in order of first use, and its delegates."""
    return {
        plan.name: {
            "operators": [f"{op.name}.{op.overload}" if op.overload else op.name for op in plan.operators],
            "delegates": [delegate.id for delegate in plan.delegates],
        }
        for plan in manager.executorch_program.execution_plan
    }


def run_stock_runtime(program: bytes, method: str, inputs: Tensor) -> npt.NDArray[np.float32]:
    """Return the outputs of ExecuTorch's own runtime for inputs one by one along the first dimension."""
    loaded = Runtime.get().load_program(program).load_method(method)
    return np.concatenate([loaded.execute([one])[0].numpy().copy() for one in inputs.split(1)])


def check_close(what: str, given: npt.NDArray[Any], expected: npt.NDArray[Any], tolerance: float) -> float:
    """Return the largest difference.

    Raises:
        RuntimeError: it is above `tolerance`.
    """
    difference = float(np.abs(given - expected).max())
    if not difference <= tolerance:
        raise RuntimeError(f"{what} differs from PyTorch by {difference}, allowed is {tolerance}")
    return difference
