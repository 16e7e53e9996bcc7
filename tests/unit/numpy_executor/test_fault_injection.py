"""After any failure there is a typed error, nothing is left behind, and the next try succeeds."""

from __future__ import annotations

import contextlib
import gc
import itertools
import mmap
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mutations import DATA
from plans import KERNELS, PlanBuilder, adding_plan, floats
from program_writer import instruction, plan, table, tensor, value, write

from etconfig import Method
from etconfig.errors import EtconfigError, OutOfMemoryError, UnreadableProgramError
from etconfig.kernels import symbolic
from etconfig.numpy_executor import load_method
from etconfig.program import source
from etconfig.program.cursor import Cursor
from etconfig.program.model import TensorShapeDynamism
from etconfig.program.program import open_program
from etconfig.program.source import LoadMode

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")

ELEMENTS = 3 * source.FILE_BLOCK_BYTES // 4
MOST_FAULTS = 1000


def write_large(path: Path) -> Path:
    """A program whose constant takes several blocks: out = constant + constant."""
    sizes = {"sizes": [ELEMENTS], "dim_order": [0]}
    constant, total = tensor(**sizes, data_buffer_idx=1, allocation_info=None), tensor(**sizes)
    add = instruction("KernelCall", op_index=0, args=[0, 0, 1, 2, 2])
    content = plan(
        values=[constant, value("Int", int_val=1), total],
        outputs=[2],
        operators=[table("Operator", name="aten::add", overload="out")],
        instructions=[add],
        non_const_buffer_sizes=[0, 4 * ELEMENTS],
    )
    segment = table("SubsegmentOffsets", segment_index=0, offsets=[0, 0])
    data = np.arange(ELEMENTS, dtype=np.float32)
    path.write_bytes(write(content, payloads=[data.tobytes()], constant_segment=segment))
    return path


def run_once(path: Path, load_mode: Any) -> float:
    with (
        open_program(path, load_mode=load_mode) as program,
        load_method(program, "forward", KERNELS, {}) as method,
    ):
        return float(method.execute()[0][-1])


class Faulty:
    """Calls `function`, but the call number `failing` raises what `make_error` makes."""

    def __init__(
        self, function: Callable[..., Any], make_error: Callable[[], BaseException], failing: int
    ) -> None:
        self._function = function
        self._make_error = make_error
        self._calls = itertools.count(1)
        self._failing = failing
        self.has_failed = False

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if next(self._calls) == self._failing:
            self.has_failed = True
            raise self._make_error()
        return self._function(*args, **keywords)


def held() -> tuple[int, int, bool]:
    """Return the open descriptors, the threads, and whether the garbage collector runs."""
    gc.collect()
    return len([*Path("/proc/self/fd").iterdir()]), threading.active_count(), gc.isenabled()


POINTS = {
    "open": (source, "open", open, partial(OSError, 24, "Too many open files")),
    "stat": (os, "fstat", os.fstat, partial(OSError, 5, "Input/output error")),
    "read": (os, "preadv", os.preadv, partial(OSError, 5, "Input/output error")),
    "reserve": (mmap, "mmap", mmap.mmap, partial(OSError, 12, "Cannot allocate memory")),
    "allocate": (np, "zeros", np.zeros, MemoryError),
}


class TestLoading:
    """The Nth open, read or allocation fails, for every N."""

    @pytest.mark.parametrize("load_mode", [LoadMode.File, LoadMode.Mmap])
    @pytest.mark.parametrize("point", POINTS)
    def test_every_call_may_fail(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, load_mode: LoadMode
    ) -> None:
        path, (module, name, function, make_error) = write_large(tmp_path / "large.pte"), POINTS[point]
        expected = run_once(path, load_mode)
        before = held()
        for failing in range(1, MOST_FAULTS):
            faulty = Faulty(function, make_error, failing)
            with monkeypatch.context() as patched:
                patched.setattr(module, name, faulty, raising=name != "open")
                try:
                    assert run_once(path, load_mode) == expected
                except EtconfigError as refused:
                    assert type(refused.__cause__) is type(make_error())  # noqa: PT017  either outcome is right
            assert held() == before
            assert run_once(path, load_mode) == expected
            if not faulty.has_failed:
                break
        else:
            pytest.fail("the calls never end")
        is_used = point != "read" or load_mode is LoadMode.File
        assert (failing > 1) == is_used


