"""The schema of `TensorRTBackend`.

Source: pytorch/TensorRT at 4f803de, cpp/src/torch_tensorrt/executorch, TensorRTBackend.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from etconfig.plugin.v1 import (
    ApiRange,
    BackendOptions,
    BackendRequest,
    BackendSpec,
    CompileSpecEncoding,
    CompileSpecInfo,
    CompileSpecs,
    Ge,
    Wire,
    hookimpl,
    option,
)

KEY = "weight_streaming_budget"
"""The key of the option, and of the compile spec that it replaces."""


class TensorRTOptions(BackendOptions):
    """Options of `TensorRTBackend`."""

    weight_streaming_budget: Annotated[int, Ge(0)] | None = option(
        None,
        applies="load",
        unit="bytes",
        wire=Wire(key=KEY, as_text=True),
        doc="Memory of the GPU for the weights of each engine; the other weights are streamed from the host. "
        "By default, the value of the program, or else TensorRT's automatic budget for this GPU. It needs an "
        "engine that was built with enable_weight_streaming=True.",
    )


BUDGET = CompileSpecInfo(
    doc="The budget that was given at export, in decimal digits.", encoding=CompileSpecEncoding.UTF8
)


def from_program(compile_specs: CompileSpecs) -> Mapping[str, object]:
    """Return the budget that the program fixes, if it has one."""
    budget = compile_specs.get(KEY)
    return {} if budget is None else {KEY: int(budget)}


SPEC = BackendSpec(
    id="TensorRTBackend",
    doc="NVIDIA GPUs through TensorRT: the delegate of torch-tensorrt, outside of ExecuTorch's tree.",
    options=TensorRTOptions,
    api=ApiRange(min=1, built=1),
    compile_specs={
        KEY: BUDGET,
        "target_device": CompileSpecInfo(
            doc="The GPU of the delegate's tensors, as cuda:0.", encoding=CompileSpecEncoding.UTF8
        ),
    },
    from_program=from_program,
)


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """Return the spec of the backend whose id is `request.name`."""
    return SPEC
