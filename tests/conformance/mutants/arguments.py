"""Mutants of the checks on arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from etconfig.backend import ExecuteContext, Value
from etconfig.conformance.interpose.interposer import Interposer
from mutants.mutant import Mutant, output_of


class KeepsBindings(Interposer):
    """Keeps the arguments of the last execute, to bind them faster."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        self._bound = list(args)
        super().execute(context, handle, args)


class BindsByIdentity(Interposer):
    """Finds the position of an input by its identity."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        *inputs, _ = args
        places = {id(value): index for index, value in enumerate(inputs)}
        super().execute(context, handle, args)
        if len(places) < len(inputs):
            output_of(args)[...] = 0


class ClearsOutputs(Interposer):
    """Clears its output before it reads its inputs."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        output_of(args)[...] = 0
        super().execute(context, handle, args)


class IgnoresMemoryErrors(Interposer):
    """Returns without an answer if there is no memory."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        try:
            super().execute(context, handle, args)
        except MemoryError:
            return


KEEPS_BINDINGS = Mutant("aliasing", "argument 0 is still referenced", backend=KeepsBindings)
BINDS_BY_IDENTITY = Mutant("same-input-twice", "off by", backend=BindsByIdentity)
CLEARS_OUTPUTS = Mutant(
    "output-is-input", "with the output in the memory of an input, add.*off by", backend=ClearsOutputs
)
IGNORES_MEMORY_ERRORS = Mutant(
    "errors-mapped",
    r"context\.temporary raised MemoryError, but execute returned as usual",
    backend=IgnoresMemoryErrors,
)
