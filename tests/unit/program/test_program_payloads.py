"""Segments, constants, initial states, delegate and named data: found, bounded, disjoint."""

from __future__ import annotations

from types import SimpleNamespace as Pte
from typing import Any

import pytest

from etconfig.errors import ProgramError
from etconfig.program.model import BackendDelegate, BackendDelegateDataReference, DataLocation
from etconfig.program.program import Program, open_program

PAYLOAD = bytes(range(64))


def refusal(data: bytes) -> str:
    """Return the text of the error that opening `data` raises."""
    with pytest.raises(ProgramError) as caught:
        open_program(data)
    return caught.value.message


class TestHeader:
    """Header, tables and segments follow each other within the file."""

    @pytest.mark.parametrize(
        ("header", "text"),
        [
            (
                {"length": 0},
                "extended header at byte 12: its length is 0, at least 24 is needed [bad-header]",
            ),
            (
                {"length": 2**32 - 1},
                "extended header at byte 16: the program's size is 288, which leaves no room for the header "
                "[bad-header]",
            ),
            (
                {"program_size": 39},
                "extended header at byte 16: the program's size is 39, which leaves no room for the header "
                "[bad-header]",
            ),
            (
                {"program_size": 2**64 - 1},
                "extended header at byte 0: needs 18446744073709551615 bytes, but only 352 are there "
                "[truncated]",
            ),
            (
                {"segment_base_offset": 0},
                "extended header at byte 24: the segments start at 0, inside the program, which ends at 288 "
                "[bad-header]",
            ),
            (
                {"segment_base_offset": 287},
                "extended header at byte 24: "
                "the segments start at 287, inside the program, which ends at 288 [bad-header]",
            ),
            (
                {"segment_base_offset": 2**64 - 1},
                "segments at byte 18446744073709551615: needs 64 bytes, but only 0 are there [truncated]",
            ),
            (
                {"segment_data_size": 65},
                "segments at byte 288: needs 65 bytes, but only 64 are there [truncated]",
            ),
            (
                {"segment_data_size": 63},
                "segments[0] at byte 288: needs 64 bytes, but only 63 are there [truncated]",
            ),
        ],
        ids=str,
    )
    def test_a_false_header_is_refused(self, pte: Pte, header: dict[str, int], text: str) -> None:
        assert refusal(pte.write(pte.plan(), payloads=[PAYLOAD], header=header)) == text

    def test_an_old_header_without_the_size_of_the_segments_is_read(self, pte: Pte) -> None:
        header = {"length": 24, "segment_data_size": 2**64 - 1}
        program = open_program(pte.write(pte.plan(), payloads=[PAYLOAD], header=header))
        assert program.header is not None
        assert program.header.segment_data_size is None
        assert [segment.size_bytes for segment in program.segments] == [64]

    def test_a_longer_header_of_a_later_version_is_read(self, pte: Pte) -> None:
        program = open_program(pte.write(pte.plan(), payloads=[PAYLOAD], header={"length": 40}))
        assert program.header is not None
        assert program.header.length == 40

    def test_a_wrong_magic_leaves_the_segments_without_a_start(self, pte: Pte) -> None:
        data = pte.write(pte.plan(), payloads=[PAYLOAD]).replace(b"eh00", b"eh99")
        assert refusal(data).endswith(
            "the file has segments, but no header says where they start [missing-header]"
        )

    def test_empty_segments_need_no_header(self, pte: Pte) -> None:
        program = open_program(pte.write(segments=[pte.table("DataSegment", offset=0, size=0)]))
        assert program.header is None
        assert program.segments == ((0, 0),)


class TestSegments:
    """A segment lies inside the file and shares no byte with another."""

    def write(self, pte: Pte, *ranges: tuple[int, int]) -> bytes:
        tables = [pte.table("DataSegment", offset=offset, size=size) for offset, size in ranges]
        return pte.write(payloads=[PAYLOAD], segments=tables)

    @pytest.mark.parametrize(
        ("offset", "size"),
        [(0, 65), (64, 1), (65, 0), (2**64 - 1, 1), (2**64 - 128, 0), (0, 2**64 - 1), (2**63, 2**63)],
    )
    def test_a_segment_outside_the_file_is_refused(self, pte: Pte, offset: int, size: int) -> None:
        assert refusal(self.write(pte, (offset, size))).endswith("[truncated]")

    @pytest.mark.parametrize(
        "ranges", [[(0, 32), (31, 33)], [(8, 8), (0, 64)], [(0, 16), (0, 16)], [(32, 8), (0, 8), (39, 1)]]
    )
    def test_segments_that_share_bytes_are_refused(self, pte: Pte, ranges: list[tuple[int, int]]) -> None:
        assert refusal(self.write(pte, *ranges)).endswith("[overlapping-segments]")

    def test_touching_empty_and_unsorted_segments_are_read(self, pte: Pte) -> None:
        program = open_program(self.write(pte, (0, 0), (32, 32), (0, 32), (16, 0)))
        base = program.segments[0].start
        assert [(s.start - base, s.size_bytes) for s in program.segments] == [
            (0, 0),
            (32, 32),
            (0, 32),
            (16, 0),
        ]


