"""The type of a value in a plan, as text."""

from __future__ import annotations

from etconfig.program.model import EValue, SerializedTensor, TensorShapeDynamism


def describe_value(value: EValue) -> str:
    """Return a value's type; for a tensor, its element type, its shape and an unusual dim order."""
    if not isinstance(value, SerializedTensor):
        return "None" if value is None else type(value).__name__
    sizes = ", ".join(map(str, value.sizes))
    if value.shape_dynamism is TensorShapeDynamism.DYNAMIC_BOUND:
        sizes = f"at most {sizes}"
    order = "" if list(value.dim_order) == sorted(value.dim_order) else f", dim order {list(value.dim_order)}"
    return f"{value.scalar_type.dtype_name} [{sizes}]{order}"
