"""`session_runner`: a session as measurements run it, as an application does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from etconfig.plugin.v1 import ModelInput, ModelRunner
from etconfig_onnxruntime.backend import ELEMENT_TYPES
from etconfig_onnxruntime.built import built_of
from etconfig_onnxruntime.errors import unavailable
from etconfig_onnxruntime.run_options import make_run_options

_DTYPES = {**ELEMENT_TYPES, "tensor(bool)": "bool"}


def session_runner(session: Any) -> ModelRunner:
    """Return the inputs of a session, and a function that runs it with the options of its runs.

    Raises:
        BackendUnavailableError: an input is not a tensor of numbers.
    """
    inputs = tuple(_input(value) for value in session.get_inputs())
    names = [each.name for each in inputs]
    built = built_of(session)
    run_options = None if built is None else make_run_options(built.options)

    def run(values: Sequence[Any]) -> Sequence[Any]:
        outputs: Sequence[Any] = session.run(None, dict(zip(names, values, strict=True)), run_options)
        return outputs

    return ModelRunner(inputs=inputs, run=run)


def _input(value: Any) -> ModelInput:
    if value.type not in _DTYPES:
        raise unavailable(
            f"the input {value.name!r} is of the type {value.type}, of which no values can be made up",
            f"measure a model whose inputs are {', '.join(_DTYPES)}",
        )
    shape = tuple(size if isinstance(size, int) else None for size in value.shape)
    return ModelInput(name=value.name, dtype=_DTYPES[value.type], shape=shape)