class TestConstants:
    """A constant lies in its segment or inline, and reaches to the next one at most."""

    def open(self, pte: Pte, offsets: list[int], segment_index: int = 0) -> Program:
        segment = pte.table("SubsegmentOffsets", segment_index=segment_index, offsets=offsets)
        return open_program(pte.write(payloads=[PAYLOAD], constant_segment=segment))

    def test_offsets_may_repeat_and_come_in_any_order(self, pte: Pte) -> None:
        program = self.open(pte, [0, 16, 0, 16, 64])
        assert program.constant(1, 48) == PAYLOAD[16:]
        assert program.constant(2, 16) == PAYLOAD[:16]
        assert program.constant(3, 8) == PAYLOAD[16:24]
        assert program.constant(4, 0) == b""
        assert program.constant_bytes == 64

    def test_a_constant_does_not_reach_into_the_next(self, pte: Pte) -> None:
        program = self.open(pte, [0, 0, 16])
        with pytest.raises(ProgramError, match=r"constants\[1\] at byte \d+: needs 17 bytes, but only 16"):
            program.constant(1, 17)

    @pytest.mark.parametrize("index", [-1, 0, 3])
    def test_an_index_without_a_constant_is_refused(self, pte: Pte, index: int) -> None:
        with pytest.raises(
            ProgramError, match=rf"data_buffer_idx: {index} is not an index into constants, expected 1 to 2"
        ):
            self.open(pte, [0, 0, 16]).constant(index, 1)

    def test_a_negative_size_is_the_callers_mistake(self, pte: Pte) -> None:
        with pytest.raises(ValueError, match="size_bytes is -1; expected 0 or more"):
            self.open(pte, [0, 0]).constant(1, -1)

    def test_an_offset_outside_the_segment_is_refused(self, pte: Pte) -> None:
        with pytest.raises(ProgramError, match=r"constant_segment.offsets\[2\] at byte .*\[truncated\]"):
            self.open(pte, [0, 0, 65])

    def test_a_missing_segment_is_refused(self, pte: Pte) -> None:
        with pytest.raises(ProgramError, match=r"segment_index at byte .*: 1 is not an index into segments"):
            self.open(pte, [0, 0], segment_index=1)

    def test_the_placeholder_alone_needs_no_segment(self, pte: Pte) -> None:
        program = self.open(pte, [2**64 - 1], segment_index=9)
        assert program.constant_bytes == 0

    def test_inline_constants_are_read(self, pte: Pte) -> None:
        buffers = [pte.table("Buffer"), pte.table("Buffer", storage=b"1234"), pte.table("Buffer")]
        placeholder = pte.table("SubsegmentOffsets", segment_index=0, offsets=[0])
        program = open_program(pte.write(constant_buffer=buffers, constant_segment=placeholder))
        assert program.constant(1, 4) == b"1234"
        assert program.constant(2, 0) == b""
        assert program.constant_bytes == 4


class TestMutableData:
    """Initial states lie in the segments that mutable_data_segments names."""

    def test_states_are_found_by_both_indices(self, pte: Pte) -> None:
        states = [
            pte.table("SubsegmentOffsets", segment_index=1, offsets=[0, 4]),
            pte.table("SubsegmentOffsets", segment_index=0, offsets=[0, 0, 2]),
        ]
        program = open_program(pte.write(payloads=[b"abcd", b"ABCDEFGH"], mutable_data_segments=states))
        assert program.mutable_initial_data(0, 1, 4) == b"EFGH"
        assert program.mutable_initial_data(1, 1, 2) == b"ab"
        assert program.mutable_initial_data(1, 2, 1) == b"c"
        with pytest.raises(
            ProgramError, match=r"mutable_data_segments\[1\]\[2\] .*needs 3 bytes, but only 2"
        ):
            program.mutable_initial_data(1, 2, 3)
        with pytest.raises(
            ProgramError, match="2 is not an index into mutable_data_segments, expected 0 to 1"
        ):
            program.mutable_initial_data(2, 1, 1)


class TestDelegateData:
    """A payload is inline or a segment; an empty one is inline."""

    def delegate(self, location: int, index: int) -> BackendDelegate:
        return BackendDelegate("B", BackendDelegateDataReference(DataLocation(location), index), ())

    def test_payloads_are_found_in_both_places(self, pte: Pte) -> None:
        inline = [pte.table("BackendDelegateInlineData"), pte.table("BackendDelegateInlineData", data=b"in")]
        program = open_program(pte.write(payloads=[b"segment"], backend_delegate_data=inline))
        assert program.delegate_data(self.delegate(0, 0)) == b""
        assert program.delegate_data(self.delegate(0, 1)) == b"in"
        assert program.delegate_data(self.delegate(1, 0)) == b"segment"

    @pytest.mark.parametrize(("location", "target"), [(0, "backend_delegate_data"), (1, "segments")])
    def test_a_delegate_of_another_program_is_refused(self, pte: Pte, location: int, target: str) -> None:
        with pytest.raises(ProgramError, match=f"3 is not an index into {target}"):
            open_program(pte.write()).delegate_data(self.delegate(location, 3))


class TestNamedData:
    """Keys are unique; several may name one segment."""

    def write(self, pte: Pte, *entries: dict[str, Any]) -> bytes:
        return pte.write(payloads=[b"one", b"two"], named_data=[pte.table("NamedData", **e) for e in entries])

    def test_keys_lead_to_segments(self, pte: Pte) -> None:
        entries = [{"key": "ä", "segment_index": 1}, {"key": "b", "segment_index": 0}, {"key": "c"}]
        program = open_program(self.write(pte, *entries))
        assert dict(program.named_data) == {"ä": b"two", "b": b"one", "c": b"one"}

    def test_a_duplicate_key_is_refused(self, pte: Pte) -> None:
        text = refusal(self.write(pte, {"key": "a"}, {"key": "a", "segment_index": 1}))
        assert text.startswith("named_data[1].key at byte ")
        assert text.endswith(": another blob is named 'a' [duplicate-name]")

    def test_a_missing_segment_is_refused(self, pte: Pte) -> None:
        assert "named_data[0].segment_index" in refusal(self.write(pte, {"key": "a", "segment_index": 2}))

    def test_a_missing_key_is_refused(self, pte: Pte) -> None:
        assert "named_data[0].key" in refusal(self.write(pte, {"segment_index": 0}))
