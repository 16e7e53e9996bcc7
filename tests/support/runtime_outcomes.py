"""The recorded operator calls in which ExecuTorch's runtime differs from eager PyTorch."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from kernel_cases import DATA, TOLERANCES

RUNTIME_DIFFERS: dict[str, dict[str, str]] = json.loads((DATA / "runtime_differences.json").read_text())
"""The reasons for differences, as far as logs and code show them, with the outcome of each call.

The kernels here must agree with eager PyTorch, which is right by its documentation, by IEEE 754 or by
float64; in scales and products of quantized numbers the runtime rounds less. `#0 2 of 5` means two of the
five elements of the first output. The names are those of `kernel_cases.case_ids`.
"""

ROUNDING = 1e-6
"""Relative differences up to this are not written as numbers, since they depend on the machine."""


def outcome(theirs: Sequence[np.ndarray] | str | None, expected: Sequence[np.ndarray]) -> str | None:
    """Describe the outcome of a call in a few words; None if it gave the expected results.

    Args:
        theirs: Its outputs, the runtime's message if it refused, or None if it ended the process.
        expected: The results of eager PyTorch.
    """
    if theirs is None:
        return "ends the process"
    if isinstance(theirs, str):
        return f"error 0x{theirs.rpartition('0x')[2].lstrip(':')}"
    pairs = zip(theirs, expected, strict=True)
    found = [f"#{place} {each}" for place, pair in enumerate(pairs) if (each := _difference(*pair))]
    return "; ".join(found) or None


def _difference(given: np.ndarray, expected: np.ndarray) -> str | None:
    if given.shape != expected.shape or given.dtype != expected.dtype:
        return f"{given.dtype}{given.shape} for {expected.dtype}{expected.shape}"
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    one, other = given.astype(wide), expected.astype(wide)
    relative, absolute = TOLERANCES.get(expected.dtype.name, (0, 0))
    is_off = ~np.isclose(one, other, relative, absolute, equal_nan=True)
    if not is_off.any():
        return None
    if np.allclose(one, other, ROUNDING, ROUNDING):
        return "rounded more"
    first = np.flatnonzero(is_off)[0]
    count = f"{np.count_nonzero(is_off)} of {is_off.size}"
    return f"{count}: {one.flat[first]:.4g} for {other.flat[first]:.4g}"
