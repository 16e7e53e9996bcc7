"""Mutants of the checks on shapes, strides and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from etconfig.backend import ExecuteContext, Value
from etconfig.conformance.interpose.interposer import Interposer
from mutants.mutant import Mutant, output_of


class IgnoresStrides(Interposer):
    """Writes its output as if the last dimension were always the innermost in memory."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        output = output_of(args)
        output.ravel(order="K")[...] = output.ravel(order="C").copy()


class OnlyGrows(Interposer):
    """Gives an output the largest number of rows that it ever had."""

    _rows = 0

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        def resize(index: int, shape: Sequence[int]) -> np.ndarray[Any, Any]:
            self._rows = max(self._rows, shape[0])
            return context.resize_output(index, (self._rows, *shape[1:]))[: shape[0]]

        super().execute(replace(context, resize_output=resize), handle, args)


class NoEmptyBuffers(Interposer):
    """Allocates a buffer for each output, which cannot be empty."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        if output_of(args).size == 0:
            raise ValueError("a buffer of 0 bytes cannot be allocated")
        super().execute(context, handle, args)


class KeepsNumbers(Interposer):
    """Compiles for the numbers of the first run."""

    _numbers: tuple[Value, ...] = ()

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        self._numbers = self._numbers or tuple(arg if isinstance(arg, int) else None for arg in args)
        kept = zip(args, self._numbers, strict=True)
        super().execute(context, handle, [first if isinstance(arg, int) else arg for arg, first in kept])


IGNORES_STRIDES = Mutant(
    "dim-order-strides", r"conv2d_channels_last\.forward, output 0: off by", backend=IgnoresStrides
)
ONLY_GROWS = Mutant(
    "dynamic",
    r": float32 of shape \(3, 3\), expected float32 of shape \(1, 3\); the inputs had the shapes "
    r"\(1, 4\), after a run with \(3, 4\); set the size of outputs",
    backend=OnlyGrows,
)
NO_EMPTY_BUFFERS = Mutant("zero-size", "a buffer of 0 bytes cannot be allocated", backend=NoEmptyBuffers)
KEEPS_NUMBERS = Mutant("scalars", r"scalars\.forward, output 0: off by", backend=KeepsNumbers)
