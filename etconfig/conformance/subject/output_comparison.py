"""Comparison of a method's outputs with eager PyTorch's: are they right, and are they precise?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from etconfig.conformance.kit.outcomes import CheckFailedError

DEFAULT_TOLERANCES: Mapping[str, float] = {
    "float64": 1e-9,
    "float32": 1e-5,
    "float16": 4e-3,
    "bfloat16": 3.2e-2,
}
"""The largest error by dtype, relative to the largest magnitude of the expected output: a few units
in the last place of each. Everything else must be exact."""

RIGHT = 0.02
"""The relative error up to which a floating-point answer is right, if not precise. A backend that rounds
more than it declares fails the checks of precision, and not every check that compares answers."""


def precise(claimed: Mapping[str, float] | None) -> Mapping[str, float]:
    """Return the largest error of a precise answer, by dtype: the backend's claim, else the default."""
    return {**DEFAULT_TOLERANCES, **(claimed or {})}


def right(claimed: Mapping[str, float] | None) -> Mapping[str, float]:
    """Return the largest error of a right answer, by dtype."""
    return {dtype: max(RIGHT, error) for dtype, error in precise(claimed).items()}


def check_outputs(
    where: str,
    outputs: Sequence[Any],
    expected: Sequence[Any],
    tolerances: Mapping[str, float] = DEFAULT_TOLERANCES,
) -> None:
    """Compare all outputs of one run.

    Args:
        where: The case and method, for messages.
        outputs: The outputs of the method.
        expected: The outputs of eager PyTorch.
        tolerances: The largest error by dtype, from `precise` or `right`; other dtypes must be exact.

    Raises:
        CheckFailedError: an output is missing, or has another dtype, shape or values.
    """
    if len(outputs) != len(expected):
        raise CheckFailedError(f"{where}: {len(outputs)} outputs were returned, expected {len(expected)}")
    for index, (output, wanted) in enumerate(zip(outputs, expected, strict=True)):
        _check_output(f"{where}, output {index}", np.asarray(output), np.asarray(wanted), tolerances)


def _check_output(where: str, output: Any, expected: Any, tolerances: Mapping[str, float]) -> None:
    if output.dtype != expected.dtype or output.shape != expected.shape:
        raise CheckFailedError(
            f"{where}: {output.dtype} of shape {output.shape}, "
            f"expected {expected.dtype} of shape {expected.shape}"
        )
    allowed = tolerances.get(str(expected.dtype))
    if allowed is None:
        # compared in their own type, since float64 cannot represent every int64
        _check_none(where, output != expected, output, expected, f"{expected.dtype} must be exact")
        return
    given, wanted = output.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(wanted)
    same = (given == wanted) | (np.isnan(given) & np.isnan(wanted))
    _check_none(
        where, ~finite & ~same, output, expected, "infinities and NaN must be where the case has them"
    )
    if not finite.any():
        return
    scale = float(np.abs(wanted[finite]).max()) or 1.0
    error = float(np.max(np.abs(given[finite] - wanted[finite])))
    if not error <= allowed * scale:
        raise CheckFailedError(
            f"{where}: off by {error / scale:.3g} of the largest value, expected at most {allowed:.3g}"
        )


def _check_none(where: str, differs: Any, output: Any, expected: Any, rule: str) -> None:
    """Raises CheckFailedError for the first element that differs."""
    places = np.argwhere(differs)
    if len(places):
        index = tuple(map(int, places[0]))
        raise CheckFailedError(
            f"{where}: element {index} is {output[index]}, expected {expected[index]}; {rule}"
        )
