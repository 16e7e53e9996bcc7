"""Records as plain data: what `to_jsonable` of the reports is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def plain_data(value: Any) -> Any:
    """Return a value as JSON can hold it: records and mappings as dicts, sequences as lists."""
    if is_dataclass(value):
        return {field.name: plain_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(item) for item in value]
    return value
