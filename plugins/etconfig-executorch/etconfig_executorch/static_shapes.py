"""Refusal of dynamic shapes for backends of the runtime that would write past the end of an output.

ExecuTorch's runtime for OpenVINO neither reads the shape that the model computed nor resizes the output: a
batch of 4 in a program for up to 16 comes back as 16 rows, and a convolution ends the process with a
segmentation fault.
Source: backends/openvino/runtime/OpenvinoBackend.cpp, execute.
"""

from __future__ import annotations

from typing import Any

from etconfig.plugin.v1 import BackendUnavailableError

STATIC_ONLY = frozenset({"OpenvinoBackend"})
"""Backends whose delegates need arguments of static shape."""


def check_static_shapes(plan: Any) -> None:
    """Check that the delegates of these backends have no argument of a dynamic shape.

    Args:
        plan: The method's plan, as `Program.plan` returns it.

    Raises:
        BackendUnavailableError: one has.
    """
    if STATIC_ONLY.isdisjoint(each.id for each in plan.delegates):
        return
    calls = [each for chain in plan.chains for each in chain.instructions if hasattr(each, "delegate_index")]
    for call in calls:
        backend = plan.delegates[call.delegate_index].id
        if backend in STATIC_ONLY and any(_is_dynamic(plan.values[index]) for index in call.args):
            raise BackendUnavailableError(
                backend=backend,
                reason=f"{plan.name!r} passes it tensors of a dynamic shape, which ExecuTorch's runtime for "
                "it does not support: it returns wrong shapes, or crashes",
                help="export the method with static shapes, or delegate these operators to another backend",
            )


def _is_dynamic(value: Any) -> bool:
    dynamism = getattr(value, "shape_dynamism", None)
    return dynamism is not None and dynamism.name != "STATIC"
