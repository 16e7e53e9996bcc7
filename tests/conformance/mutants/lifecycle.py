"""Mutants of the checks on handles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from driver import STATE

from etconfig.backend import ExecuteContext, Value
from etconfig.conformance.interposed import Interposed
from mutants.mutant import Mutant

STATE.loaded = []


class OneShot(Interposed):
    """Answers rightly only for the first backend that is made in the process."""

    def __init__(self) -> None:
        STATE.loaded.append(self)

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        if STATE.loaded[0] is not self:
            output = args[-1]
            assert isinstance(output, np.ndarray)
            output *= 2


ONE_SHOT = Mutant("reinit", "at the second load, .*off by", backend=OneShot)
