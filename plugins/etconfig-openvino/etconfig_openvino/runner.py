"""`model_runner`: a compiled model as measurements run it, as an application does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from etconfig.plugin.v1 import ModelInput, ModelRunner


def model_runner(compiled: Any) -> ModelRunner:
    """Return the inputs of a compiled model, and a function that runs it in a request of its own."""
    request = compiled.create_infer_request()

    def run(values: Sequence[Any]) -> Sequence[Any]:
        found = request.infer(list(values))  # copies inputs and outputs
        return [found[index] for index in range(len(found))]

    return ModelRunner(inputs=tuple(_input(port) for port in compiled.inputs), run=run)


def _input(port: Any) -> ModelInput:
    sizes = (dimension.get_length() if dimension.is_static else None for dimension in port.partial_shape)
    return ModelInput(
        name=min(port.names, default=""),
        dtype=np.dtype(port.element_type.to_dtype()).name,
        shape=tuple(sizes),
    )
