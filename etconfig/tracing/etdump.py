"""Events as ETDump, the format of ExecuTorch's Inspector.

Source: ExecuTorch's devtools/etdump/etdump_schema_flatcc.fbs; framework events have the names that
its runtime and its Inspector use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from etconfig.flatbuffer.layout import I32, REFERENCE, U32, U64, Layout
from etconfig.flatbuffer.writer import EndOffset, FlatBufferWriter
from etconfig.tracing.events import Event
from etconfig.tracing.recorder import RecordingTracer

_IDENTIFIER = b"ED00"
_MARK = "made by etconfig"
"""A text to which nothing refers, by which a file is known."""
_ETDUMP = Layout(version=U32, run_data=REFERENCE)
_RUN_DATA = Layout(name=REFERENCE, bundled_input_index=I32, allocators=REFERENCE, events=REFERENCE)
_EVENT = Layout(profile_event=REFERENCE, allocation_event=REFERENCE, debug_event=REFERENCE)
_PROFILE_EVENT = Layout(
    name=REFERENCE,
    chain_index=I32,
    instruction_id=I32,
    delegate_debug_id_int=I32,
    delegate_debug_id_str=REFERENCE,
    delegate_debug_metadata=REFERENCE,
    start_time=U64,
    end_time=U64,
)
_FRAMEWORK_NAMES = {
    "load": "Program::load_method",
    "method": "Method::execute",
    "delegate": "DELEGATE_CALL",
}
"""The kinds of events for which ExecuTorch has names of its own."""


def is_etdump(content: bytes) -> bool:
    """Return True if the bytes are an ETDump that `etdump` made."""
    return content[8:12] == _IDENTIFIER and _MARK.encode() in content[-64:]


def etdump(tracer: RecordingTracer) -> bytes:
    """Return the recorded events as a size-prefixed ETDump, with times in nanoseconds.

    Opening and loading form one block of events, `Default`. Every execute is a block `Execute`; the Inspector
    merges executes that ran the same instructions. With events of several method instances, the names of the
    blocks include the instance. An execute that did not end, or that lost events, is left out: its total
    would be missing.
    """
    writer = FlatBufferWriter()
    writer.string(_MARK)
    events = tracer.events
    is_shared = len({event.method for event in events if event.method}) > 1
    blocks = [_write_block(writer, name, block) for name, block in _blocks(events, is_shared)]
    root = writer.table(_ETDUMP, run_data=writer.reference_vector(blocks))
    return writer.finish(root, _IDENTIFIER, with_size=True)


def _blocks(events: Sequence[Event], is_shared: bool) -> Iterable[tuple[str, list[Event]]]:
    loading = [event for event in events if event.run is None]
    if loading:
        yield "Default", loading
    executing = sorted((event for event in events if event.run is not None), key=_run)
    for _, group in groupby(executing, _run):
        block = list(group)
        if block[-1].kind == "method":
            yield f"Execute {block[-1].method}" if is_shared else "Execute", block


def _run(event: Event) -> int:
    return -1 if event.run is None else event.run


def _write_block(writer: FlatBufferWriter, name: str, events: Iterable[Event]) -> EndOffset:
    written = [writer.table(_EVENT, profile_event=_write_event(writer, event)) for event in events]
    return writer.table(_RUN_DATA, name=writer.string(name), events=writer.reference_vector(written))


def _write_event(writer: FlatBufferWriter, event: Event) -> EndOffset:
    """Write a ProfileEvent. A backend's own event has an id instead of a name: a number or a text."""
    is_delegated, has_number = event.kind == "backend", event.debug_id is not None
    name = _FRAMEWORK_NAMES.get(event.kind, event.name)
    return writer.table(
        _PROFILE_EVENT,
        name=None if is_delegated else writer.string(name),
        chain_index=-1 if event.chain is None else event.chain,
        instruction_id=-1 if event.instruction is None else event.instruction,
        delegate_debug_id_int=-1 if event.debug_id is None else event.debug_id,
        delegate_debug_id_str=writer.string(event.name) if is_delegated and not has_number else None,
        delegate_debug_metadata=(
            writer.byte_vector(event.name.encode()) if is_delegated and has_number else None
        ),
        start_time=event.start_ns,
        end_time=event.end_ns,
    )
