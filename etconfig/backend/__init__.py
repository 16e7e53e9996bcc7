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
    Tracer,
    UpdateContext,
    Value,
    resize_nothing,
)

__all__ = [
    "Allocator",
    "Availability",
    "Backend",
    "BoundBackend",
    "Capabilities",
    "ExecuteContext",
    "InitContext",
    "Processed",
    "ResizeOutput",
    "Tracer",
    "UpdateContext",
    "Value",
    "resize_nothing",
]
