"""Damaged programs: whatever the bytes, only ProgramError comes out, or a sound program."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import EXTREMES, MUTATIONS

from etconfig.errors import ProgramError
from etconfig.program import PROGRAM_ERROR_CODES, Program, columns, open_program
from etconfig.program.model import Tensor

CORPUS = Path(__file__).parents[1] / "data" / "programs"
SEEDS = sorted(path.stem for path in CORPUS.glob("*.pte"))
MUTANTS_PER_SEED = 800


def touch_everything(program: Program) -> None:
    """Use a program that opened as an executor would; its indices must lead somewhere."""
    for name in program.method_names:
        plan = program.plan(name)
        for value in plan.values:
            if isinstance(value, Tensor) and value.is_constant and not value.external:
                assert len(program.constant(value.data_buffer_idx, value.size_bytes)) == value.size_bytes
        for delegate in plan.delegates:
            bytes(program.delegate_data(delegate))
        for index in (*plan.inputs, *plan.outputs):
            plan.values[index]
    for data in program.named_data.values():
        bytes(data)


def try_program(data: bytes) -> str:
    """Open and use a program; the code of the error, or `sound`."""
    try:
        touch_everything(open_program(data))
    except ProgramError as refused:
        error = refused
    else:
        return "sound"
    assert error.code in PROGRAM_ERROR_CODES
    assert error.region
    assert str(error).endswith(f"[{error.code}]") or error.help
    return error.code


def reading(data: bytes, monkeypatch: pytest.MonkeyPatch, is_bulk: bool) -> object:
    """All plans, or the error; read by columns as far as they go, or table by table."""
    monkeypatch.setattr(columns, "MIN_ROWS", 1 if is_bulk else 10**9)
    try:
        program = open_program(data)
        return [program.plan(name) for name in program.method_names]
    except ProgramError as error:
        return type(error), str(error), error.code, error.region, error.offset


class TestColumns:
    """Reading by columns and reading table by table give the same plans and the same refusals."""

    @pytest.mark.parametrize("seed", SEEDS)
    def test_both_ways_read_the_same(self, seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
        original, rng = (CORPUS / f"{seed}.pte").read_bytes(), random.Random(seed)
        for attempt in range(MUTANTS_PER_SEED // 4):
            data = bytearray(original)
            if attempt:
                rng.choice(MUTATIONS)(data, rng)
            by_columns, by_tables = (reading(bytes(data), monkeypatch, is_bulk) for is_bulk in (True, False))
            assert by_columns == by_tables
            assert repr(by_columns) == repr(by_tables)  # which tells 1 from True and from numpy's 1

    def test_columns_read_every_plan_of_the_corpus(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> object:
            raise AssertionError("a plan was read table by table")

        monkeypatch.setattr("etconfig.program.value_reader.ValueReader._read_type", refuse)
        for seed in SEEDS:
            assert isinstance(reading((CORPUS / f"{seed}.pte").read_bytes(), monkeypatch, True), list)


class TestMutations:
    """A file with changed bytes is refused with a typed error, or is sound."""

    @pytest.mark.parametrize("seed", SEEDS)
    def test_mutants_raise_only_program_errors(self, seed: str) -> None:
        original, rng = (CORPUS / f"{seed}.pte").read_bytes(), random.Random(seed)
        outcomes = set()
        for _ in range(MUTANTS_PER_SEED):
            data = bytearray(original)
            rng.choice(MUTATIONS)(data, rng)
            outcomes.add(try_program(bytes(data)))
        assert "truncated" in outcomes
        assert len(outcomes) > 5  # the mutants reach more than the first check

    @pytest.mark.parametrize("code", ["<I", "<Q"])
    def test_every_word_may_be_extreme(self, code: str) -> None:
        original, size = (CORPUS / "mutable_buffers.pte").read_bytes(), struct.calcsize(code)
        outcomes = set()
        for position in range(0, len(original) - size, size):
            for extreme in EXTREMES[code]:
                data = bytearray(original)
                struct.pack_into(code, data, position, extreme)
                outcomes.add(try_program(bytes(data)))
        assert outcomes >= {"sound", "truncated", "bad-header", "bad-vtable", "bad-memory-plan"}

    @pytest.mark.parametrize("seed", ["linear", "xnnpack", "mutable_buffers"])
    def test_every_prefix_is_refused(self, seed: str) -> None:
        data = (CORPUS / f"{seed}.pte").read_bytes()
        outcomes = {try_program(data[:size]) for size in range(len(data))}
        assert "sound" not in outcomes

    def test_a_prefix_without_a_header_is_refused_or_lacks_only_padding(self) -> None:
        data = (CORPUS / "add.pte").read_bytes()
        sound = [size for size in range(len(data)) if try_program(data[:size]) == "sound"]
        assert all(not any(data[size:]) for size in sound)

    @given(st.binary(max_size=200), st.booleans())
    @settings(max_examples=200, deadline=None)
    def test_arbitrary_bytes_are_refused(self, data: bytes, has_identifier: bool) -> None:
        if has_identifier:
            data = data[:4] + b"ET12" + data[8:]
        assert try_program(data) != "sound"
