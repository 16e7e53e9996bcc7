"""Timed events of loading and running, recorded on request, as ETDump or as a Chrome trace."""

from etconfig.tracing.chrome import chrome_trace, is_chrome_trace
from etconfig.tracing.etdump import etdump, is_etdump
from etconfig.tracing.events import Event, EventKind
from etconfig.tracing.recorder import DEFAULT_MAX_EVENTS, NullTracer, RecordingTracer, Track

__all__ = [
    "DEFAULT_MAX_EVENTS",
    "Event",
    "EventKind",
    "NullTracer",
    "RecordingTracer",
    "Track",
    "chrome_trace",
    "etdump",
    "is_chrome_trace",
    "is_etdump",
]
