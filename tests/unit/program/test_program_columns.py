"""Reading by columns: when it happens, and that failed checks cost nothing."""

from __future__ import annotations

import gc
import math
import sys
import threading
from contextlib import suppress
from types import SimpleNamespace as Pte

import numpy
import pytest

from etconfig.errors import ProgramError
from etconfig.flatbuffer.layout import F64, I32, U64, Layout
from etconfig.program.bulk import table_columns as columns
from etconfig.program.bulk.table_columns import DoubtError, columns_of
from etconfig.program.cursor import Cursor
from etconfig.program.limits import Limits
from etconfig.program.process_lock import collection_paused
from etconfig.program.program import open_program

POINT = Layout(x=I32, y=U64, z=F64)
ROWS = columns.MIN_ROWS


def many(pte: Pte, count: int = 2 * ROWS) -> bytes:
    """Return a plan of `count` values of all kinds, tensors of several ranks, and as many instructions."""
    kinds = [
        pte.value("Int", int_val=-7),
        pte.value("Bool", bool_val=True),
        pte.value("Double", double_val=0.5),
        pte.value("Null"),
        pte.value("IntList", items=[0, 3]),
        pte.value("TensorList", items=[6]),
        pte.tensor(),
        pte.tensor(sizes=[], dim_order=[]),
        pte.tensor(sizes=[2, 3], dim_order=[1, 0], shape_dynamism=1),
        pte.tensor(sizes=[2, 3], dim_order=[0, 1], allocation_info=None, shape_dynamism=2),
        pte.tensor(sizes=[2], dim_order=[0], allocation_info=None, data_buffer_idx=1),
        pte.value("String", string_val="mean"),
    ]
    steps = [
        pte.instruction("KernelCall", op_index=0, args=[6, 6, 0, 7]),
        pte.instruction("KernelCall", op_index=0, args=[]),
        pte.instruction("FreeCall", value_index=9),
        pte.instruction("JumpFalseCall", cond_value_index=1, destination_instruction=count),
    ]
    return pte.write(
        pte.plan(
            values=[kinds[i % len(kinds)] for i in range(count)],
            instructions=[steps[i % len(steps)] for i in range(count)],
            operators=[pte.table("Operator", name="aten::add", overload="out")],
        ),
        payloads=[bytes(8)],
        constant_segment=pte.table("SubsegmentOffsets", segment_index=0, offsets=[0, 0]),
    )


