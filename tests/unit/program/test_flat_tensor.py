"""Data files (.ptd): their contents, and every way in which one may be malformed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace as Pte
from typing import NamedTuple

import numpy as np
import pytest

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import MissingDataError, NotAProgramError, ProgramError
from etconfig.program.flat_tensor import DataFile, open_data_file
from etconfig.program.limits import Limits
from etconfig.program.program import Program, open_program
from etconfig.program.source import LoadMode
from etconfig.program.tensor_reader import TensorLayout

EXPORTS = Path(__file__).parents[2] / "data" / "exports"
WEIGHT = "second.weight"
LAYERS = EXPORTS / "external_constants"


class TestContents:
    """A data file has each blob under its key, with the layout of a tensor."""

    def test_tensors_that_executorch_exported(self) -> None:
        file = open_data_file(LAYERS.with_suffix(".ptd"))
        assert {key: str(blob.layout) for key, blob in file.blobs.items()} == {
            "first.bias": "float32 (4,)",
            "second.weight": "float32 (4, 4)",
            "second.bias": "float32 (4,)",
        }
        assert [len(blob.data) for blob in file.blobs.values()] == [16, 64, 16]
        assert (file.version, file.size_bytes) == (0, 784)
        assert repr(file) == f"<DataFile {LAYERS}.ptd: 784 bytes, 3 keys>"

    def test_blobs_of_a_delegate_are_not_tensors(self) -> None:
        file = open_data_file((EXPORTS / "external_delegate.ptd").read_bytes())
        assert [blob.layout for blob in file.blobs.values()] == [None] * 3
        assert repr(file) == "<DataFile in memory: 784 bytes, 3 keys>"

    def test_a_layout_describes_itself(self) -> None:
        layout = TensorLayout(ScalarType.HALF, (2, 3), (1, 0))
        assert (str(layout), layout.size_bytes) == ("float16 (2, 3) in dim order (1, 0)", 12)

    def test_data_are_views_and_read_only(self) -> None:
        buffer = LAYERS.with_suffix(".ptd").read_bytes()
        data = open_data_file(buffer).blobs[WEIGHT].data
        assert data.readonly
        assert data.obj is buffer

    def test_keys_may_share_a_segment(self, pte: Pte) -> None:
        file = open_data_file(pte.write_data_file(pte.named("a"), pte.named("b")))
        assert file.blobs["a"].data == file.blobs["b"].data == bytes(8)

    def test_an_empty_file_is_a_data_file(self, pte: Pte) -> None:
        assert not open_data_file(pte.write_data_file(payloads=())).blobs

    def test_a_mapped_file_reads_the_same(self) -> None:
        path = LAYERS.with_suffix(".ptd")
        mapped, copied = (
            open_data_file(path, load_mode=mode).blobs for mode in (LoadMode.Mmap, LoadMode.File)
        )
        assert [*mapped] == [*copied]
        for key, blob in mapped.items():
            assert (blob.data, blob.layout) == (copied[key].data, copied[key].layout)


class Case(NamedTuple):
    """A file, and the text of the error that opening it raises; the code is at its end."""

    name: str
    build: Callable[[Pte], bytes]
    text: str


def entry(**fields: object) -> Callable[[Pte], bytes]:
    return lambda pte: pte.write_data_file(pte.named(**fields))


def headed(**header: int) -> Callable[[Pte], bytes]:
    return lambda pte: pte.write_data_file(pte.named(), header=header)


CASES = [
    Case(
        "other identifier",
        lambda pte: pte.write_data_file(identifier=b"FT99"),
        "file at byte 0: expected an ExecuTorch data file (.ptd), which has 'FT01' at byte 4, "
        "found bytes that begin with 3c 00 00 00 46 54 39 39 46 48 30 31 28 00 00 00 [not-a-data-file]",
    ),
    Case(
        "no header",
        lambda pte: pte.write_data_file(magic=b"FH99"),
        "data header at byte 8: a data file has 'FH01' at byte 8 [bad-header]",
    ),
    Case(
        "short header",
        headed(length=39),
        "data header at byte 12: its length is 39, at least 40 is needed [bad-header]",
    ),
    Case(
        "header inside the tables",
        headed(offset=0, size=47),
        "data header at byte 16: the tables end at 47, which leaves no room for the header [bad-header]",
    ),
    Case(
        "tables past the end",
        headed(size=2**64 - 1),
        f"data header at byte 0: needs {2**64 + 47} bytes, but only 216 are there [truncated]",
    ),
    Case(
        "segments inside the tables",
        headed(base=100),
        "data header at byte 32: the segments start at 100, inside the tables, which end at 208 [bad-header]",
    ),
    Case(
        "segments past the end",
        headed(segment_bytes=2**63),
        f"segments at byte 208: needs {2**63} bytes, but only 8 are there [truncated]",
    ),
    Case(
        "a segment past all segments",
        lambda pte: pte.write_data_file(segments=[pte.table("DataSegment", offset=4, size=8)]),
        "root.segments[0] at byte 132: needs 8 bytes, but only 4 are there [truncated]",
    ),
    Case(
        "segments that overlap",
        lambda pte: pte.write_data_file(
            segments=[pte.table("DataSegment", offset=offset, size=4) for offset in (0, 2)]
        ),
        "root.segments[1] at byte 162: it starts before segments[0] ends, at 164 [overlapping-segments]",
    ),
    Case(
        "no key",
        lambda pte: pte.write_data_file(pte.table("FlatNamedData", segment_index=0)),
        "root.named_data[0].key at byte 132: the field is required, but absent [missing-field]",
    ),
    Case(
        "a key twice",
        lambda pte: pte.write_data_file(pte.named("w"), pte.named("w")),
        "root.named_data[1].key at byte 212: another blob is named 'w' [duplicate-name]",
    ),
    Case(
        "no such segment",
        entry(segment_index=1),
        "root.named_data[0].segment_index at byte 132: 1 is not an index into segments, expected 0 to 0 "
        "[index-out-of-range]",
    ),
    Case(
        "unknown type",
        entry(scalar_type=99),
        "root.named_data[0].tensor_layout.scalar_type at byte 164: this version does not know scalar_type 99 "
        "[unknown-value]",
    ),
    Case(
        "no sizes",
        entry(sizes=None),
        "root.named_data[0].tensor_layout.sizes at byte 164: the field is required, but absent "
        "[missing-field]",
    ),
    Case(
        "negative size",
        entry(sizes=[-2]),
        "root.named_data[0].tensor_layout.sizes at byte 164: [-2] holds a negative size [negative-size]",
    ),
    Case(
        "rank 17",
        entry(sizes=[1] * 17, dim_order=list(range(17))),
        "root.named_data[0].tensor_layout.sizes at byte 164: the tensor has 17 dimensions, at most 16 are "
        "supported [rank-too-large]",
    ),
    Case(
        "dim order",
        entry(dim_order=[1]),
        "root.named_data[0].tensor_layout.dim_order at byte 164: [1] is not a permutation of the tensor's 1 "
        "dimensions [bad-dim-order]",
    ),
    Case(
        "too few bytes",
        entry(sizes=[2**31 - 1]),
        "root.named_data[0].tensor_layout at byte 208: needs 8589934588 bytes, but only 8 are there "
        "[truncated]",
    ),
    Case(
        "misaligned",
        lambda pte: pte.write_data_file(pte.named("w", 1), payloads=(b"x", bytes(8))),
        "root.named_data[0].tensor_layout at byte 241: the data are not aligned to float32 [misaligned]",
    ),
]


class TestRefusals:
    """A data file is verified when it is opened; errors say what is wrong, and at which byte."""

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
    def test_the_text_names_the_problem_and_the_byte(self, pte: Pte, case: Case) -> None:
        with pytest.raises(ProgramError) as caught:
            open_data_file(case.build(pte))
        assert caught.value.message == case.text

    def test_errors_name_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "w.ptd"
        path.write_bytes(LAYERS.with_suffix(".ptd").read_bytes()[:200])
        with pytest.raises(ProgramError, match=rf"^{path}: data header at byte 0: needs"):
            open_data_file(path)
        with pytest.raises(ProgramError, match=rf"^{path}: data header at byte 0: needs"):
            open_program(LAYERS.with_suffix(".pte"), data=path)

    def test_a_program_is_not_a_data_file(self) -> None:
        with pytest.raises(NotAProgramError) as caught:
            open_data_file(LAYERS.with_suffix(".pte"))
        assert caught.value.found == "an ExecuTorch program (.pte)"
        assert caught.value.help == "give the .ptd that was exported with it"

    def test_a_bundled_program_is_not_a_data_file(self) -> None:
        with pytest.raises(NotAProgramError) as caught:
            open_data_file(EXPORTS / "bundled.bpte")
        assert caught.value.found == "a bundled program (.bpte)"
        assert caught.value.help == "give it as the program"

    def test_a_data_file_is_not_a_program(self) -> None:
        with pytest.raises(NotAProgramError) as caught:
            open_program(LAYERS.with_suffix(".ptd"))
        assert caught.value.help == "give the program (.pte) that uses it, and this file as data"

    def test_limits_apply_to_data_files_too(self) -> None:
        with pytest.raises(ProgramError, match="a file of 784 bytes exceeds the limit of 700"):
            open_data_file(LAYERS.with_suffix(".ptd"), limits=Limits(max_file_bytes=700))


def open_layers(*data: DataFile | Path) -> Program:
    return open_program(LAYERS.with_suffix(".pte"), data=data)


class TestExternalTensors:
    """A program finds its external tensors in the data files opened with it."""

    def test_all_are_found_by_name(self) -> None:
        program = open_layers(LAYERS.with_suffix(".ptd"))
        tensors = program.external_tensors(program.plan("forward"))
        assert {key: len(data) for key, data in tensors.items()} == {
            "first.bias": 16,
            "second.weight": 64,
            "second.bias": 16,
        }
        assert np.frombuffer(tensors[WEIGHT], np.float32).any()

    def test_one_source_needs_no_list_and_an_open_file_is_shared(self) -> None:
        path = LAYERS.with_suffix(".ptd")
        file = open_data_file(path)
        for data in (path, str(path), path.read_bytes(), file, [file]):
            program = open_program(LAYERS.with_suffix(".pte"), data=data)
            assert len(program.external_tensors(program.plan("forward"))) == 3
        assert program.data_files == (file,)

    def test_without_data_the_program_opens_and_the_error_lists_all_missing_keys(self) -> None:
        program = open_layers()
        with pytest.raises(MissingDataError) as caught:
            program.external_tensors(program.plan("forward"))
        assert str(caught.value) == (
            f"{LAYERS}.pte: method 'forward': the data of 3 tensor(s) lie outside the program, and no data "
            "file was given: 'first.bias', 'second.weight', 'second.bias' [missing-external-data]; give the "
            ".ptd that was exported with the program: data=[...], or --data FILE.ptd"
        )
        assert pickle.loads(pickle.dumps(caught.value)).keys == caught.value.keys

    def test_an_error_about_missing_data_names_the_data_files(self) -> None:
        biases = EXPORTS / "external_two_files_biases.ptd"
        program = open_layers(biases)
        with pytest.raises(
            MissingDataError, match=rf"1 tensor\(s\) .* none is in {biases}: 'second\.weight'"
        ):
            program.external_tensors(program.plan("forward"))

    def test_data_may_be_split_over_several_files(self) -> None:
        parts = [EXPORTS / f"external_two_files_{part}.ptd" for part in ("weights", "biases")]
        program = open_layers(*parts)
        whole = open_layers(LAYERS.with_suffix(".ptd"))
        plan = program.plan("forward")
        assert program.external_tensors(plan) == whole.external_tensors(plan)

    def test_a_key_in_two_files_is_refused(self) -> None:
        first, second = LAYERS.with_suffix(".ptd"), EXPORTS / "external_two_files_weights.ptd"
        with pytest.raises(ProgramError) as caught:
            open_layers(first, second)
        assert str(caught.value) == (
            f"{second}: named_data: 'second.weight' is stored in {first} as well [duplicate-name]; "
            "give only one of them"
        )

    def test_a_key_in_the_program_and_in_a_file_is_refused(self, pte: Pte) -> None:
        named_data = [pte.table("NamedData", key="w", segment_index=0)]
        program = pte.write(pte.plan(), payloads=[b"x"], named_data=named_data)
        with pytest.raises(ProgramError, match="'w' is stored in the program as well"):
            open_program(program, data=pte.write_data_file(pte.named("w")))

    @pytest.mark.parametrize(
        ("layout", "found"),
        [
            ({"scalar_type": 7, "sizes": [1]}, "float64 (1,)"),
            ({"sizes": [1]}, "float32 (1,)"),
            ({"sizes": [1, 2], "dim_order": [0, 1]}, "float32 (1, 2)"),
        ],
    )
    def test_another_type_or_shape_is_refused(self, pte: Pte, layout: dict[str, object], found: str) -> None:
        program = open_program(self.external(pte), data=pte.write_data_file(pte.named("w", **layout)))
        with pytest.raises(ProgramError) as caught:
            program.external_tensors(program.plan("forward"))
        assert caught.value.message == (
            f"tensor 'w': the program expects float32 (2,), but data in memory has {found} "
            "[external-data-mismatch]"
        )

    def test_opaque_bytes_are_not_a_tensor(self, pte: Pte) -> None:
        entry = pte.table("FlatNamedData", key="w", segment_index=0)
        program = open_program(self.external(pte), data=pte.write_data_file(entry))
        with pytest.raises(ProgramError, match="but data in memory has bytes that are not a tensor"):
            program.external_tensors(program.plan("forward"))

    def test_the_program_has_the_named_data_of_all_files(self) -> None:
        program = open_program(EXPORTS / "external_delegate.pte", data=EXPORTS / "external_delegate.ptd")
        assert sorted(map(len, program.named_data.values())) == [16, 16, 64]

    def test_an_error_about_a_missing_key_says_where_it_was_looked_for(self, pte: Pte) -> None:
        named_data = open_program(pte.write(pte.plan()), data=pte.write_data_file(pte.named("w"))).named_data
        assert ("w" in named_data, "v" in named_data, named_data.get("v")) == (True, False, None)
        with pytest.raises(KeyError) as caught:
            named_data["v"]
        (text,) = caught.value.args
        assert text == "'v' is neither in the program nor in one of its data files (.ptd)"

    @staticmethod
    def external(pte: Pte) -> bytes:
        extra = pte.table("ExtraTensorInfo", fully_qualified_name="w", location=1)
        data: bytes = pte.write_tensor(extra_tensor_info=extra, allocation_info=None)
        return data
