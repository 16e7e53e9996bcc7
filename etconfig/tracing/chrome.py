"""Events as Chrome's trace JSON, for Perfetto and chrome://tracing.

Source: the Trace Event Format, as the Chromium project describes it.
"""

from __future__ import annotations

import json
import os
from typing import Any

from etconfig.tracing.events import Event
from etconfig.tracing.recorder import RecordingTracer


def is_chrome_trace(head: bytes) -> bool:
    """Return True if a file that begins with these bytes is a trace that `chrome_trace` made."""
    return (
        head.startswith(b'{"traceEvents":[{"ph":"M","name":"process_name"') and b'"name":"etconfig"' in head
    )


def chrome_trace(tracer: RecordingTracer) -> bytes:
    """Return the recorded events as the JSON of a trace.

    Every event is a complete event (`"ph": "X"`) of this process, with times in microseconds since
    the first one began. `otherData.dropped_events` is the number of dropped events.
    """
    events, process = tracer.events, os.getpid()
    origin_ns = min((event.start_ns for event in events), default=0)
    records = [
        _metadata(process, "process_name", "etconfig"),
        *(_metadata(process, "thread_name", name, thread) for thread, name in tracer.threads.items()),
        *(_complete_event(process, event, origin_ns) for event in events),
    ]
    trace = {
        "traceEvents": records,
        "displayTimeUnit": "ns",
        "otherData": {"dropped_events": tracer.dropped},
    }
    return json.dumps(trace, ensure_ascii=False, separators=(",", ":")).encode()


def _metadata(process: int, name: str, value: str, thread: int = 0) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": process, "tid": thread, "args": {"name": value}}


def _complete_event(process: int, event: Event, origin_ns: int) -> dict[str, Any]:
    arguments = {
        "method": event.method or None,
        "run": event.run,
        "chain": event.chain,
        "instruction": event.instruction,
        "debug_id": event.debug_id,
    }
    return {
        "ph": "X",
        "name": event.name,
        "cat": event.kind,
        "ts": (event.start_ns - origin_ns) / 1e3,
        "dur": event.duration_ns / 1e3,
        "pid": process,
        "tid": event.thread,
        "args": {name: value for name, value in arguments.items() if value is not None},
    }
