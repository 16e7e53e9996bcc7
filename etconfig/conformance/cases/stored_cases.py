"""The stored cases: recorded inputs and outputs, written by `tools/build_conformance_cases.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from etconfig.conformance.cases.case import Case, CaseRun

CASES = Path(__file__).parent / "cases.json"
"""The file that describes the cases; a value is a number, or the name of an array with its dtype."""

ARRAYS = Path(__file__).parent / "cases.npz"
"""The file of the arrays, as raw bytes where numpy has no name for the dtype."""


def load_cases() -> Mapping[str, Case]:
    """Return all cases by name, the simplest first; the caller may change the arrays."""
    described = json.loads(CASES.read_text(encoding="utf-8"))
    with np.load(ARRAYS) as stored:
        return {each["name"]: _case(each, stored) for each in described}


def _case(described: dict[str, Any], stored: Mapping[str, Any]) -> Case:
    arrays: dict[str, Any] = {}

    def read(values: list[Any]) -> tuple[Any, ...]:
        return tuple(_value(value, stored, arrays) for value in values)

    return Case(
        name=described["name"],
        doc=described["doc"],
        dtypes=frozenset(described["dtypes"]),
        dim_orders=frozenset(described["dim_orders"]),
        requires=frozenset(described["requires"]),
        runs={
            method: tuple(CaseRun(inputs=read(run["inputs"]), outputs=read(run["outputs"])) for run in runs)
            for method, runs in described["runs"].items()
        },
    )


def _value(described: Any, stored: Mapping[str, Any], arrays: dict[str, Any]) -> Any:
    """Return a number, or the array of this name: the same array object for each mention."""
    if not isinstance(described, dict):
        return described
    name = described["array"]
    if name not in arrays:
        arrays[name] = _array(described, stored[name])
    return arrays[name]


def _array(described: dict[str, Any], array: Any) -> Any:
    if described["dtype"] == "bfloat16":
        import ml_dtypes

        array = array.view(ml_dtypes.bfloat16)
    order = described.get("dim_order")
    # a transposed view keeps the values, and has the strides of the dim order
    return array if order is None else array.transpose(np.argsort(order))
