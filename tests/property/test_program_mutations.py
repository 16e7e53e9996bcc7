"""Damaged files: any bytes are a sound file or give a ProgramError with a code and a byte."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy  # noqa: F401  plans are read by columns only where numpy is in use
import pytest
from effort import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import DATA, EXTREMES, LARGE_FILES, MUTATIONS, SMALL_FILES, mutants, sharded
from opening import outcome

from etconfig.errors import ProgramError
from etconfig.program.bulk import table_columns as columns
from etconfig.program.program import open_program

PROGRAMS = sorted((DATA / "programs").glob("*.pte"))
OUTDATED = DATA / "older" / "0.6.0_external.ptd"
"""Of a release whose data files are refused."""
INTACT = [path for path in SMALL_FILES if path != OUTDATED]
WHOLE_SCHEMA = [DATA / "programs" / "mutable_buffers.pte", DATA / "exports" / "bundled.bpte"]
WHOLE_SCHEMA.append(DATA / "exports" / "external_constants.ptd")


def reading(data: bytes, monkeypatch: pytest.MonkeyPatch, is_bulk: bool) -> object:
    """Return all plans, or the error; read by columns where possible, or table by table."""
    for name in ("MIN_ROWS", "MIN_LIKE_ROWS"):
        monkeypatch.setattr(columns, name, 1 if is_bulk else 10**9)
    try:
        program = open_program(data)
        return [program.plan(name) for name in program.method_names]
    except ProgramError as error:
        return type(error), str(error), error.code, error.region, error.offset


def both_ways(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    by_columns, by_tables = (reading(data, monkeypatch, is_bulk) for is_bulk in (True, False))
    assert by_columns == by_tables
    assert repr(by_columns) == repr(by_tables)  # types differ between 1, True and numpy's 1


class TestColumns:
    """Reading by columns and reading table by table give the same plans and the same refusals."""

    @pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
    def test_both_ways_read_the_same(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        both_ways(path.read_bytes(), monkeypatch)
        for data in [*mutants(path)][:100]:
            both_ways(data, monkeypatch)

    @pytest.mark.parametrize("path", sharded(LARGE_FILES), ids=lambda path: path.stem)
    def test_both_ways_read_the_same_of_a_large_program(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for data in [*mutants(path)][:10]:
            both_ways(data, monkeypatch)

    def test_columns_read_every_plan_of_the_corpus(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> object:
            raise AssertionError("a plan was read table by table")

        monkeypatch.setattr("etconfig.program.value_reader.ValueReader._read_type", refuse)
        for path in PROGRAMS:
            assert isinstance(reading(path.read_bytes(), monkeypatch, True), list)


class TestMutations:
    """A file with changed bytes is refused with a typed error, or is sound."""

    @pytest.mark.parametrize("path", INTACT, ids=lambda path: path.name)
    def test_mutants_of_small_files(self, path: Path) -> None:
        outcomes = {outcome(data, path.suffix) for data in mutants(path)}
        assert outcomes >= {"sound", "truncated"}
        assert len(outcomes) > 5  # the mutants reach more than the first check

    @pytest.mark.parametrize("path", LARGE_FILES, ids=lambda path: path.stem)
    def test_mutants_of_programs_that_are_read_by_columns(self, path: Path) -> None:
        assert "sound" in {outcome(data) for data in mutants(path)}

    @pytest.mark.parametrize("code", ["<I", "<Q"])
    @pytest.mark.parametrize("path", WHOLE_SCHEMA, ids=lambda path: path.name)
    def test_every_word_may_be_extreme(self, path: Path, code: str) -> None:
        """So each offset, size, length and index takes every extreme value."""
        original, size = path.read_bytes(), struct.calcsize(code)
        outcomes = set()
        for position in sharded(range(0, len(original) - size, size)):
            for extreme in EXTREMES[code]:
                data = bytearray(original)
                struct.pack_into(code, data, position, extreme)
                outcomes.add(outcome(bytes(data), path.suffix))
        assert outcomes >= {"sound", "truncated", "bad-vtable"}

    @pytest.mark.parametrize("path", INTACT, ids=lambda path: path.name)
    def test_every_prefix_is_refused_unless_it_lacks_only_padding(self, path: Path) -> None:
        data = path.read_bytes()
        sizes = sharded(range(len(data)))
        sound = [size for size in sizes if outcome(data[:size], path.suffix) == "sound"]
        assert not any(any(data[size:]) for size in sound)
        assert len(sound) < 16

    def test_mutants_of_a_file_of_another_release(self) -> None:
        assert "unsupported-version" in {outcome(data, ".ptd") for data in mutants(OUTDATED)}

    @given(
        st.binary(max_size=200),
        st.sampled_from([("", b""), (".pte", b"ET12"), (".ptd", b"FT01FH01"), (".bpte", b"BP08")]),
    )
    @settings(max_examples=scaled(400), deadline=None)
    def test_arbitrary_bytes_are_refused(self, data: bytes, kind: tuple[str, bytes]) -> None:
        suffix, identifier = kind
        assert outcome(data[:4] + identifier + data[4 + len(identifier) :], suffix) != "sound"


def test_the_seeds_are_many_and_of_all_kinds() -> None:
    assert len(SMALL_FILES) >= 40
    assert len(LARGE_FILES) >= 20
    assert {path.suffix for path in SMALL_FILES} == {".pte", ".ptd", ".bpte"}
    random_source = random.Random(1)
    for mutate in MUTATIONS:
        data = bytearray(PROGRAMS[0].read_bytes())
        mutate(data, random_source)
        assert bytes(data) != PROGRAMS[0].read_bytes()
