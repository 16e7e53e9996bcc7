"""What a delegate computes: operations over numbered values, as the payload stores it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Shape: TypeAlias = tuple[int, ...]
"""Sizes by dimension, outermost first."""

Array: TypeAlias = npt.NDArray[np.floating[Any]]
"""Floating-point numbers."""

Attributes: TypeAlias = Mapping[str, tuple[int, ...]]
"""An operation's settings: integers under a name, such as `{"stride": (2, 2)}`."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One step: `values[output] = name(*values[inputs], **attributes)`."""

    name: str
    inputs: tuple[int, ...]
    output: int
    attributes: Attributes


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Operations in the order they run, over values of fixed shape; all are float32.

    Attributes:
        shapes: The shape of every value; a value is known by its index in here.
        inputs: Values that the caller gives, in order.
        outputs: Values that the caller receives, in order.
        constants: Values that come with the payload, as read-only arrays.
        operations: What computes all other values.
    """

    shapes: tuple[Shape, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    constants: Mapping[int, npt.NDArray[np.float32]]
    operations: tuple[Operation, ...]
