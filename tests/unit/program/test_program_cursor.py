"""The bounded cursor: bounds, alignment, vtables and strings. Nothing else reads bytes."""

from __future__ import annotations

import ast
import struct
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from every import every

import etconfig.flatbuffer
import etconfig.program
from etconfig.errors import MalformedProgramError, ProgramError, TruncatedProgramError
from etconfig.flatbuffer.layout import F64, I32, REFERENCE, U8, U64, FieldKind, Layout
from etconfig.program.cursor import Cursor, Extent
from etconfig.program.limits import Limits

POINT = Layout(x=I32, y=I32)
WIDE = Layout(flag=U8, wide=U64, skipped=None, item=REFERENCE)
TWO_WIDE = Layout(a=U64, b=U64)


def cursor(data: bytes) -> Cursor:
    return Cursor(memoryview(data), len(data), Limits(max_work_per_byte=1000))


def refusal(error: type[ProgramError], read: Callable[[], object]) -> str:
    with pytest.raises(error) as caught:
        read()
    return caught.value.message


def table(offsets: list[int], table_bytes: int, body: bytes = b"") -> bytes:
    """Return a vtable at byte 0 and its table at byte 24."""
    vtable = struct.pack(f"<{2 + len(offsets)}H", 4 + 2 * len(offsets), table_bytes, *offsets)
    return vtable.ljust(24, b"\0") + struct.pack("<i", 24) + body


