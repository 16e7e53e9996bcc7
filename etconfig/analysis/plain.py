"""Records as plain data, which `to_jsonable` of the reports is made of, and types of values as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from etconfig.program.model import EValue, SerializedTensor, TensorShapeDynamism


def plain_data(value: Any) -> Any:
    """Return a value as JSON can hold it: records and mappings as dicts, sequences as lists."""
    if is_dataclass(value):
        return {field.name: plain_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(item) for item in value]
    return value


def describe_value(value: EValue) -> str:
    """Return a value's type; for a tensor, its element type, its shape and an unusual dim order."""
    if not isinstance(value, SerializedTensor):
        return "None" if value is None else type(value).__name__
    sizes = ", ".join(map(str, value.sizes))
    if value.shape_dynamism is TensorShapeDynamism.DYNAMIC_BOUND:
        sizes = f"at most {sizes}"
    order = "" if list(value.dim_order) == sorted(value.dim_order) else f", dim order {list(value.dim_order)}"
    return f"{value.scalar_type.dtype_name} [{sizes}]{order}"
