"""The memory of a session, from measurements of ONNX Runtime 1.32 on a CPU: `benchmarks/bench_need.py`.

A session keeps the bytes of its model. Parsing copies the weights. Weights of matrix products are packed one
by one, and their copies freed; convolutions are rewritten while the model is optimized, and copies remain.
"""

from __future__ import annotations

from etconfig.plugin.v1 import DelegateFacts, DelegateMemory
from etconfig_onnxruntime.model_inputs import convolution_share
from etconfig_onnxruntime.options import OnnxRuntimeOptions

_WEIGHTS, _CONVOLUTIONS, _CONVOLUTIONS_LOADING = 2.0, 3.0, 0.25
"""The size of what a session makes of weights, in sizes of the weights."""
_ARGUMENTS = 2
"""The values between the operations, in sizes of the inputs and outputs."""


def session_memory(options: OnnxRuntimeOptions, delegate: DelegateFacts) -> DelegateMemory:
    """Return the memory of a delegate. With providers other than the CPU it is a rough estimate."""
    payload_bytes = delegate.payload_bytes
    share = convolution_share(delegate.read())
    made = payload_bytes * (_WEIGHTS + share * (_CONVOLUTIONS - _WEIGHTS))
    return DelegateMemory(
        held_bytes=payload_bytes + int(made),
        running_bytes=_ARGUMENTS * delegate.argument_bytes,
        loading_bytes=int(payload_bytes * share * _CONVOLUTIONS_LOADING),
        is_measured=True,
    )
