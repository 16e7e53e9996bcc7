"""Files that claim too much or leave something out: typed errors, and work in proportion to their size."""

from __future__ import annotations

import itertools
import os
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace as Pte
from typing import Any

import numpy as np
import pytest
from every import every
from mutations import DATA, LARGE_FILES, SMALL_FILES
from program_writer import FIELDS, Node

from etconfig.errors import ProgramError, TruncatedProgramError, UnsupportedProgramError
from etconfig.program import source
from etconfig.program.cursor import Cursor
from etconfig.program.flat_tensor import open_data_file
from etconfig.program.limits import DEFAULT_LIMITS, Limits
from etconfig.program.payload_reader import read_segments
from etconfig.program.program import Verification, open_program

LARGEST = 2**31 - 1
EXTREMES = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 16, 2**64 - 1]


def code_of(data: bytes, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return the code of the error, which names a byte, or `sound`."""
    try:
        (open_data_file if data[4:8] == b"FT01" else open_program)(data, limits=limits)
    except ProgramError as error:
        assert error.offset is not None  # noqa: PT017  either outcome is right
        return error.code
    return "sound"


def peak_bytes_of(work: Callable[[], object]) -> int:
    """Return the largest additional memory that Python and numpy took at one time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def everything(pte: Pte) -> list[Node]:
    """Return the roots of a program, a bundle and a data file that use every field of the schema."""
    planned = pte.table("AllocationDetails", memory_id=1, memory_offset_low=0, memory_offset_high=0)
    extra = pte.table("ExtraTensorInfo", mutable_data_segments_idx=0, fully_qualified_name="w", location=0)
    values = [
        pte.tensor(allocation_info=planned, data_buffer_idx=1, extra_tensor_info=extra),
        *(pte.value("Int", int_val=1), pte.value("Bool", bool_val=True), pte.value("Double", double_val=1.0)),
        *(pte.value("String", string_val="s"), pte.value("IntList", items=[1])),
        *(pte.value("DoubleList", items=[1.0]), pte.value("BoolList", items=[True])),
        *(pte.value("TensorList", items=[0]), pte.value("OptionalTensorList", items=[0, -1])),
    ]
    processed = pte.table("BackendDelegateDataReference", location=0, index=0)
    specs = [pte.table("CompileSpec", key="k", value=b"v")]
    device = pte.table("NonConstBufferDevice", buffer_idx=1, device_type=0, device_index=0)
    plan = pte.plan(
        values=values,
        operators=[pte.table("Operator", name="aten::add", overload="out")],
        delegates=[pte.table("BackendDelegate", id="B", processed=processed, compile_specs=specs)],
        non_const_buffer_device=[device],
        instructions=[
            pte.instruction("KernelCall", op_index=0, args=[0]),
            pte.instruction("DelegateCall", delegate_index=0, args=[0]),
            pte.instruction("MoveCall", move_from=1, move_to=1),
            pte.instruction("JumpFalseCall", cond_value_index=2, destination_instruction=0),
            pte.instruction("FreeCall", value_index=0),
        ],
    )
    offsets = pte.table("SubsegmentOffsets", segment_index=0, offsets=[0, 0])
    program = pte.table(
        "Program",
        version=0,
        execution_plan=[plan],
        backend_delegate_data=[pte.table("BackendDelegateInlineData", data=b"x")],
        segments=[pte.table("DataSegment", offset=0, size=16)],
        constant_segment=offsets,
        mutable_data_segments=[offsets],
        named_data=[pte.table("NamedData", key="k", segment_index=0)],
    )
    return [program]


def tables_in(root: Node) -> list[Node]:
    """Return every table below `root`, once."""
    found: dict[int, Node] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) in found:
            continue
        found[id(node)] = node
        inside = node.value.values() if isinstance(node.value, dict) else node.value
        stack += [each for each in inside if isinstance(each, Node)] if not isinstance(inside, str) else []
    return [node for node in found.values() if node.kind in FIELDS]


def serialized(pte: Pte, root: Node) -> bytes:
    fields = dict(root.value)
    return pte.write(payloads=[bytes(16)], **fields)


