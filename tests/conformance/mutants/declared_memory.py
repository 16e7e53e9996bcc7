"""Mutants of the check of declared memory."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np

from etconfig.backend import InitContext, Processed
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.plugin.v1 import DelegateFacts, DelegateMemory
from mutants.mutant import Mutant


class Pads(Interposer):
    """Keeps 4 MiB for each handle, of which the declaration says nothing."""

    def __init__(self) -> None:
        self._kept: dict[int, Any] = {}

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        handle = super().init(context, processed, compile_specs)
        self._kept[id(handle)] = np.ones(4 << 20, np.uint8)
        return handle

    def destroy(self, handle: Any) -> None:
        del self._kept[id(handle)]
        super().destroy(handle)


_calls = count(1)


def shrinking(options: object, delegate: DelegateFacts) -> DelegateMemory:
    """Declare less each time it is asked."""
    return DelegateMemory(held_bytes=(1 << 30) // next(_calls))


def negative(options: object, delegate: DelegateFacts) -> DelegateMemory:
    """Declare less than nothing."""
    return DelegateMemory(held_bytes=delegate.argument_bytes - (1 << 30))


UNDECLARED = Mutant(
    "memory-declared",
    "add: 16 open methods take 6.* MiB, and memory declares .* KiB; measure one",
    backend=Pads,
)
SHRINKS = Mutant(
    "memory-declared", "memory declares .* instances; compute it from", declared={"memory": shrinking}
)
NEGATIVE = Mutant("memory-declared", "ValueError: .*has a negative size", declared={"memory": negative})
FLOATS = Mutant(
    "memory-declared",
    "TypeError: .*has a size that is not an int",
    declared={"memory": lambda options, delegate: DelegateMemory(held_bytes=1.5)},  # type: ignore[arg-type]
)
EXAGGERATES = Mutant(
    "memory-declared",
    "add: 16 open methods take .*, and memory declares .* GiB; measure one",
    declared={"memory": lambda options, delegate: DelegateMemory(held_bytes=1 << 30)},
)
