"""ETDump, read back with the FlatBuffers package; tests/peers read it with ExecuTorch's Inspector."""

from __future__ import annotations

import pytest
from flatbuffer_reader import Reader
from flatbuffers import number_types
from plans import adding_plan, floats
from recordings import BACKENDS, traced_plan

from etconfig.errors import DelegateError
from etconfig.tracing import RecordingTracer, etdump


def blocks_of(tracer: RecordingTracer) -> dict[str, list[tuple[object, ...]]]:
    """Return the blocks by name: name, chain, instruction, number, text and metadata of each event."""
    return {
        str(block.string(0)): events_of(block)
        for block in Reader.of_root(etdump(tracer), b"ED00", with_size=True).tables(1)
    }


def events_of(block: Reader) -> list[tuple[object, ...]]:
    profiled = [event.table(0) for event in block.tables(3)]
    return [(e.string(0), e.integer(1), e.integer(2), e.integer(3), e.string(4), e.data(5)) for e in profiled]


class TestEvents:
    """Every event is a ProfileEvent, with the names that ExecuTorch's tools expect."""

    def test_loading_and_an_execute_have_all_their_events(self) -> None:
        tracer = RecordingTracer()
        traced_plan().load(BACKENDS, tracer=tracer).execute([floats(1, 2), floats(3, 4)])
        assert blocks_of(tracer) == {
            "Default": [
                ("place tensors", -1, -1, -1, None, None),
                (None, -1, -1, -1, "prepare", None),
                ("init Spanning", -1, -1, -1, None, None),
                ("bind instructions", -1, -1, -1, None, None),
                ("Program::load_method", -1, -1, -1, None, None),
            ],
            "Execute": [
                ("aten::add.out", 0, 0, -1, None, None),
                (None, 0, 1, -1, "copy", None),
                (None, 0, 1, 7, None, b"tile"),
                ("DELEGATE_CALL", 0, 1, -1, None, None),
                ("Method::execute", -1, -1, -1, None, None),
            ],
        }

    def test_times_equal_those_of_the_events(self) -> None:
        tracer = RecordingTracer()
        with tracer.phase("read file"):
            pass
        (block,) = Reader.of_root(etdump(tracer), b"ED00", with_size=True).tables(1)
        (event,) = block.tables(3)
        flags = number_types.Uint64Flags
        times = event.table(0).integer(6, flags), event.table(0).integer(7, flags)
        assert times == (tracer.events[0].start_ns, tracer.events[0].end_ns)

    def test_an_empty_recording_is_an_etdump_without_blocks(self) -> None:
        assert blocks_of(RecordingTracer()) == {}


class TestBlocks:
    """Every execute that ended is a block."""

    def test_blocks_name_their_method_if_there_are_several(self) -> None:
        tracer = RecordingTracer()
        for instance in (None, "left"):
            adding_plan(2).load(tracer=tracer, instance=instance).execute([floats(1, 2), floats(3, 4)])
        assert list(blocks_of(tracer)) == ["Default", "Execute forward", "Execute forward@left"]

    def test_an_execute_that_lost_events_is_left_out(self) -> None:
        tracer = RecordingTracer(max_events=8)
        traced_plan().load(BACKENDS, tracer=tracer).execute([floats(1, 2), floats(3, 4)])
        assert list(blocks_of(tracer)) == ["Default"]

    def test_a_failed_execute_is_included(self) -> None:
        tracer = RecordingTracer()
        method = traced_plan().load(BACKENDS, tracer=tracer)
        with pytest.raises(DelegateError):
            method.execute([floats(-1, 2), floats(0, 0)])
        assert list(blocks_of(tracer)) == ["Default", "Execute"]
