"""The memory of a session, from measurements of ONNX Runtime 1.32 on a CPU: `benchmarks/bench_need.py`.

A session keeps the bytes of a program's model. Parsing copies the weights. Weights of matrix products are
packed one by one, and their copies freed; convolutions are rewritten while the model is optimized, and copies
remain. Of a file it maps the weights, so that fewer copies are there at once.
"""

from __future__ import annotations

from pathlib import Path

from etconfig.plugin.v1 import (
    DelegateFacts,
    DelegateInvalidCompatibilityError,
    DelegateMemory,
    Envelope,
    InvalidPayloadError,
)
from etconfig_onnxruntime.model_inputs import argument_bytes, convolution_share, data_files
from etconfig_onnxruntime.options import OnnxRuntimeOptions

_WEIGHTS, _CONVOLUTIONS, _CONVOLUTIONS_LOADING = 2.0, 3.0, 0.25
"""The size of what a session makes of weights, in sizes of the weights."""
_WEIGHTS_OF_FILE = 1.75
_ARGUMENTS, _ARGUMENTS_OF_FILE = 2, 2.5
"""The values between the operations, in sizes of the inputs and outputs; of a file with copies of these."""


def session_memory(options: OnnxRuntimeOptions, delegate: DelegateFacts) -> DelegateMemory:
    """Return the memory of a delegate or a file. With providers other than the CPU it is a rough estimate."""
    if delegate.path is not None:
        return _file_memory(Path(delegate.path), delegate)
    try:
        model = Envelope.read(delegate.read())[1]
    except (InvalidPayloadError, DelegateInvalidCompatibilityError):
        model = memoryview(b"")
    payload_bytes, share = delegate.payload_bytes, convolution_share(model)
    made = payload_bytes * (_WEIGHTS + share * (_CONVOLUTIONS - _WEIGHTS))
    return DelegateMemory(
        held_bytes=payload_bytes + int(made),
        running_bytes=_ARGUMENTS * delegate.argument_bytes,
        loading_bytes=int(payload_bytes * share * _CONVOLUTIONS_LOADING),
        is_measured=True,
    )


def _file_memory(path: Path, file: DelegateFacts) -> DelegateMemory:
    model = file.read()
    if path.suffix == ".ort":  # its weights lie there as they are used
        return DelegateMemory(held_bytes=file.payload_bytes)
    try:
        arguments, names = argument_bytes(model), data_files(model)
    except ValueError as error:
        raise InvalidPayloadError(cause=str(error)) from error
    beside = {path.parent / name for name in names if name.isprintable()}
    weight_bytes = file.payload_bytes + sum(each.stat().st_size for each in beside if each.is_file())
    share = convolution_share(model)
    return DelegateMemory(
        held_bytes=int(weight_bytes * (_WEIGHTS_OF_FILE + share * (_CONVOLUTIONS - _WEIGHTS_OF_FILE))),
        running_bytes=int(_ARGUMENTS_OF_FILE * arguments),
        is_measured=True,
    )
