"""Damaged data files: whatever the bytes, only ProgramError comes out, or a sound file."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import EXTREMES, MUTATIONS

from etconfig.errors import ProgramError
from etconfig.program import PROGRAM_ERROR_CODES, open_data_file

EXPORTS = Path(__file__).parents[1] / "data" / "exports"
SEEDS = sorted(path.stem for path in EXPORTS.glob("*.ptd"))
MUTANTS_PER_SEED = 1500


def try_file(data: bytes) -> str:
    """Open and use a data file; the code of the error, or `sound`."""
    try:
        for blob in open_data_file(data).blobs.values():
            assert blob.layout is None or blob.layout.size_bytes <= len(bytes(blob.data))
    except ProgramError as refused:
        error = refused
    else:
        return "sound"
    assert error.code in PROGRAM_ERROR_CODES
    assert error.region
    return error.code


class TestMutations:
    """A data file with changed bytes is refused with a typed error, or is sound."""

    @pytest.mark.parametrize("seed", SEEDS)
    def test_mutants_raise_only_program_errors(self, seed: str) -> None:
        original, rng = (EXPORTS / f"{seed}.ptd").read_bytes(), random.Random(seed)
        outcomes = set()
        for _ in range(MUTANTS_PER_SEED):
            data = bytearray(original)
            rng.choice(MUTATIONS)(data, rng)
            outcomes.add(try_file(bytes(data)))
        assert outcomes >= {"sound", "truncated", "bad-vtable", "not-a-data-file"}

    @pytest.mark.parametrize("code", ["<I", "<Q"])
    @pytest.mark.parametrize("seed", SEEDS)
    def test_every_word_may_be_extreme(self, seed: str, code: str) -> None:
        original, size = (EXPORTS / f"{seed}.ptd").read_bytes(), struct.calcsize(code)
        outcomes = set()
        for position in range(0, len(original) - size, size):
            for extreme in EXTREMES[code]:
                data = bytearray(original)
                struct.pack_into(code, data, position, extreme)
                outcomes.add(try_file(bytes(data)))
        assert outcomes >= {"sound", "truncated", "bad-header"}

    @pytest.mark.parametrize("seed", SEEDS)
    def test_every_prefix_is_refused(self, seed: str) -> None:
        data = (EXPORTS / f"{seed}.ptd").read_bytes()
        assert "sound" not in {try_file(data[:size]) for size in range(len(data))}

    @given(st.binary(max_size=200), st.booleans())
    @settings(max_examples=200, deadline=None)
    def test_arbitrary_bytes_are_refused(self, data: bytes, has_identifier: bool) -> None:
        if has_identifier:
            data = data[:4] + b"FT01FH01" + data[12:]
        assert try_file(data) != "sound"