class TestSelection:
    """Large plans are read by columns, very large ones even if numpy has to be imported for it."""

    @pytest.mark.parametrize(
        ("rows", "are_alike", "has_numpy", "is_used"),
        [
            (ROWS, False, True, True),
            (ROWS - 1, False, True, False),
            (columns.MIN_LIKE_ROWS, True, True, True),
            (columns.MIN_LIKE_ROWS - 1, True, True, False),
            (ROWS, True, False, False),
            (columns.MIN_ROWS_TO_IMPORT_NUMPY, False, False, True),
        ],
    )
    def test_the_number_of_rows_decides(
        self, rows: int, are_alike: bool, has_numpy: bool, is_used: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delitem(sys.modules, "numpy", raising=False)
        if has_numpy:
            monkeypatch.setitem(sys.modules, "numpy", numpy)
        entered: list[Cursor] = []
        cursor = Cursor(memoryview(bytes(8)), 8, Limits())
        monkeypatch.setattr(columns, "Columns", lambda cursor: entered.append(cursor))
        with suppress(DoubtError), columns_of(cursor, rows, are_alike=are_alike):
            pass
        assert bool(entered) == is_used

    def test_a_large_plan_is_read_without_numpy(self, pte: Pte, monkeypatch: pytest.MonkeyPatch) -> None:
        data = many(pte)
        expected = open_program(data, limits=Limits(max_work_per_byte=100)).plan("forward")
        monkeypatch.setattr(columns, "MIN_ROWS", 1)
        monkeypatch.setitem(sys.modules, "numpy", None)
        assert open_program(data, limits=Limits(max_work_per_byte=100)).plan("forward") == expected

    def test_both_ways_read_the_same_in_a_plan_of_everything(
        self, pte: Pte, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = many(pte)
        limits = Limits(max_work_per_byte=100)
        by_columns = open_program(data, limits=limits).plan("forward")
        monkeypatch.setattr(columns, "MIN_ROWS", 10**9)
        monkeypatch.setattr(columns, "MIN_LIKE_ROWS", 10**9)
        by_tables = open_program(data, limits=limits).plan("forward")
        assert repr(by_columns) == repr(by_tables)

    def test_only_equal_values_become_one_object(self, pte: Pte) -> None:
        kinds = [
            *(pte.value("Double", double_val=each) for each in (0.0, -0.0, 1.0)),
            *(pte.value("Int", int_val=each) for each in (0, 1)),
            *(pte.value("Bool", bool_val=each) for each in (False, True)),
            pte.tensor(sizes=[2, 1], dim_order=[0, 1]),
            pte.tensor(sizes=[1, 2], dim_order=[0, 1]),
            pte.tensor(sizes=[2], dim_order=[0]),
            pte.tensor(sizes=[2], dim_order=[0], allocation_info=None),
            pte.tensor(sizes=[2], dim_order=[0], scalar_type=5),
            pte.tensor(sizes=[2], dim_order=[0], shape_dynamism=1),
        ]
        data = pte.write(pte.plan(values=kinds * ROWS))
        values = open_program(data, limits=Limits(max_work_per_byte=100)).plan("forward").values
        assert len({id(each) for each in values}) == len(kinds)
        assert values == values[: len(kinds)] * ROWS
        assert math.copysign(1, values[1].double_val) == -1

    def test_different_rows_that_are_mixed_to_equal_numbers_are_noticed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(columns, "_MIXER", 1)  # so that only sums are compared
        reader = columns.Columns(Cursor(memoryview(bytes(8)), 8, Limits()))
        assert reader.distinct([numpy.array([1, 2, 1])])[1].tolist() == [0, 1, 0]
        with pytest.raises(DoubtError):
            reader.distinct([numpy.array([1, 2]), numpy.array([2, 1])])


class TestDoubt:
    """After a failed check, a plan is read table by table as if columns did not exist."""

    def test_an_attempt_that_fails_costs_no_work(self) -> None:
        vtable = b"\x0a\x00\x18\x00\x04\x00\x08\x00\x10\x00".ljust(16, b"\0")
        data = vtable + b"\x10\x00\x00\x00" + bytes(20)
        cursor = Cursor(memoryview(data), len(data), Limits(max_work_per_byte=10))
        before = cursor.work_left_bytes
        with suppress(DoubtError), cursor.attempt():
            cursor.table(16, POINT)
            assert cursor.work_left_bytes < before
            raise DoubtError
        assert cursor.work_left_bytes == before
        cursor.table(16, POINT)
        once = before - cursor.work_left_bytes
        cursor.table(16, POINT)
        assert before - cursor.work_left_bytes < 2 * once  # the vtable was charged again, once

    def test_a_bad_row_among_many_is_named(self, pte: Pte) -> None:
        values = [pte.value("Int", int_val=i) for i in range(2 * ROWS)]
        values[ROWS] = pte.value("IntList", items=[0, 2 * ROWS])
        with pytest.raises(ProgramError, match=rf"values\[{ROWS}\].items\[1\].*{2 * ROWS} is not an index"):
            open_program(pte.write(pte.plan(values=values)))

    @pytest.mark.parametrize(
        ("index", "message"),
        [
            (1, r"constants\[1\] at byte \d+: needs 24 bytes, but only 16"),
            (3, r"constant 3 are not aligned to float32"),
            (4, r"data_buffer_idx at byte \d+: 4 is not an index into constants"),
        ],
    )
    def test_a_bad_constant_among_many_is_named(self, pte: Pte, index: int, message: str) -> None:
        segment = pte.table("SubsegmentOffsets", segment_index=0, offsets=[0, 0, 16, 41])
        tensors = [
            pte.tensor(sizes=[2, 3], dim_order=[0, 1], data_buffer_idx=each, allocation_info=None)
            for each in [2] * ROWS + [index] + [2] * ROWS
        ]
        data = pte.write(pte.plan(values=tensors), payloads=[bytes(80)], constant_segment=segment)
        with pytest.raises(ProgramError, match=message):
            open_program(data)

    def test_a_bad_instruction_among_many_is_named(self, pte: Pte) -> None:
        steps = [pte.instruction("KernelCall", op_index=0, args=[]) for _ in range(2 * ROWS)]
        steps[ROWS] = pte.instruction("KernelCall", op_index=3, args=[])
        operators = [pte.table("Operator", name="aten::add", overload="out")]
        with pytest.raises(ProgramError, match=rf"instructions\[{ROWS}\].op_index.*3 is not an index"):
            open_program(pte.write(pte.plan(instructions=steps, operators=operators)))


class TestCollectionPaused:
    """Garbage collection is paused, and resumes afterwards if it was enabled before."""

    def test_it_runs_again_also_after_an_error(self) -> None:
        with suppress(DoubtError), collection_paused():
            assert not gc.isenabled()
            raise DoubtError
        assert gc.isenabled()

    def test_a_collector_that_was_off_stays_off(self) -> None:
        gc.disable()
        try:
            with collection_paused():
                pass
            assert not gc.isenabled()
        finally:
            gc.enable()

    def test_it_runs_when_all_threads_have_left(self) -> None:
        inside, may_leave = threading.Barrier(9), threading.Event()

        def pause() -> None:
            with collection_paused():
                inside.wait()
                may_leave.wait()

        threads = [threading.Thread(target=pause) for _ in range(8)]
        for thread in threads:
            thread.start()
        inside.wait()
        assert not gc.isenabled()
        may_leave.set()
        for thread in threads:
            thread.join()
        assert gc.isenabled()
