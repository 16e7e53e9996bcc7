"""Tracing: what ran, and when; nothing when it is off."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from plans import PlanBuilder, adding_plan, floats

from etconfig.backend import Backend, BoundBackend
from etconfig.errors import DelegateError
from etconfig.executor import NullTracer, RecordingTracer


class Spanning(Backend[None, None]):
    def init(self, context: Any, processed: Any, compile_specs: Any) -> None:
        assert context.tracer.is_enabled

    def execute(self, context: Any, handle: None, args: Any) -> None:
        with context.tracer.span("inner"):
            pass
        if args[0][0] < 0:
            raise RuntimeError("negative")


BACKENDS = {
    "Spanning": BoundBackend(
        backend_id="Spanning", backend=Spanning(), options=None, changed=lambda options, values: options
    )
}


def traced_plan() -> PlanBuilder:
    builder = adding_plan(2)
    builder.delegate_call(builder.delegate("Spanning"), builder.outputs[0])
    return builder


def test_kernels_delegates_spans_and_the_run_are_events() -> None:
    tracer = RecordingTracer()
    method = traced_plan().load(BACKENDS, tracer=tracer)
    method.execute([floats(1, 2), floats(3, 4)])
    assert [(each.name, each.kind, each.chain, each.instruction) for each in tracer.events] == [
        ("aten::add.out", "kernel", 0, 0),
        ("inner", "backend", None, None),
        ("Spanning", "delegate", 0, 1),
        ("forward", "method", None, None),
    ]
    add, inner, delegate, run = tracer.events
    assert run.start_ns <= add.start_ns <= add.end_ns <= delegate.start_ns
    assert delegate.start_ns <= inner.start_ns <= inner.end_ns <= delegate.end_ns <= run.end_ns


def test_work_that_fails_is_recorded_too() -> None:
    tracer = RecordingTracer()
    method = traced_plan().load(BACKENDS, tracer=tracer)
    with pytest.raises(DelegateError):
        method.execute([floats(-1, 2), floats(0, 0)])
    assert [each.name for each in tracer.events] == ["aten::add.out", "inner", "Spanning", "forward"]


def test_events_can_be_cleared() -> None:
    tracer = RecordingTracer()
    method = adding_plan(2).load(tracer=tracer)
    method.execute([floats(1, 2), floats(3, 4)])
    tracer.clear()
    assert tracer.events == ()


def test_a_plan_without_tracing_holds_the_bare_numpy_call() -> None:
    method = adding_plan(2).load()
    assert method._loaded is not None
    (blocks,) = method._loaded.plan._chains
    (step,) = blocks[0].steps
    assert isinstance(step, partial)
    assert step.func is np.add


def test_a_tracer_that_is_off_does_nothing() -> None:
    tracer = NullTracer()
    assert not tracer.is_enabled
    with tracer.span("x"):
        pass
