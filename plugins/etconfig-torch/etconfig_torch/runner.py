"""`module_runner`: a module of an exported program as measurements run it, as an application does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx.graph import _PyTreeCodeGen as PyTreeCodeGen
from torch.utils import _pytree as pytree

from etconfig.plugin.v1 import ModelInput, ModelRunner
from etconfig_torch.build import device_of
from etconfig_torch.errors import unavailable


def module_runner(module: Any) -> ModelRunner:
    """Return the inputs of a module that `build_module` made of a file, and a function that runs it.

    Raises:
        BackendUnavailableError: an input is not a tensor whose type numpy has.
    """
    device = device_of(module)
    graph = _exported(module).graph
    inputs = tuple(map(_input, graph.find_nodes(op="placeholder")))
    nesting = graph._codegen.pytree_info.in_spec if isinstance(graph._codegen, PyTreeCodeGen) else None

    def run(values: Sequence[Any]) -> Sequence[Any]:
        with torch.inference_mode():
            tensors = [torch.as_tensor(value, device=device) for value in values]
            given, named = (tensors, {}) if nesting is None else pytree.tree_unflatten(tensors, nesting)
            found = module(*given, **named)
            return [_array(each) for each in pytree.tree_leaves(found)]

    return ModelRunner(inputs=inputs, run=run)


def _array(value: Any) -> Any:
    """Return an output as an array of its own, or a number; bfloat16, which numpy lacks, as float32."""
    if not isinstance(value, torch.Tensor):
        return value
    return (value.float() if value.dtype is torch.bfloat16 else value).numpy(force=True).copy()


def _exported(module: Any) -> Any:
    """Return the module of the exported program below `torch.compile` and `torch.autocast`."""
    while not isinstance(module, torch.fx.GraphModule):
        module = module._orig_mod if hasattr(module, "_orig_mod") else module.module
    return module


def _input(node: torch.fx.Node) -> ModelInput:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or value.dtype is torch.bfloat16:
        kind = value.dtype if isinstance(value, torch.Tensor) else type(value).__name__
        raise unavailable(
            f"the input {node.name!r} is of the type {kind}, of which no values can be made up",
            "measure a model that takes tensors whose types numpy has",
        )
    sizes = (size if isinstance(size, int) else None for size in value.shape)
    return ModelInput(name=node.name, dtype=str(value.dtype).removeprefix("torch."), shape=tuple(sizes))
