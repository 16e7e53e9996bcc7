"""ONNX Runtime for etconfig: typed options for its sessions, checked before the engine ignores them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from etconfig_onnxruntime.errors import ModelRefusedError, ProviderFallbackWarning
    from etconfig_onnxruntime.options import OnnxRuntimeOptions
    from etconfig_onnxruntime.run_options import make_run_options
    from etconfig_onnxruntime.session import build_session

__all__ = [
    "ModelRefusedError",
    "OnnxRuntimeOptions",
    "ProviderFallbackWarning",
    "build_session",
    "make_run_options",
]

_HOME = {
    "ModelRefusedError": "errors",
    "OnnxRuntimeOptions": "options",
    "ProviderFallbackWarning": "errors",
    "build_session": "session",
    "make_run_options": "run_options",
}


def __getattr__(name: str) -> Any:
    """Import the public names on first use, so that the plugin's module is found quickly."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
