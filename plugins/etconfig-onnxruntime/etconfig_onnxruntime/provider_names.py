"""The names of execution providers, in options and in ONNX Runtime. Nothing here needs pydantic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PROVIDERS: Mapping[str, str] = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
    "qnn": "QNNExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "directml": "DmlExecutionProvider",
    "webgpu": "WebGpuExecutionProvider",
}
"""The name in ONNX Runtime of each provider, by its name in options."""

_SHORT = {name: short for short, name in PROVIDERS.items()}


def short_name(name: str) -> str:
    """Return the name of a provider in options, or its own name if options have none for it."""
    return _SHORT.get(name, name)


def engine_name(name: str) -> str:
    """Return the name of a provider in ONNX Runtime, by its name in options."""
    return PROVIDERS.get(name, name)


def available_providers(ort: Any) -> tuple[str, ...]:
    """Return the providers inside of the library, then of registered libraries, by short names."""
    built_in = ort.get_available_providers()
    registered = [device.ep_name for device in ort.get_ep_devices()]
    return tuple(dict.fromkeys(short_name(name) for name in (*built_in, *registered)))
