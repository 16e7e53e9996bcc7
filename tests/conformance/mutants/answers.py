"""Mutants of the checks on answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from driver import STATE

from etconfig.backend import ExecuteContext, Value
from etconfig.conformance.interpose.interposer import Interposer
from mutants.mutant import Mutant, claiming, output_of

STATE.runs = 0


class Stumbling(Interposer):
    """Cannot execute any delegate."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        raise ZeroDivisionError("by zero")


class WrongSums(Interposer):
    """Computes every sum of float32 wrongly."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        if output_of(args).dtype == np.float32:
            output_of(args)[...] += 1


class ThreePercentOff(Interposer):
    """Scales by 1.03 if a relu was fused into a layer."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        if context.method_name == "positive":
            output_of(args)[...] *= 1.03


class Bfloat16Inside(Interposer):
    """Computes float32 in bfloat16, which is faster."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        if output_of(args).dtype == np.float32:
            output_of(args).view(np.uint32)[...] &= 0xFFFF0000


class SilentCast(Interposer):
    """Computes integers in float32."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        if output_of(args).dtype == np.int32:
            output_of(args)[...] = output_of(args).astype(np.float32)


class ReversedOutputs(Interposer):
    """Binds the outputs of a delegate in reverse order."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        outputs = len(args) - 2
        reverses = outputs == 3
        super().execute(context, handle, [*args[:2], *args[:1:-1]] if reverses else args)


class FastMath(Interposer):
    """Assumes that all numbers are finite."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        if output_of(args).dtype == np.float32:
            np.nan_to_num(output_of(args), copy=False)


class AtomicSums(Interposer):
    """Sums in another order each time."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        STATE.runs += 1
        if output_of(args).dtype == np.float32:
            output_of(args)[...] *= 1 + STATE.runs % 2 * 1e-6


STUMBLING = Mutant(
    "runs",
    "failed in execute of .*by zero",
    elsewhere="by zero|execute of .* reaches no place",
    backend=Stumbling,
)
THREE_PERCENT_OFF = Mutant("answers", r"shared_weights\.positive, output 0: off by", backend=ThreePercentOff)
BFLOAT16_INSIDE = Mutant("tolerance", "off by .* expected at most 1e-05", backend=Bfloat16Inside)
SILENT_CAST = Mutant(
    "dtype-matrix", r"element \(0,\) is 16777216, expected 16777217; int32 must be exact", backend=SilentCast
)
MISNAMED_DTYPE = Mutant(
    "dtype-matrix",
    "declares 'flaot16', which is not a dtype; did you mean 'float16'",
    declared=claiming(dtypes={"float32", "flaot16"}, precision=None),
)
REVERSED_OUTPUTS = Mutant("signature", r"several_outputs\.forward, output 0: off by", backend=ReversedOutputs)
FAST_MATH = Mutant("nan-inf", r"element \(0,\) is 0\.0, expected nan", backend=FastMath)
ATOMIC_SUMS = Mutant("determinism", r"add\.forward: run 2 gave other bits", backend=AtomicSums)