class TestFields:
    """Without any one field, a file gives a typed error, or the default of the schema."""

    def test_each_field_that_is_absent(self, pte: Pte) -> None:
        (root,) = everything(pte)
        assert code_of(serialized(pte, root)) == "sound"
        codes: dict[str, str] = {}
        for node in tables_in(root):
            for field, value in [*node.value.items()]:
                del node.value[field]
                codes[f"{node.kind}.{field}"] = code_of(serialized(pte, root))
                node.value[field] = value
        assert len(codes) > 60
        others = {field: code for field, code in codes.items() if code not in ("sound", "missing-field")}
        assert others == CONSEQUENCES
        assert {codes[name] for name in ("ExecutionPlan.values", "KernelCall.args")} == {"missing-field"}


CONSEQUENCES = {
    "ExecutionPlan.operators": "index-out-of-range",
    "AllocationDetails.memory_id": "bad-memory-plan",
    "Program.backend_delegate_data": "index-out-of-range",
    "DataSegment.size": "truncated",
    "Program.mutable_data_segments": "index-out-of-range",
    "SubsegmentOffsets.offsets": "index-out-of-range",
}
"""Fields that may be absent, but then something else has nothing to refer to."""


class TestOffsets:
    """Offsets and sizes of 64 bits are added without wrapping around, wherever they occur."""

    @every(("offset", "size"), [*itertools.product(EXTREMES, EXTREMES)])
    def test_of_segments(self, pte: Pte, offset: int, size: int) -> None:
        segment = pte.table("DataSegment", offset=offset, size=size)
        for data in (
            pte.write(pte.plan(), payloads=[bytes(16)], segments=[segment]),
            pte.write_data_file(payloads=[bytes(16)], segments=[segment]),
        ):
            assert code_of(data) == ("sound" if offset + size <= 16 else "truncated")

    @pytest.mark.parametrize("offset", EXTREMES)
    def test_of_constants_in_a_segment(self, pte: Pte, offset: int) -> None:
        inside = pte.table("SubsegmentOffsets", segment_index=0, offsets=[0, offset])
        constant = pte.tensor(data_buffer_idx=1, allocation_info=None)
        data = pte.write(pte.plan(values=[constant]), payloads=[bytes(16)], constant_segment=inside)
        expected = {0: "sound", 1: "misaligned"}
        assert code_of(data) == expected.get(offset, "truncated")

    @pytest.mark.parametrize("field", ["program_size", "segment_base_offset", "segment_data_size"])
    @pytest.mark.parametrize("number", EXTREMES)
    def test_of_the_header(self, pte: Pte, field: str, number: int) -> None:
        data = pte.write(pte.plan(), payloads=[bytes(16)], header={field: number})
        code = code_of(data)
        assert code in ("bad-header", "truncated", "missing-header") or (field, number) in (
            (
                "segment_data_size",
                0,
            ),  # the header has no such field: the segments may reach to the end of the file
        )

    @pytest.mark.parametrize("index", EXTREMES[:5])
    def test_of_segment_indices(self, pte: Pte, index: int) -> None:
        named = [pte.table("NamedData", key="k", segment_index=index)]
        data = pte.write(pte.plan(), payloads=[bytes(16)], named_data=named)
        assert code_of(data) == ("sound" if index == 0 else "index-out-of-range")

    @pytest.mark.parametrize(("low", "high"), [*itertools.product(EXTREMES[:5], EXTREMES[:5])])
    def test_of_planned_memory(self, pte: Pte, low: int, high: int) -> None:
        place = pte.table("AllocationDetails", memory_id=1, memory_offset_low=low, memory_offset_high=high)
        expected = "sound" if not high and low <= 56 else "bad-memory-plan"
        assert code_of(pte.write_tensor(allocation_info=place)) == expected


