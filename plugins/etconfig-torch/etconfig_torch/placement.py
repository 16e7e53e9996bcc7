"""The tensors of an exported program that `Module.to` does not move to a device.

They are constants, which are not parameters or buffers, and tensors that operators create while they run.
"""

from __future__ import annotations

import torch


def place(module: torch.nn.Module, device: torch.device) -> None:
    """Move a program's module to a device, with its constants and the tensors that its operators create."""
    module.to(device)
    for each in module.modules():
        for name, value in [*vars(each).items()]:
            if isinstance(value, torch.Tensor):
                setattr(each, name, value.to(device))
        if isinstance(each, torch.fx.GraphModule):
            place_new_tensors(each, device)


def place_new_tensors(module: torch.fx.GraphModule, device: torch.device) -> None:
    """Make operators that create tensors create them on the device of the options."""
    for node in module.graph.nodes:
        if "device" in node.kwargs or (
            device.type != "cpu" and node.op == "call_function" and _creates(node)
        ):
            node.kwargs = {**node.kwargs, "device": device}
    module.recompile()


def _creates(node: torch.fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return False
    takes_tensor = any("Tensor" in str(argument.type) for argument in schema.arguments)
    return not takes_tensor and any(argument.name == "device" for argument in schema.arguments)
