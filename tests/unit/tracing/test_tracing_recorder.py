"""The recorder: timed events of loading and executing, and none without a tracer."""

from __future__ import annotations

import threading
from functools import partial

import numpy as np
import pytest
from plans import adding_plan, floats
from recordings import BACKENDS, traced_plan

from etconfig.errors import DelegateError
from etconfig.numpy_executor.numpy_program import NumpyMethod
from etconfig.tracing import Event, NullTracer, RecordingTracer

LOADING = [
    ("place tensors", "phase"),
    ("prepare", "backend"),
    ("init Spanning", "phase"),
    ("bind instructions", "phase"),
    ("forward", "load"),
]


def executed(tracer: RecordingTracer) -> list[Event]:
    """Return the events of executes."""
    return [event for event in tracer.events if event.run is not None]


class TestExecute:
    """Kernels, delegates, spans of backends, and the whole execute are events."""

    def test_events_are_in_the_order_of_their_ends(self) -> None:
        tracer = RecordingTracer()
        method = traced_plan().load(BACKENDS, tracer=tracer)
        method.execute([floats(1, 2), floats(3, 4)])
        events = executed(tracer)
        assert [(each.name, each.kind, each.chain, each.instruction, each.debug_id) for each in events] == [
            ("aten::add.out", "kernel", 0, 0, None),
            ("copy", "backend", 0, 1, None),
            ("tile", "backend", 0, 1, 7),
            ("Spanning", "delegate", 0, 1, None),
            ("forward", "method", None, None, None),
        ]
        add, copy, tile, delegate, run = events
        assert run.start_ns <= add.start_ns <= add.end_ns <= delegate.start_ns
        assert delegate.start_ns <= copy.start_ns <= copy.end_ns <= tile.start_ns
        assert tile.end_ns <= delegate.end_ns <= run.end_ns
        assert run.duration_ns == run.end_ns - run.start_ns

    def test_every_execute_has_a_number(self) -> None:
        tracer = RecordingTracer()
        left = traced_plan().load(BACKENDS, tracer=tracer, instance="left")
        right = traced_plan().load(BACKENDS, tracer=tracer)
        for method in (left, right, left):
            method.execute([floats(1, 2), floats(3, 4)])
        wholes = [(each.method, each.run) for each in tracer.events if each.kind == "method"]
        assert wholes == [("forward@left", 0), ("forward", 1), ("forward@left", 2)]

    def test_failed_work_is_recorded_too(self) -> None:
        tracer = RecordingTracer()
        method = traced_plan().load(BACKENDS, tracer=tracer)
        with pytest.raises(DelegateError):
            method.execute([floats(-1, 2), floats(0, 0)])
        names = [each.name for each in executed(tracer)]
        assert names == ["aten::add.out", "copy", "tile", "Spanning", "forward"]

    def test_a_worker_thread_has_a_number_of_its_own(self) -> None:
        tracer = RecordingTracer()
        track = tracer.track("forward")
        with track.span("here"):
            pass

        def work() -> None:
            with track.span("there"):
                pass

        thread = threading.Thread(target=work, name="worker 1")
        thread.start()
        thread.join()
        assert [event.thread for event in tracer.events] == [0, 1]
        assert tracer.threads == {0: threading.current_thread().name, 1: "worker 1"}


class TestLoading:
    """The phases of opening and loading are events without a run."""

    def test_a_method_records_its_phases(self) -> None:
        tracer = RecordingTracer()
        traced_plan().load(BACKENDS, tracer=tracer)
        assert [(each.name, each.kind) for each in tracer.events] == LOADING
        assert {each.run for each in tracer.events} == {None}

    def test_a_program_records_its_phases_without_a_method(self) -> None:
        tracer = RecordingTracer()
        with tracer.phase("read file"):
            pass
        (event,) = tracer.events
        assert (event.name, event.kind, event.method) == ("read file", "phase", "")


class TestBounds:
    """A tracer keeps a limited number of events, and counts the rest."""

    def test_events_beyond_the_limit_are_counted(self) -> None:
        tracer = RecordingTracer(max_events=6)
        traced_plan().load(BACKENDS, tracer=tracer).execute([floats(1, 2), floats(3, 4)])
        assert (len(tracer.events), tracer.dropped) == (6, 4)

    def test_clearing_makes_room(self) -> None:
        tracer = RecordingTracer(max_events=1)
        method = adding_plan(2).load(tracer=tracer)
        tracer.clear()
        assert (tracer.events, tracer.dropped) == ((), 0)
        method.execute([floats(1, 2), floats(3, 4)])
        assert [event.name for event in tracer.events] == ["aten::add.out"]


class TestOff:
    """Without a tracer nothing is recorded, at no cost."""

    def test_the_plan_calls_numpy_directly(self) -> None:
        runnable = adding_plan(2).load()._runnable
        assert isinstance(runnable, NumpyMethod)
        (blocks,) = runnable._compiled.chains
        (step,) = blocks[0].steps
        assert isinstance(step, partial)
        assert step.func is np.add

    def test_a_backend_gets_a_tracer_that_does_nothing(self) -> None:
        tracer = NullTracer()
        assert not tracer.is_enabled
        with tracer.span("x", debug_id=1), tracer.record("y", "phase"):
            pass