class TestTables:
    """A table is read by its vtable: fields may lie in any order and be absent."""

    def test_fields_come_in_the_order_of_the_layout(self) -> None:
        data = table([8, 4], 12, struct.pack("<ii", 2, 1))
        assert tuple(cursor(data).table(24, POINT)) == (1, 2)

    def test_absent_fields_read_as_their_defaults(self) -> None:
        assert tuple(cursor(table([0, 4], 8, struct.pack("<i", 7))).table(24, POINT)) == (0, 7)
        assert tuple(cursor(table([], 4)).table(24, POINT)) == (0, 0)

    def test_fields_of_a_later_schema_are_left_alone(self) -> None:
        data = table([4, 8, 12, 16], 20, struct.pack("<4i", 1, 2, 3, 4))
        assert tuple(cursor(data).table(24, POINT)) == (1, 2)

    def test_a_reference_reads_as_the_position_that_it_leads_to(self) -> None:
        data = table([4, 16, 0, 8], 24, struct.pack("<B3xI4xQ", 1, 100, 9))
        assert tuple(cursor(data).table(24, WIDE)) == (1, 9, 24 + 8 + 100)

    def test_a_reference_to_itself_is_refused(self) -> None:
        data = table([4, 16, 0, 8], 24, struct.pack("<B3xI4xQ", 1, 0, 9))
        text = "item at byte 32: the offset is 0 [bad-offset]"
        assert refusal(MalformedProgramError, lambda: cursor(data).table(24, WIDE)) == text

    @pytest.mark.parametrize(
        ("offsets", "table_bytes", "text"),
        [
            ([5, 12], 16, "x at byte 0: the field is not aligned in its table [misaligned]"),
            ([4, 8], 3, "vtable at byte 0: it claims 8 bytes for itself and 3 for its table [bad-vtable]"),
        ],
    )
    def test_a_vtable_that_contradicts_itself_is_refused(
        self, offsets: list[int], table_bytes: int, text: str
    ) -> None:
        data = table(offsets, table_bytes, bytes(64))
        assert refusal(MalformedProgramError, lambda: cursor(data).table(24, POINT)) == text

    @pytest.mark.parametrize(
        ("offsets", "table_bytes", "field", "offset"),
        [([4, 4], 12, "y", 4), ([4, 8], 11, "y", 8), ([65532, 4], 12, "x", 65532)],
    )
    def test_fields_that_overlap_or_leave_the_table_are_refused(
        self, offsets: list[int], table_bytes: int, field: str, offset: int
    ) -> None:
        data = table(offsets, table_bytes, bytes(64))
        detail = f"the field at offset {offset} overlaps another one or leaves its table"
        text = f"{field} at byte 0: {detail} [bad-vtable]"
        assert refusal(MalformedProgramError, lambda: cursor(data).table(24, POINT)) == text

    def test_fields_that_can_never_be_aligned_are_refused(self) -> None:
        data = table([4, 16], 24, bytes(64))
        text = "b at byte 0: the field can never be aligned [misaligned]"
        assert refusal(MalformedProgramError, lambda: cursor(data).table(24, TWO_WIDE)) == text

    @pytest.mark.parametrize("size", [0, 2, 3, 65535])
    def test_a_vtable_of_an_impossible_size_is_refused(self, size: int) -> None:
        data = struct.pack("<H", size) + table([4, 8], 12, bytes(8))[2:]
        with pytest.raises(ProgramError) as caught:
            cursor(data).table(24, POINT)
        assert caught.value.code in ("bad-vtable", "truncated")
        assert caught.value.region == "vtable"

    @pytest.mark.parametrize("back", [25, 2**31 - 1, 23, -(2**31), -100])
    def test_a_vtable_outside_the_file_is_refused(self, back: int) -> None:
        data = table([4, 8], 12)[:24] + struct.pack("<iii", back, 0, 0)
        with pytest.raises(ProgramError) as caught:
            cursor(data).table(24, POINT)
        assert caught.value.code in ("bad-vtable", "truncated")
        assert caught.value.region == "vtable"

    @pytest.mark.parametrize("layout", [POINT, WIDE])
    def test_a_table_that_is_not_aligned_is_refused(self, layout: Layout) -> None:
        data = (
            bytes(2) + table([4, 8], 16, bytes(12))
            if layout is POINT
            else bytes(4) + table([0, 8], 16, bytes(12))
        )
        position = 26 if layout is POINT else 28
        text = f" at byte {position}: the table is not aligned to its fields [misaligned]"
        assert refusal(MalformedProgramError, lambda: cursor(data).table(position, layout)) == text

    def test_a_table_that_leaves_the_file_is_refused(self) -> None:
        data = table([4, 8], 12, bytes(7))
        text = " at byte 24: needs 12 bytes, but only 11 are there [truncated]"
        assert refusal(TruncatedProgramError, lambda: cursor(data).table(24, POINT)) == text
        text = " at byte 32: needs 4 bytes, but only 3 are there [truncated]"
        assert refusal(TruncatedProgramError, lambda: cursor(data).table(32, POINT)) == text

    @pytest.mark.parametrize("position", [0, 1, 7])
    def test_a_root_inside_the_identifier_is_refused(self, position: int) -> None:
        data = struct.pack("<I", position) + bytes(60)
        text = f"root at byte 0: the offset {position} leads into the file's identifier [bad-offset]"
        assert refusal(MalformedProgramError, cursor(data).root) == text


