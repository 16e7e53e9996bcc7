"""The recorded architectures of tests/data/architectures, and the tolerances for whole models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

DATA = Path(__file__).parents[1] / "data" / "architectures"

TOLERANCE_IN_EPSILONS = 16
"""The largest difference from PyTorch for every dtype, in multiples of the dtype's epsilon, relative to the
largest absolute value of the output. Sums of some hundred products in another order differ by a few."""

EPSILONS = {
    "float32": float(np.finfo(np.float32).eps),
    "float16": float(np.finfo(np.float16).eps),
    "bfloat16": float(ml_dtypes.finfo(ml_dtypes.bfloat16).eps),
}


def recorded_calls(name: str) -> list[tuple[list[np.ndarray], list[np.ndarray]]]:
    """Return inputs and outputs of each execute, in order; bfloat16 as float32."""
    with np.load(DATA / f"{name}.npz") as archive:
        arrays = dict(archive)
    calls = 1 + max(int(key.removeprefix("call").split("_")[0]) for key in arrays)
    return [
        (_numbered(arrays, f"call{call}_input"), _numbered(arrays, f"call{call}_output"))
        for call in range(calls)
    ]


def _numbered(arrays: dict[str, np.ndarray], prefix: str) -> list[np.ndarray]:
    count = sum(key.startswith(prefix) for key in arrays)
    return [arrays[f"{prefix}{index}"] for index in range(count)]


def assert_model_close(actual: Sequence[Any], expected: Sequence[np.ndarray]) -> None:
    """Check all outputs of a call within the tolerance of their dtype; other types must be equal."""
    assert len(actual) == len(expected)
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours.shape == theirs.shape
        if ours.dtype.name not in EPSILONS:
            np.testing.assert_array_equal(ours, theirs)
            continue
        wide = theirs.astype(np.float64)
        tolerance = TOLERANCE_IN_EPSILONS * EPSILONS[ours.dtype.name] * np.abs(wide).max()
        np.testing.assert_allclose(ours.astype(np.float64), wide, rtol=0, atol=tolerance)
