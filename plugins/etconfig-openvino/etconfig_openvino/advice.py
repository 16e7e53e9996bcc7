"""The recommendations for `OpenvinoBackend`, as data; README.md has the measurements behind them."""

from __future__ import annotations

from etconfig.plugin.v1 import Advice

_EXACT = (
    "OpenVINO would compute in bfloat16 on this processor, with errors of about 0.4 % of the largest output. "
    "Choose bf16 if the model bears that: depending on processor and model, it took 0.5 to 1.4 times the "
    "time."
)

ADVICE = (
    Advice("cpu_inference_precision", expr='"f32"', when='"amx_bf16" in cpu.features', reason=_EXACT),
    Advice("cpu_inference_precision", expr='"f32"', when='"avx512_bf16" in cpu.features', reason=_EXACT),
)
"""Float32 on processors on which OpenVINO takes bfloat16 unasked; on all others it computes in float32
anyway."""
