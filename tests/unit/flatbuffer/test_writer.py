"""The writer, read back with the `flatbuffers` package."""

from __future__ import annotations

import pytest
from flatbuffer_reader import Reader
from flatbuffers import number_types

from etconfig.flatbuffer.layout import I8, I32, REFERENCE, U8, U16, U32, U64, Layout
from etconfig.flatbuffer.writer import FlatBufferWriter

ROW = Layout(number=I32, text=REFERENCE, wide=U64)
ROWS = Layout(skipped=None, data=REFERENCE, rows=REFERENCE)


class TestStrings:
    def test_equal_strings_are_written_once(self) -> None:
        writer = FlatBufferWriter()
        assert writer.string("aten::add.out") == writer.string("aten::add.out") != writer.string("other")


class TestTables:
    """Tables with the same fields share a vtable, and every field is aligned."""

    def test_a_further_table_takes_the_bytes_of_its_fields_only(self) -> None:
        def size(count: int) -> int:
            writer = FlatBufferWriter()
            tables = [writer.table(ROW, wide=index, number=1) for index in range(count)]
            return len(writer.finish(tables[-1], b"ED00", with_size=True))

        fields_bytes = 4 + 4 + 8  # the offset of the vtable, an int, an unsigned long
        assert size(11) - size(2) == 9 * fields_bytes

    @pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 1000])
    @pytest.mark.parametrize("with_size", [False, True])
    def test_everything_is_read_back_and_aligned(self, count: int, with_size: bool) -> None:
        writer = FlatBufferWriter()
        rows = [
            writer.table(ROW, number=-index, text=writer.string("x" * (index % 7)), wide=index)
            for index in range(count)
        ]
        root = writer.table(ROWS, rows=writer.reference_vector(rows))
        data = writer.finish(root, b"TEST", with_size=with_size)
        read = Reader.of_root(data, b"TEST", with_size=with_size)
        flags = number_types.Uint64Flags
        found = [(row.integer(0), row.string(1), row.integer(2, flags)) for row in read.tables(2)]
        assert found == [(-index, "x" * (index % 7), index) for index in range(count)]

    def test_a_default_is_written_and_none_is_left_out(self) -> None:
        writer = FlatBufferWriter()
        read = Reader.of_root(writer.finish(writer.table(ROW, number=0, text=None), b"TEST"), b"TEST")
        assert (read.integer(0), read.string(1), read.integer(2, number_types.Uint64Flags)) == (0, None, None)

    def test_the_order_of_the_arguments_does_not_matter(self) -> None:
        mixed = Layout(a=U8, b=U16, c=I8, d=U32, e=U64)

        def write(**values: int) -> bytes:
            writer = FlatBufferWriter()
            return writer.finish(writer.table(mixed, **values), b"TEST")

        assert write(a=1, b=2, c=-3, d=4, e=5) == write(e=5, c=-3, d=4, a=1, b=2)

    def test_a_name_that_the_layout_lacks_is_refused(self) -> None:
        with pytest.raises(KeyError, match="nmber"):
            FlatBufferWriter().table(ROW, nmber=1)


class TestByteVectors:
    @pytest.mark.parametrize("alignment", [4, 16])
    @pytest.mark.parametrize("size", [0, 1, 3, 16, 5000])
    def test_they_are_aligned_from_the_end_of_the_buffer(self, alignment: int, size: int) -> None:
        writer = FlatBufferWriter()
        writer.string("odd")
        vector = writer.byte_vector(bytes(range(256)) * 20, alignment) if size == 5000 else None
        vector = writer.byte_vector(b"d" * size, alignment)
        assert (vector - 4) % alignment == 0
        data = writer.finish(writer.table(ROWS, data=vector), b"TEST")
        assert Reader.of_root(data, b"TEST").data(1) == b"d" * size