class TestReading:
    """Memory that runs out while plans are read is an error of the file, which is too large."""

    def test_every_record_may_fail(self, monkeypatch: pytest.MonkeyPatch) -> None:
        path = DATA / "programs" / "linear.pte"
        failures = 0
        for failing in range(1, MOST_FAULTS):
            faulty = Faulty(Cursor.table, MemoryError, failing)
            with monkeypatch.context() as patched:
                patched.setattr(Cursor, "table", lambda *given, faulty=faulty: faulty(*given))
                try:
                    open_program(path).close()
                except UnreadableProgramError as error:
                    failures += 1
                    told = str(error)
                    assert told == f"{path}: there is not enough memory [unreadable-file]"
            if not faulty.has_failed:
                break
        assert failures > 20
        assert len(open_program(path).plan("forward").values) > 5


class TestExecuting:
    """A Method that ran out of memory in one execute gives its usual results in the next one."""

    def _growing(self) -> Method:
        """Tensors without planned memory: they are allocated while the method runs."""
        builder: PlanBuilder = adding_plan(4)
        unbounded = TensorShapeDynamism.DYNAMIC_UNBOUND
        first, second = (builder.tensor(4, dynamism=unbounded, is_planned=False) for _ in range(2))
        builder.add_(builder.outputs[0], builder.inputs[0], first)
        builder.add_(first, first, second)
        builder.free(first)
        builder.free(second)
        builder.add_(builder.inputs[0], builder.inputs[0], first)
        builder.outputs.append(first)
        return builder.load()

    def test_every_allocation_may_fail(self, monkeypatch: pytest.MonkeyPatch) -> None:
        inputs = [floats(1, 2, 3, 4), floats(5, 6, 7, 8)]
        expected = [each.tolist() for each in self._growing().execute(inputs)]
        failures = 0
        for failing in range(1, MOST_FAULTS):
            method = self._growing()
            faulty = Faulty(np.zeros, MemoryError, failing)
            with monkeypatch.context() as patched:
                patched.setattr(np, "zeros", faulty)
                try:
                    method.execute(inputs)
                except OutOfMemoryError as error:
                    failures += 1
                    assert str(error) == (  # noqa: PT017  either outcome is right
                        "method 'forward' asks for more memory than there is: the system has no more"
                    )
            assert [each.tolist() for each in method.execute(inputs)] == expected
            if not faulty.has_failed:
                break
        assert failures > 1


class TestLoops:
    """A run that ends in the middle of a loop leaves its counter as it found it, for the next run."""

    @pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
    @pytest.mark.parametrize("path", ["programs/mapping.pte", "exports/scan.pte"])
    def test_every_number_may_fail(
        self, monkeypatch: pytest.MonkeyPatch, path: str, error: Callable[[], BaseException]
    ) -> None:
        program = open_program(DATA / path)
        method = load_method(program, "forward", KERNELS, {})
        shapes = [method.metadata.input_tensor_meta(each).sizes() for each in range(2)]
        inputs = [np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in shapes]
        expected = [each.tolist() for each in method.execute(inputs)]
        for failing in range(1, MOST_FAULTS):
            faulty = Faulty(symbolic._set, error, failing)
            with monkeypatch.context() as patched:
                patched.setattr(symbolic, "_set", faulty)
                with contextlib.suppress(OutOfMemoryError, KeyboardInterrupt):
                    method.execute(inputs)
            assert [each.tolist() for each in method.execute(inputs)] == expected
            if not faulty.has_failed:
                break
        assert failing > 6
