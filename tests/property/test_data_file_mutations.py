"""Damaged data files and bundles: whatever the bytes, only ProgramError comes out, or a sound file."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import EXTREMES, MUTATIONS

from etconfig.errors import ProgramError
from etconfig.program import PROGRAM_ERROR_CODES, BundledTensor, open_data_file, open_program

EXPORTS = Path(__file__).parents[1] / "data" / "exports"
SEEDS = sorted(path.name for path in EXPORTS.glob("*.*p*t*") if path.suffix in (".ptd", ".bpte"))
MUTANTS_PER_SEED = 1500


def use_data_file(data: bytes) -> None:
    for blob in open_data_file(data).blobs.values():
        assert blob.layout is None or blob.layout.size_bytes <= len(bytes(blob.data))


def use_bundle(data: bytes) -> None:
    for cases in open_program(data).bundled_cases.values():
        for value in (value for case in cases for values in case for value in values):
            assert not isinstance(value, BundledTensor) or value.layout.size_bytes == len(bytes(value.data))


def try_file(data: bytes, name: str) -> str:
    """Open and use a file; the code of the error, or `sound`."""
    try:
        (use_bundle if name.endswith(".bpte") else use_data_file)(data)
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
        original, rng = (EXPORTS / seed).read_bytes(), random.Random(seed)
        outcomes = set()
        for _ in range(MUTANTS_PER_SEED):
            data = bytearray(original)
            rng.choice(MUTATIONS)(data, rng)
            outcomes.add(try_file(bytes(data), seed))
        assert outcomes >= {"sound", "truncated", "bad-vtable"}
        assert len(outcomes) > 5  # the mutants reach more than the first check

    @pytest.mark.parametrize("code", ["<I", "<Q"])
    @pytest.mark.parametrize("seed", SEEDS)
    def test_every_word_may_be_extreme(self, seed: str, code: str) -> None:
        original, size = (EXPORTS / seed).read_bytes(), struct.calcsize(code)
        outcomes = set()
        for position in range(0, len(original) - size, size):
            for extreme in EXTREMES[code]:
                data = bytearray(original)
                struct.pack_into(code, data, position, extreme)
                outcomes.add(try_file(bytes(data), seed))
        assert outcomes >= {"sound", "truncated", "bad-vtable"}

    @pytest.mark.parametrize("seed", SEEDS)
    def test_every_prefix_is_refused(self, seed: str) -> None:
        data = (EXPORTS / seed).read_bytes()
        assert "sound" not in {try_file(data[:size], seed) for size in range(len(data))}

    @given(st.binary(max_size=200), st.sampled_from([("w.ptd", b"FT01FH01"), ("w.bpte", b"BP08")]))
    @settings(max_examples=300, deadline=None)
    def test_arbitrary_bytes_are_refused(self, data: bytes, kind: tuple[str, bytes]) -> None:
        name, identifier = kind
        data = data[:4] + identifier + data[4 + len(identifier) :]
        assert try_file(data, name) != "sound"
