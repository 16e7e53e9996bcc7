"""The execution providers of an installed ONNX Runtime: those inside the library, and registered ones."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from etconfig_onnxruntime.errors import ProviderFallbackWarning, unavailable
from etconfig_onnxruntime.options import OnnxRuntimeOptions
from etconfig_onnxruntime.provider_tables import Provider, provider_names

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
"""The name in ONNX Runtime of each provider."""

DISTRIBUTIONS: Mapping[str, str] = {
    "cuda": "onnxruntime-gpu",
    "tensorrt": "onnxruntime-gpu",
    "openvino": "onnxruntime-openvino",
    "qnn": "onnxruntime-qnn",
    "directml": "onnxruntime-directml",
    "webgpu": "onnxruntime-ep-webgpu",
}
"""The distribution that brings a provider, in place of `onnxruntime` or beside it."""

_SHORT = {name: short for short, name in PROVIDERS.items()}


def short_name(name: str) -> str:
    """Return the name of a provider in options, or its own name if options have none for it."""
    return _SHORT.get(name, name)


def available_providers(ort: Any) -> tuple[str, ...]:
    """Return the providers inside of the library, then those of registered libraries, by short names."""
    built_in = ort.get_available_providers()
    registered = [device.ep_name for device in ort.get_ep_devices()]
    return tuple(dict.fromkeys(short_name(name) for name in (*built_in, *registered)))


def present_providers(ort: Any, options: OnnxRuntimeOptions) -> tuple[Provider, ...]:
    """Return the providers of the options that are there, in their order; warn of those left out.

    Raises:
        BackendUnavailableError: one is absent and the options do not allow that, or none is left.
    """
    available = available_providers(ort)
    names = provider_names(options.providers)
    absent = [name for name in names if name not in available]
    report_absent(options, absent, f"this build of ONNX Runtime {ort.__version__} has {_listed(available)}")
    return tuple(table for table in options.providers if table.provider in available)


def report_absent(options: OnnxRuntimeOptions, absent: Sequence[str], reason: str) -> None:
    """Report providers that were asked for and cannot be used, as the options say.

    Raises:
        BackendUnavailableError: the options do not allow to skip them, or no other is left.
    """
    if not absent:
        return
    names = _listed(absent)
    if options.absent_providers == "error":
        raise unavailable(f"there is no provider {names}: {reason}", _fix(absent[0]))
    if len(absent) == len(options.providers):
        raise unavailable(
            f"there is none of the providers {names}: {reason}",
            "add one that is, such as 'cpu', to providers",
        )
    warnings.warn(
        f"left out the provider {names}: {reason}", ProviderFallbackWarning, stacklevel=_USER_STACK_LEVEL
    )


_USER_STACK_LEVEL = 6
"""From `report_absent` up to the caller of `config.build`."""


def _fix(name: str) -> str:
    distribution = DISTRIBUTIONS.get(name)
    install = f"install {distribution}, " if distribution else ""
    return f'{install}choose another provider, or set absent_providers = "skip" to go on without it'


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
