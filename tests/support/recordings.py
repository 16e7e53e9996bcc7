"""Recordings of small methods, for the tests of trace files."""

from __future__ import annotations

from typing import Any

from plans import PlanBuilder, adding_plan

from etconfig.backend import Backend, BoundBackend


class Spanning(Backend[None, None]):
    """Copies its input, times two parts of its work, and fails on a negative number."""

    def init(self, context: Any, processed: Any, compile_specs: Any) -> None:
        with context.tracer.span("prepare"):
            pass

    def execute(self, context: Any, handle: None, args: Any) -> None:
        with context.tracer.span("copy"):
            args[1][...] = args[0]

        def work(index: int) -> None:
            with context.tracer.span("tile", debug_id=7 + index):
                pass

        context.parallel_for(1, work, 2)
        if args[0][0] < 0:
            raise RuntimeError("negative")


BACKENDS = {
    "Spanning": BoundBackend(
        backend_id="Spanning", create=Spanning, options=None, changed=lambda options, values: options
    )
}


def traced_plan() -> PlanBuilder:
    """`x + y`, then a copy of it by the delegate."""
    builder = adding_plan(2)
    copied = builder.tensor(2)
    builder.delegate_call(builder.delegate("Spanning"), builder.outputs[0], copied)
    return builder
