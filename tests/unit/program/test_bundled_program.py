"""Bundled programs (.bpte): their contents, and every way in which one may be malformed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace as Pte
from typing import NamedTuple

import pytest

from etconfig.errors import ProgramError
from etconfig.program.bundled import BundledTensor
from etconfig.program.program import Verification, open_program
from etconfig.program.source import LoadMode

EXPORTS = Path(__file__).parents[2] / "data" / "exports"
BUNDLED = EXPORTS / "bundled.bpte"


class TestContents:
    """A bundled program opens as the program in it, with the recorded cases."""

    def test_a_bundle_that_executorch_wrote(self) -> None:
        program = open_program(BUNDLED)
        assert program.method_names == ("forward", "sine")
        assert program.size_bytes < BUNDLED.stat().st_size
        assert {method: len(cases) for method, cases in program.bundled_cases.items()} == {
            "forward": 3,
            "sine": 1,
        }
        (tensor,) = program.bundled_cases["sine"][0].inputs
        assert isinstance(tensor, BundledTensor)
        assert (str(tensor.layout), len(tensor.data)) == ("float32 (2,)", 8)
        assert tensor.data.readonly

    def test_another_program_has_no_cases(self) -> None:
        assert not open_program(EXPORTS / "grow.pte").bundled_cases

    def test_numbers_are_recorded_as_they_are(self, pte: Pte) -> None:
        numbers = [
            pte.union("Value", pte.table(kind, **{field: value}))
            for kind, field, value in (
                ("Int", "int_val", -3),
                ("Bool", "bool_val", True),
                ("Double", "double_val", 0.5),
            )
        ]
        program = open_program(pte.write_bundle(pte.suite(*numbers), program=pte.write(pte.plan())))
        assert program.bundled_cases["forward"][0] == ((-3, True, 0.5), ())

    def test_a_view_is_recorded_with_its_whole_storage(self, pte: Pte) -> None:
        suite = pte.suite(pte.recorded(data=bytes(100)))
        program = open_program(pte.write_bundle(suite, program=pte.write(pte.plan())))
        (tensor,) = program.bundled_cases["forward"][0].inputs
        assert len(tensor.data) == 8

    def test_a_tensor_without_elements_needs_no_data(self, pte: Pte) -> None:
        suite = pte.suite(pte.recorded(sizes=[0], data=None))
        program = open_program(pte.write_bundle(suite, program=pte.write(pte.plan())))
        assert program.bundled_cases["forward"][0].inputs[0].data == b""


class Case(NamedTuple):
    """A file, and the text of the error that opening it raises; the code is at its end."""

    name: str
    build: Callable[[Pte], bytes]
    text: str


def recorded(**fields: object) -> Callable[[Pte], bytes]:
    return lambda pte: pte.write_bundle(pte.suite(pte.recorded(**fields)))


INPUT = "root.method_test_suites[0].test_cases[0].inputs[0]"
CASES = [
    Case(
        "no program",
        lambda pte: pte.write_bundle(program=None),
        "root.program at byte 20: the field is required, but absent [missing-field]",
    ),
    Case(
        "misaligned program",
        lambda pte: pte.write_bundle(program=bytes(8), shift=4),
        "root.program at byte 52: the program is not aligned to 16 bytes [misaligned]",
    ),
    Case(
        "an empty program",
        lambda pte: pte.write_bundle(program=bytes(8)),
        "file at byte 48: expected an ExecuTorch program (.pte), which has 'ET12' at byte 4, found bytes "
        "that begin with 00 00 00 00 00 00 00 00 [not-a-program]",
    ),
    Case(
        "a method twice",
        lambda pte: pte.write_bundle(pte.suite(), pte.suite()),
        "root.method_test_suites[1].method_name at byte 132: another suite is for method 'forward' "
        "[duplicate-name]",
    ),
    Case(
        "no method name",
        lambda pte: pte.write_bundle(pte.suite(method_name=None)),
        "root.method_test_suites[0].method_name at byte 52: the field is required, but absent "
        "[missing-field]",
    ),
    Case(
        "an empty value",
        lambda pte: pte.write_bundle(pte.suite(pte.table("Value", val_type=1))),
        f"{INPUT}.val at byte 124: the field is required, but absent [missing-field]",
    ),
    Case(
        "an unknown value",
        lambda pte: pte.write_bundle(
            pte.suite(pte.table("Value", val_type=9, val=pte.table("Int", int_val=1)))
        ),
        f"{INPUT}.val_type at byte 124: this version does not know val_type 9 [unknown-value]",
    ),
    Case(
        "an unknown type",
        recorded(scalar_type=99),
        f"{INPUT}.val.scalar_type at byte 148: this version does not know scalar_type 99 [unknown-value]",
    ),
    Case(
        "negative size",
        recorded(sizes=[-1]),
        f"{INPUT}.val.sizes at byte 148: [-1] holds a negative size [negative-size]",
    ),
    Case(
        "too few bytes",
        recorded(sizes=[2**31 - 1]),
        f"{INPUT}.val.data at byte 188: needs 8589934588 bytes, but only 8 are there [truncated]",
    ),
    Case(
        "no bytes",
        recorded(data=None),
        f"{INPUT}.val.data at byte 148: needs 8 bytes, but only 0 are there [truncated]",
    ),
]


class TestLargeFiles:
    """Of a large file, the program is read in parts, on first use."""

    @pytest.fixture
    def large(self, pte: Pte) -> bytes:
        """A bundle with a case, and with a program that has a payload of 1 MiB."""
        program = pte.write(pte.plan(), payloads=[bytes(range(256)) * 4096])
        return bytes(pte.write_bundle(pte.suite(pte.recorded(data=b"ABCDEFGH")), program=program))

    def test_it_reads_the_same_from_a_path(self, large: bytes, tmp_path: Path) -> None:
        path = tmp_path / "large.bpte"
        path.write_bytes(large)
        for mode in LoadMode.File, LoadMode.Mmap:
            program = open_program(path, load_mode=mode)
            (tensor,) = program.bundled_cases["forward"][0].inputs
            assert isinstance(tensor, BundledTensor)
            assert tensor.data == b"ABCDEFGH"
            assert program.whole() == open_program(large).whole()
            assert program.segments == open_program(large).segments

    def test_a_damaged_one_is_refused_in_the_same_words(self, large: bytes, tmp_path: Path) -> None:
        generator = random.Random(5)
        ends = [*range(300), *range(len(large) - 300, len(large))]
        path = tmp_path / "damaged.bpte"
        refusals = 0
        for _ in range(300):
            damaged = bytearray(large)
            for at in generator.sample(ends, 2):
                damaged[at] ^= 1 << generator.randrange(8)
            path.write_bytes(damaged)
            given = [_outcome(bytes(damaged), ""), _outcome(path, f"{path}: ")]
            assert given[0] == given[1]
            refusals += given[0] is not None
        assert refusals > 50


def _outcome(source: bytes | Path, prefix: str) -> str | None:
    """Return the text of the refusal of a file, without its name, or None."""
    try:
        open_program(source).whole()
    except ProgramError as error:
        return str(error).removeprefix(prefix)
    return None


class TestRefusals:
    """A bundled program is verified when it is opened; offsets count from the start of the whole file."""

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
    def test_the_text_names_the_problem_and_the_byte(self, pte: Pte, case: Case) -> None:
        with pytest.raises(ProgramError) as caught:
            open_program(case.build(pte))
        assert caught.value.message == case.text

    @pytest.mark.parametrize("verification", Verification)
    def test_an_error_in_the_program_is_placed_in_the_file(
        self, pte: Pte, verification: Verification, tmp_path: Path
    ) -> None:
        program = pte.write(pte.plan(inputs=[0]))
        with pytest.raises(ProgramError) as alone:
            open_program(program)
        path = tmp_path / "broken.bpte"
        path.write_bytes(pte.write_bundle(program=program))
        with pytest.raises(ProgramError) as bundled:
            open_program(path, verification=verification).plan("forward")
        start = path.read_bytes().index(program)
        assert start > 0
        assert alone.value.offset is not None
        assert bundled.value.offset == start + alone.value.offset
        assert bundled.value.path == str(path)
