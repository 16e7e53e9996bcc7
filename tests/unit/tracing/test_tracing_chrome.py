"""Chrome's trace JSON, compared with the Trace Event Format."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from typing import Any

from plans import floats
from recordings import BACKENDS, traced_plan

from etconfig.tracing import RecordingTracer, chrome_trace


def trace_of(tracer: RecordingTracer) -> dict[str, Any]:
    trace: dict[str, Any] = json.loads(chrome_trace(tracer))
    return trace


def recorded() -> RecordingTracer:
    tracer = RecordingTracer()
    traced_plan().load(BACKENDS, tracer=tracer).execute([floats(1, 2), floats(3, 4)])
    return tracer


class TestFormat:
    """The object form of the format: metadata events and complete events, in microseconds."""

    def test_every_record_has_the_fields_of_its_phase(self) -> None:
        trace = trace_of(recorded())
        assert set(trace) == {"traceEvents", "displayTimeUnit", "otherData"}
        assert trace["displayTimeUnit"] in ("ms", "ns")
        for record in trace["traceEvents"]:
            assert isinstance(record["name"], str)
            assert type(record["pid"]) is type(record["tid"]) is int
            assert record["pid"] == os.getpid()
            if record["ph"] == "M":
                assert record["name"] in ("process_name", "thread_name")
                assert isinstance(record["args"]["name"], str)
            else:
                assert record["ph"] == "X"
                assert record["ts"] >= 0
                assert record["dur"] >= 0

    def test_times_are_microseconds_since_the_first_event(self) -> None:
        tracer = recorded()
        complete = [record for record in trace_of(tracer)["traceEvents"] if record["ph"] == "X"]
        first_ns = min(event.start_ns for event in tracer.events)
        for record, event in zip(complete, tracer.events, strict=True):
            assert round(record["ts"] * 1e3) == event.start_ns - first_ns
            assert round(record["dur"] * 1e3) == event.duration_ns

    def test_events_of_a_thread_nest(self) -> None:
        """A viewer stacks complete events, which therefore must not overlap otherwise."""
        by_thread = defaultdict(list)
        for event in recorded().events:
            by_thread[event.thread].append((event.start_ns, -event.end_ns))
        for spans in by_thread.values():
            open_ends: list[int] = []
            for start, negative_end in sorted(spans):
                while open_ends and open_ends[-1] <= start:
                    open_ends.pop()
                assert not open_ends or -negative_end <= open_ends[-1]
                open_ends.append(-negative_end)

    def test_every_thread_has_a_name(self) -> None:
        records = trace_of(recorded())["traceEvents"]
        named = {record["tid"] for record in records if record["name"] == "thread_name"}
        assert {record["tid"] for record in records if record["ph"] == "X"} <= named


def test_the_arguments_name_the_instruction_that_ran() -> None:
    by_name = {record["name"]: record for record in trace_of(recorded())["traceEvents"]}
    assert by_name["tile"]["cat"] == "backend"
    assert by_name["tile"]["args"] == {
        "method": "forward",
        "run": 0,
        "chain": 0,
        "instruction": 1,
        "debug_id": 7,
    }
    assert by_name["place tensors"]["args"] == {"method": "forward"}


def test_dropped_events_are_counted() -> None:
    tracer = RecordingTracer(max_events=2)
    traced_plan().load(BACKENDS, tracer=tracer)
    assert trace_of(tracer)["otherData"] == {"dropped_events": 3}


def test_an_empty_recording_is_a_trace_without_complete_events() -> None:
    assert [record["ph"] for record in trace_of(RecordingTracer())["traceEvents"]] == ["M"]