class TestShapes:
    """Twenty shapes whose size overflows some integer type; no size ever wraps around."""

    SHAPES = (
        *([LARGEST, LARGEST, 4], [2**16] * 4, [2**8] * 8, [2**4] * 16, [LARGEST] * 16, [0, *[LARGEST] * 3]),
        *([2**30, 2**30, 2], [2**30, 2**30, 4], [2**21, 2**21, 2**21], [3, 2**30, 2**30, 2**2]),
        *([LARGEST, 2**30, 2**2], [1, 1, 1, LARGEST, LARGEST, 2], [LARGEST, 0, LARGEST, LARGEST]),
        *([LARGEST, LARGEST, 0, LARGEST], [2**31 - 2] * 3, [65537] * 4, [641, 6700417, 2**31 - 1, 7]),
        *([2**15] * 5, [2**12] * 6, [5, 2**29, 2**31 - 1, 2]),
    )

    @pytest.mark.parametrize("sizes", SHAPES, ids=str)
    def test_overflowing_sizes_are_refused(self, pte: Pte, sizes: list[int]) -> None:
        order = list(range(len(sizes)))
        for memory in ({}, {"allocation_info": None, "data_buffer_idx": 1}):
            assert code_of(pte.write_tensor(sizes=sizes, dim_order=order, **memory)) == "tensor-too-large"
        assert code_of(pte.write_data_file(pte.named(sizes=sizes, dim_order=order))) == "tensor-too-large"

    def test_there_are_twenty(self) -> None:
        assert len(self.SHAPES) == 20

    def test_every_wrong_dim_order_of_rank_3_is_refused(self, pte: Pte) -> None:
        for order in itertools.product(range(4), repeat=3):
            expected = "sound" if sorted(order) == [0, 1, 2] else "bad-dim-order"
            assert code_of(pte.write_tensor(sizes=[1, 1, 1], dim_order=list(order))) == expected


class TestProportion:
    """Work and memory are in proportion to the file."""

    @every("path", [*SMALL_FILES, *LARGE_FILES], ids=lambda path: path.name)
    def test_metadata_take_at_most_forty_times_the_file(self, path: Path) -> None:
        data = path.read_bytes()
        assert peak_bytes_of(lambda: code_of(data)) < 40 * len(data) + 4_000_000

    def test_a_file_of_100_bytes_takes_less_than_a_mebibyte(self) -> None:
        for size in range(100):
            data = (DATA / "programs" / "add.pte").read_bytes()[:size]
            assert peak_bytes_of(lambda data=data: code_of(data)) < 1 << 20

    def test_a_fan_out_bomb_of_12_kilobytes(self, pte: Pte) -> None:
        """Three vectors of 1,000 entries share their children: 10**9 instructions."""
        step = pte.instruction("FreeCall", value_index=0)
        chain = pte.table("Chain", instructions=pte.node("[t]", [step] * 1000))
        plan = pte.plan(values=[pte.value("Int")], chains=pte.node("[t]", [chain] * 1000))
        data = pte.write(*[plan] * 1000)
        assert len(data) < 20_000
        assert peak_bytes_of(lambda: code_of(data)) < 2_000_000
        assert code_of(data) == "duplicate-name"

    def test_each_plan_of_a_bomb_is_charged(self, pte: Pte) -> None:
        values = pte.node("[t]", [pte.value("Int", int_val=1)] * 1000)
        data = pte.write(*[pte.plan(name=f"{i}", values=values) for i in range(200)])
        assert peak_bytes_of(lambda: code_of(data)) < 40 * len(data) + 4_000_000
        assert code_of(data) == "limit-exceeded"

    def test_more_methods_than_the_limit_are_refused_before_they_are_read(self, pte: Pte) -> None:
        data = pte.write(*[pte.plan()] * 100_000)
        with pytest.raises(UnsupportedProgramError, match=r"100000 elements exceeds the limit of 10000"):
            open_program(data)

    @pytest.mark.parametrize("sizes", [[2**30, 2**28], [LARGEST, 2**29]])
    def test_a_claim_of_2_to_the_60_bytes_allocates_no_array_for_it(
        self, pte: Pte, monkeypatch: pytest.MonkeyPatch, sizes: list[int]
    ) -> None:
        counts: list[int] = []

        def spied(make: Any) -> Any:
            def count(shape: Any, *arguments: Any, **keywords: Any) -> Any:
                counts.append(int(np.prod(shape)))
                return make(shape, *arguments, **keywords)

            return count

        for name in ("zeros", "empty", "ones", "full"):
            monkeypatch.setattr(np, name, spied(getattr(np, name)))
        claim = pte.tensor(sizes=sizes, dim_order=[0, 1], data_buffer_idx=1, allocation_info=None)
        planned = pte.tensor(sizes=sizes, dim_order=[0, 1])
        limits = Limits(max_work_per_byte=100)  # the tensors are shared
        for values in ([claim], [planned], [claim] * 200, [planned] * 200):
            data = pte.write(pte.plan(values=values), payloads=[bytes(16)])
            assert peak_bytes_of(lambda data=data: code_of(data, limits)) < 4_000_000
            assert code_of(data) in ("index-out-of-range", "bad-memory-plan")
        assert counts  # the columns of 200 values
        assert max(counts) <= 256


