from __future__ import annotations

import random
import struct
from pathlib import Path

from delegating_programs import delegating_program
from effort import scaled
from etconfig_upstream.plugin import schema_of
from etconfig_upstream.xnnpack_data import data_names, value_sizes

import etconfig
from etconfig.analysis import inspect_program

DIGITS = Path(__file__).parents[3] / "tests" / "data" / "digits" / "digits_xnnpack.pte"


def payload_of(*names: str) -> bytes:
    """Return the header of XNNPACK and an `XNNGraph` whose constant data have only names."""
    start = 32
    head = b"\0\0\0\0XH00" + struct.pack("<HII", 30, start, 0)
    data = bytearray(head.ljust(start, b"\0"))
    data += struct.pack("<I", 4 + 22)  # the table of the graph, after its layout
    data += struct.pack("<11H", 22, 8, *[0] * 8, 4)
    graph = len(data)
    data += struct.pack("<iI", graph - (start + 4), 4) + struct.pack("<I", len(names))
    places = len(data)
    data += bytes(4 * len(names))
    for index, name in enumerate(names):
        layout = len(data)
        data += struct.pack("<5H", 10, 8, 0, 0, 4) + bytes(2)
        table = len(data)
        data += struct.pack("<iI", table - layout, 4) + struct.pack("<I", len(name)) + name.encode() + b"\0"
        data += bytes(-len(data) % 4)
        struct.pack_into("<I", data, places + 4 * index, table - (places + 4 * index))
    return bytes(data)


class TestNames:
    """The names of weights are read from the payload; a damaged one has none."""

    def test_the_names_of_constants_are_found(self) -> None:
        assert data_names(payload_of("first", "second", "first")) == ["first", "second"]
        assert data_names(payload_of()) == []

    def test_another_payload_has_none(self) -> None:
        assert data_names(b"") == data_names(b"XH00" * 20) == []

    def test_damage_raises_nothing(self) -> None:
        chance, whole = random.Random(7), payload_of("first", "second")
        for _ in range(scaled(2000)):
            damaged = bytearray(whole[: chance.randrange(len(whole) + 1)])
            for _ in range(chance.randrange(4) if damaged else 0):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            assert all(isinstance(name, str) for name in data_names(bytes(damaged)))


class TestValues:
    """The memory of values between operations, and of pointers to them, is read from the payload."""

    def payload(self) -> bytes:
        with etconfig.load_program(DIGITS) as program:
            (delegate,) = program.program.plan("embed").delegates
            return bytes(program.program.delegate_data(delegate))

    def test_convolutions_of_digits(self) -> None:
        # a convolution of 3x3 at 8x8: 64 * 9 pointers; one by channel: 8 rows of 3 * (3 + 7) columns
        pointers = 8 * (64 * 9 + 8 * 3 * (3 + 7))
        # the largest values in a row: 8x8 of 16 and of 32 channels
        assert value_sizes(self.payload()) == (pointers, 4 * 64 * (16 + 32))

    def test_another_payload_has_none(self) -> None:
        assert value_sizes(b"") == value_sizes(b"XH00" * 20) == (0, 0)

    def test_damage_raises_nothing(self) -> None:
        chance, whole = random.Random(8), self.payload()
        for _ in range(scaled(500)):
            damaged = bytearray(whole[: chance.randrange(len(whole) + 1)])
            for _ in range(chance.randrange(4) if damaged else 0):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            assert min(value_sizes(bytes(damaged))) >= 0


class TestInspect:
    """`inspect` lists the weights that no given file has."""

    def obstacles(self, tmp_path: Path, data: bytes) -> list[tuple[str, str, str | None]]:
        (tmp_path / "program.pte").write_bytes(data)
        installation = etconfig.Installation(search_path=()).with_backends(
            {"XnnpackBackend": schema_of("XnnpackBackend")}
        )
        with etconfig.load_program(tmp_path / "program.pte", installation=installation) as program:
            (method,) = inspect_program(program).methods
        return [(each.what, each.why, each.help) for each in method.obstacles if "data" in each.what]

    def test_missing_ones_are_named(self, tmp_path: Path) -> None:
        payload = payload_of("a", "b", "c", "d", "e")
        found = self.obstacles(
            tmp_path, delegating_program("XnnpackBackend", payload, named_data={"b": b"1234"})
        )
        assert found == [
            (
                "data of XnnpackBackend",
                "4 of 5 weights are in a data file that was not given: a, c, d and 1 more",
                "give the .ptd of this export: --data FILE.ptd",
            )
        ]

    def test_a_payload_without_names_lacks_none(self, tmp_path: Path) -> None:
        assert self.obstacles(tmp_path, delegating_program("XnnpackBackend", payload_of())) == []
