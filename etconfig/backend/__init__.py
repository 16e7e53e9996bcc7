"""The contract between an executor and a backend: `Backend` and the contexts that it receives."""

from etconfig.backend.bound_backend import BoundBackend
from etconfig.backend.contract import (
    Allocator,
    Availability,
    Backend,
    Capabilities,
    ExecuteContext,
    InitContext,
    Processed,
    ResizeOutput,
    StopSignal,
    Tracer,
    UpdateContext,
    Value,
    never_stop,
    resize_nothing,
)
from etconfig.backend.model_runner import ModelInput, ModelRunner
from etconfig.backend.native_call import LibraryGuard, NativeCall

__all__ = [
    "Allocator",
    "Availability",
    "Backend",
    "BoundBackend",
    "Capabilities",
    "ExecuteContext",
    "InitContext",
    "LibraryGuard",
    "ModelInput",
    "ModelRunner",
    "NativeCall",
    "Processed",
    "ResizeOutput",
    "StopSignal",
    "Tracer",
    "UpdateContext",
    "Value",
    "never_stop",
    "resize_nothing",
]