class TestVectors:
    """A vector lies inside the file and is aligned; its length is checked before it is used."""

    @pytest.mark.parametrize("count", range(20))
    def test_vectors_of_any_length_are_read(self, count: int) -> None:
        numbers = tuple(range(-count, 0))
        data = bytes(4) + struct.pack(f"<I{count}i", count, *numbers)
        assert cursor(data).numbers(4, I32, "sizes") == numbers

    @pytest.mark.parametrize("count", [2, 2**31, 2**32 - 1])
    def test_a_vector_longer_than_the_file_is_refused(self, count: int) -> None:
        data = bytes(4) + struct.pack("<Ii", count, 1)
        text = f"sizes at byte 8: needs {4 * count} bytes, but only 4 are there [truncated]"
        assert refusal(TruncatedProgramError, lambda: cursor(data).numbers(4, I32, "sizes")) == text

    def test_a_length_that_is_cut_off_is_refused(self) -> None:
        text = "sizes at byte 4: needs 4 bytes, but only 3 are there [truncated]"
        assert refusal(TruncatedProgramError, lambda: cursor(bytes(7)).numbers(4, I32, "sizes")) == text

    @pytest.mark.parametrize(("position", "kind"), [(6, I32), (8, F64), (9, U8)])
    def test_a_vector_that_is_not_aligned_is_refused(self, position: int, kind: FieldKind) -> None:
        text = f"items at byte {position}: the vector is not aligned to its elements [misaligned]"
        read = cursor(bytes(position) + struct.pack("<I", 1) + bytes(64)).numbers
        assert refusal(MalformedProgramError, lambda: read(position, kind, "items")) == text

    def test_an_empty_vector_has_no_elements_to_align(self) -> None:
        """flatc writes such ones."""
        assert cursor(bytes(64)).numbers(8, F64, "items") == ()

    def test_references_lead_from_where_they_lie(self) -> None:
        data = bytes(4) + struct.pack("<III", 2, 10, 20)
        assert cursor(data).references(4, "chains") == (18, 32)

    def test_a_view_shares_the_bytes_and_stays_inside(self) -> None:
        data = bytes(range(16))
        assert cursor(data).view(Extent(4, 8), "constants") == data[4:12]
        assert cursor(data).view(Extent(16, 0), "constants") == b""
        text = "constants at byte 12: needs 5 bytes, but only 4 are there [truncated]"
        assert refusal(TruncatedProgramError, lambda: cursor(data).view(Extent(12, 5), "constants")) == text

    def test_a_cursor_over_the_first_bytes_sees_no_others(self) -> None:
        first = cursor(bytes(16)).first(8)
        assert first.u64(0, "x") == 0
        text = "x at byte 4: needs 8 bytes, but only 4 are there [truncated]"
        assert refusal(TruncatedProgramError, lambda: first.u64(4, "x")) == text


class TestStrings:
    """A string is UTF-8 and is followed by a zero byte."""

    def data(self, text: bytes, end: bytes = b"\0") -> bytes:
        return bytes(4) + struct.pack("<I", len(text)) + text + end

    @pytest.mark.parametrize("text", ["", "forward", "größe", "a\0b", "\U0001f600"])
    def test_text_is_read(self, text: str) -> None:
        assert cursor(self.data(text.encode())).string(4, "name") == text

    @pytest.mark.parametrize("text", [b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xc0\x80"])
    def test_other_encodings_are_refused(self, text: bytes) -> None:
        message = refusal(MalformedProgramError, lambda: cursor(self.data(text)).string(4, "name"))
        assert message.endswith("[bad-string]")

    def test_a_string_without_its_end_is_refused(self) -> None:
        text = "name at byte 4: no zero byte ends the string [bad-string]"
        assert (
            refusal(MalformedProgramError, lambda: cursor(self.data(b"ab", b"x")).string(4, "name")) == text
        )
        text = "name at byte 8: needs 3 bytes, but only 2 are there [truncated]"
        assert refusal(TruncatedProgramError, lambda: cursor(self.data(b"ab", b"")).string(4, "name")) == text


class TestOneReader:
    """Bytes of a file are read in two modules only: `struct`, slices of data and `from_bytes` stay there."""

    ROOMS = (Path(etconfig.program.__file__).parent, Path(etconfig.flatbuffer.__file__).parent)
    MODULES = sorted(path for room in ROOMS for path in room.rglob("*.py"))
    READERS = frozenset(
        {"unpack", "unpack_from", "iter_unpack", "from_bytes", "frombuffer", "cast", "tolist"}
    )

    ALLOWED: Mapping[str, frozenset[str]] = {
        "reader": READERS | {"_data"},
        "cursor": frozenset({"_data"}),
        "source": frozenset({"cast"}),
        # columns of numbers from the cursor
        **dict.fromkeys(
            ["table_columns", "bulk_values", "bulk_instructions", "value_reader"], frozenset({"tolist"})
        ),
    }

    @every("path", MODULES, ids=lambda path: f"{path.parent.name}.{path.stem}")
    def test_no_other_module_reads_bytes(self, path: Path) -> None:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = {
            node.func.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        private = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)} & {"_data"}
        assert (calls & self.READERS) | private <= self.ALLOWED.get(path.stem, frozenset())