class TestOpening:
    """The requested level is applied, and a file that changes meanwhile gives a typed error."""

    @pytest.mark.parametrize("level", Verification)
    def test_the_requested_level_is_applied(self, pte: Pte, level: Verification) -> None:
        assert open_program(pte.write(pte.plan()), verification=level).verification is level
        broken = pte.write(pte.plan(inputs=[0]))
        if level is Verification.Minimal:
            program = open_program(broken, verification=level)
            with pytest.raises(ProgramError, match="0 is not an index into values"):
                program.plan("forward")
        else:
            with pytest.raises(ProgramError, match="0 is not an index into values"):
                open_program(broken, verification=level)

    @pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be truncated there")
    def test_a_file_that_is_truncated_a_hundred_times_while_it_is_read(
        self, pte: Pte, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """At every hundredth of its length: no signal, and the bytes read before stay valid."""
        inside = pte.table("SubsegmentOffsets", segment_index=0, offsets=[0, 0])
        elements = 4 * source.FILE_BLOCK_BYTES
        sizes = {"sizes": [elements], "dim_order": [0]}
        constant = pte.tensor(**sizes, data_buffer_idx=1, allocation_info=None)
        data = pte.write(pte.plan(values=[constant]), payloads=[bytes(4 * elements)], constant_segment=inside)
        path = tmp_path / "large.pte"
        for hundredth in range(100):
            path.write_bytes(data)
            program = open_program(path)
            os.truncate(path, len(data) * hundredth // 100)
            with pytest.raises(TruncatedProgramError):
                program.constant(1, 4 * elements)

    def test_segments_of_any_number_are_compared_once(self) -> None:
        """Overlaps are found by sorting: 20,000 segments are read in one pass."""
        work: list[int] = []

        class Counting(Cursor):
            def table(self, position: int, layout: Any) -> Any:
                work.append(position)
                return position, 1

            def references(self, position: int, field: str) -> tuple[int, ...]:
                return tuple(range(20_000))

        cursor = Counting(memoryview(b""), 0, Limits())
        assert len(read_segments(cursor, 4, 16, 2**20)) == len(work) == 20_000


class TestHoles:
    """Bytes outside of tables and segments are reported, unless they are zeros for alignment (polyglots)."""

    @pytest.mark.parametrize(
        "path", [each for each in SMALL_FILES if each.suffix == ".pte"], ids=lambda path: path.name
    )
    def test_exporters_leave_no_holes(self, path: Path) -> None:
        assert open_program(path).unclaimed() == ()

    def test_each_hole_is_reported_with_its_extent(self, pte: Pte) -> None:
        segments = [pte.table("DataSegment", offset=offset, size=16) for offset in (32, 0)]
        data = bytearray(pte.write(pte.plan(), payloads=[bytes(64)], segments=segments))
        base = len(data) - 64
        assert open_program(bytes(data)).unclaimed() == ()
        data[base + 20] = data[-1] = 1
        assert open_program(bytes(data)).unclaimed() == ((base + 16, 16), (base + 48, 16))

    def test_bytes_after_the_program_are_a_hole(self, pte: Pte) -> None:
        data = pte.write(pte.plan(), payloads=[bytes(16)])
        assert open_program(data + bytes(2 << 20) + b"PK").unclaimed() == ((len(data), (2 << 20) + 2),)
