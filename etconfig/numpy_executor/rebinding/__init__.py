"""Dynamic shapes: binds the instructions again whose arguments have changed since the last run."""

from etconfig.numpy_executor.rebinding.rebinding import Rebinding

__all__ = ["Rebinding"]
