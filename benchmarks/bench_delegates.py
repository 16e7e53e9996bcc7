"""The cost that etconfig adds to a call of a backend: a method that only calls delegates that do nothing.

Prints microseconds, the least of many rounds: of one execute of a method without an instruction (its guards,
and the copies of one input and one output of 4 floats), what each delegate call adds to it, what a call of
`Backend.execute` by hand takes, and what an update of one execute-time option of one delegate takes.

    PYTHONPATH=tests/support python benchmarks/bench_delegates.py
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from plans import PlanBuilder

from etconfig.backend import Backend, BoundBackend, ExecuteContext, InitContext, Processed, Value
from etconfig.schema.declaration import Applies, option
from etconfig.schema.options import BackendOptions
from etconfig.schema.validate import change_options

ROUNDS = 2_000
DELEGATES = 100
BACKEND_ID = "IdleBackend"


class IdleOptions(BackendOptions):
    """One option that may change between two executes."""

    level: int = option(default=0, doc="Changes nothing.", applies=Applies.EXECUTE)


class IdleBackend(Backend[IdleOptions, None]):
    """A backend that does nothing but keep the last context."""

    context: ExecuteContext[IdleOptions] | None = None

    def init(
        self, context: InitContext[IdleOptions], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> None:
        return None

    def execute(self, context: ExecuteContext[IdleOptions], handle: None, args: Sequence[Value]) -> None:
        self.context = context


def load(backend: IdleBackend, delegates: int) -> Any:
    """Return a method with this many delegate calls, on one tensor that is input and output."""
    builder = PlanBuilder()
    x, out = builder.tensor(4), builder.tensor(4)
    builder.inputs, builder.outputs = [x], [out]
    for _ in range(delegates):
        builder.delegate_call(builder.delegate(BACKEND_ID), x, out)
    bound = BoundBackend(
        backend_id=BACKEND_ID,
        create=lambda: backend,
        options=IdleOptions(),
        changed=lambda current, changes: change_options(IdleOptions, current, changes),
    )
    return builder.load({BACKEND_ID: bound} if delegates else {})


def least(run: Callable[[], object]) -> float:
    """Return the microseconds of the fastest of many runs."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def main() -> None:
    backend = IdleBackend()
    inputs = [np.ones(4, np.float32)]
    args = [np.ones(4, np.float32), np.ones(4, np.float32)]
    empty, one, many = (load(backend, count) for count in (0, 1, DELEGATES + 1))
    executes = {name: method.execute for name, method in (("empty", empty), ("one", one), ("many", many))}
    times = {name: least(lambda execute=execute: execute(inputs)) for name, execute in executes.items()}
    context = backend.context
    assert context is not None
    levels = iter(range(ROUNDS + 1))

    def update() -> None:
        one.update({f"{BACKEND_ID}.level": next(levels)})

    print(f"execute without an instruction   {times['empty']:8.2f}")
    print(f"each delegate call adds          {(times['many'] - times['one']) / DELEGATES:8.2f}")
    print(f"Backend.execute called by hand   {least(lambda: backend.execute(context, None, args)):8.2f}")
    print(f"update of one option             {least(update):8.2f}")


if __name__ == "__main__":
    main()
