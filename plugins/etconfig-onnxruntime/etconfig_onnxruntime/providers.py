"""The execution providers of an installed ONNX Runtime: those inside the library, and registered ones."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from etconfig_onnxruntime.errors import ProviderFallbackWarning, unavailable
from etconfig_onnxruntime.options import OnnxRuntimeOptions
from etconfig_onnxruntime.provider_libraries import register_library
from etconfig_onnxruntime.provider_names import available_providers
from etconfig_onnxruntime.provider_tables import Provider, provider_name, provider_names

DISTRIBUTIONS: Mapping[str, str] = {
    "cuda": "onnxruntime-gpu",
    "tensorrt": "onnxruntime-gpu",
    "openvino": "onnxruntime-ep-openvino",
    "qnn": "onnxruntime-qnn",
    "directml": "onnxruntime-directml",
    "webgpu": "onnxruntime-ep-webgpu",
}
"""The distribution that brings a provider, in place of `onnxruntime` or beside it."""

_PACKAGES = frozenset(("etconfig", __name__.partition(".")[0]))
"""The packages between the code that builds a session and a warning."""


def present_providers(ort: Any, options: OnnxRuntimeOptions, model: str) -> tuple[Provider, ...]:
    """Return the providers of the options that are there, in their order; warn of those left out.

    Args:
        ort: The module `onnxruntime`.
        options: The options.
        model: The name of the model for the warning.

    Raises:
        BackendUnavailableError: one is absent and the options do not allow that, or none is left.
    """
    names = provider_names(options.providers)
    reasons = [reason for name in names if (reason := register_library(ort, name))]
    available = available_providers(ort)
    absent = [name for name in names if name not in available]
    has = f"this build of ONNX Runtime {ort.__version__} has {_listed(available)}"
    report_absent(options, absent, "; ".join([*reasons, has]), model, is_installed=bool(reasons))
    return tuple(table for table in options.providers if provider_name(table) in available)


def report_absent(
    options: OnnxRuntimeOptions,
    absent: Sequence[str],
    reason: str,
    model: str,
    *,
    is_installed: bool = False,
) -> None:
    """Report providers that were asked for and cannot be used, as the options say.

    Args:
        options: The options.
        absent: The names of the providers.
        reason: The reason, without a period.
        model: The name of the model. Python shows a warning with the same text once for each line of code.
        is_installed: True if installing the provider would not help.

    Raises:
        BackendUnavailableError: the options do not allow to skip them, or no other is left.
    """
    if not absent:
        return
    names = _listed(absent)
    if options.absent_providers == "error":
        raise unavailable(
            f"there is no provider {names}: {reason}", _fix(None if is_installed else absent[0])
        )
    if len(absent) == len(options.providers):
        raise unavailable(
            f"there is none of the providers {names}: {reason}",
            "add one that is, such as 'cpu', to providers",
        )
    text = f"{model}: left out the provider {names}: {reason}"
    warnings.warn(text, ProviderFallbackWarning, stacklevel=_user_stack_level())


def _user_stack_level() -> int:
    """Return the `stacklevel` of the code that uses etconfig, for `warnings.warn` in the caller."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES:
        level, frame = level + 1, frame.f_back
    return level


def _fix(name: str | None) -> str:
    distribution = DISTRIBUTIONS.get(name or "")
    install = f"install {distribution}, " if distribution else ""
    return f'{install}choose another provider, or set absent_providers = "skip" to go on without it'


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
