from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest

import etconfig
from etconfig.app.programs.model_needs import read_needs
from etconfig.errors import ProfileError, ProgramError
from etconfig.expression import ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.models.catalog import ModelVariant
from etconfig.models.reading import parse_models
from etconfig.profile.document import parse_document

DATA = Path(__file__).parents[2] / "data"
EXPORTS = DATA / "exports"


def variant(path: Path, data: str = "") -> ModelVariant:
    text = f"[[model.m.variants]]\nfile = '{path.name}'\n{data}"
    document = parse_document(text, "models.toml", path=path.parent / "models.toml")
    return parse_models(document, ExpressionParser(BUILTIN_FACTS)).find("m").variants[0]


def copied(directory: Path, *names: str) -> None:
    for name in names:
        source, _, target = name.partition(":")
        shutil.copy(EXPORTS / source, directory / (target or source))


class TestBackendsAndMethods:
    """The needs of a variant are read from its program."""

    def test_the_backends_are_those_of_all_delegates(self) -> None:
        assert read_needs(variant(DATA / "digits/digits_xnnpack.pte")).backends == ("XnnpackBackend",)
        assert read_needs(variant(DATA / "digits/digits_portable.pte")).backends == ()
        assert read_needs(variant(DATA / "digits/digits.pte")).backends == (
            "ReferenceCpuBackend",
            "ReferenceNpuBackend",
        )

    def test_the_portable_and_the_delegated_export_have_equal_signatures(self) -> None:
        one = read_needs(variant(DATA / "digits/digits_portable.pte")).methods
        assert one == read_needs(variant(DATA / "digits/digits_xnnpack.pte")).methods
        assert [method.name for method in one] == ["embed", "forward"]
        assert [str(each) for each in (*one[1].inputs, *one[1].outputs)] == [
            "float32 [1, 1, 8, 8]",
            "float32 [1, 10]",
        ]

    def test_dynamic_shapes_and_dim_orders_are_part_of_a_signature(self) -> None:
        (method,) = read_needs(variant(DATA / "programs/dynamic_shapes.pte")).methods
        assert {each.dynamism for each in method.inputs} == {"dynamic_bound"}
        (method,) = read_needs(variant(DATA / "programs/convolution_channels_last.pte")).methods
        assert any(" in order " in str(each) for each in (*method.inputs, *method.outputs))

    def test_a_file_that_cannot_be_read_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(ProgramError, match="No such file"):
            read_needs(variant(tmp_path / "none.pte"))
        (tmp_path / "text.pte").write_text("no program")
        with pytest.raises(ProgramError):
            read_needs(variant(tmp_path / "text.pte"))


class TestData:
    """Tensors outside the program are looked for in data files, by their names."""

    def test_a_program_without_such_tensors_needs_none(self, tmp_path: Path) -> None:
        shutil.copy(DATA / "digits/digits_portable.pte", tmp_path / "model.pte")
        copied(tmp_path, "external_constants.ptd")
        needs = read_needs(variant(tmp_path / "model.pte"))
        assert (needs.data, needs.missing_data) == ((), ())

    def test_the_file_with_the_programs_name_counts(self, tmp_path: Path) -> None:
        copied(tmp_path, "external_constants.pte", "external_constants.ptd")
        copied(tmp_path, "external_constants.ptd:copy.ptd")
        needs = read_needs(variant(tmp_path / "external_constants.pte"))
        assert [path.name for path in needs.data] == ["external_constants.ptd"]

    def test_a_backends_own_data_come_with_the_file_of_the_programs_name(self, tmp_path: Path) -> None:
        copied(tmp_path, "external_delegate.pte", "external_delegate.ptd")
        needs = read_needs(variant(tmp_path / "external_delegate.pte"))
        assert [path.name for path in needs.data] == ["external_delegate.ptd"]

    def test_other_files_beside_it_are_found_by_their_tensors(self, tmp_path: Path) -> None:
        weights, biases = "external_two_files_weights.ptd:w.ptd", "external_two_files_biases.ptd:b.ptd"
        copied(tmp_path, "external_two_files.pte", weights, biases)
        (tmp_path / "broken.ptd").write_text("no data file")
        needs = read_needs(variant(tmp_path / "external_two_files.pte"))
        assert sorted(path.name for path in needs.data) == ["b.ptd", "w.ptd"]
        assert needs.missing_data == ()

    def test_missing_data_are_named(self, tmp_path: Path) -> None:
        copied(tmp_path, "external_constants.pte")
        needs = read_needs(variant(tmp_path / "external_constants.pte"))
        assert needs.missing_data
        assert needs.data_problem is not None
        assert "no .ptd file beside it has them" in needs.data_problem
        assert repr(needs.missing_data[0]) in needs.data_problem

    def test_a_file_that_cannot_be_read_is_named_if_data_are_missing(self, tmp_path: Path) -> None:
        copied(tmp_path, "external_constants.pte")
        (tmp_path / "broken.ptd").write_text("no data file")
        problem = read_needs(variant(tmp_path / "external_constants.pte")).data_problem
        assert problem is not None
        assert "no .ptd file beside it has them; cannot read " in problem
        assert "broken.ptd: " in problem

    def test_named_files_of_a_program_without_such_tensors_must_be_there_too(self, tmp_path: Path) -> None:
        shutil.copy(DATA / "digits/digits_portable.pte", tmp_path / "model.pte")
        needs = read_needs(variant(tmp_path / "model.pte", 'data = ["none.ptd"]'))
        assert needs.missing_data == ()
        assert str(needs.data_problem).startswith("its data cannot be read")
        assert "none.ptd" in str(needs.data_problem)

    def test_two_files_with_one_tensor_are_refused(self, tmp_path: Path) -> None:
        copied(tmp_path, "external_constants.pte", "external_constants.ptd:a.ptd")
        copied(tmp_path, "external_constants.ptd:b.ptd")
        needs = read_needs(variant(tmp_path / "external_constants.pte"))
        assert needs.data == ()
        assert needs.data_problem is not None
        assert "are in a.ptd and b.ptd; name the right ones" in needs.data_problem

    def test_files_that_the_document_names_count_alone(self, tmp_path: Path) -> None:
        copied(tmp_path, "external_constants.pte", "external_constants.ptd:a.ptd")
        copied(tmp_path, "external_constants.ptd:b.ptd")
        needs = read_needs(variant(tmp_path / "external_constants.pte", 'data = ["b.ptd"]'))
        assert ([path.name for path in needs.data], needs.missing_data) == (["b.ptd"], ())
        needs = read_needs(variant(tmp_path / "external_constants.pte", "data = []"))
        assert needs.missing_data
        assert str(needs.data_problem).endswith("its data files are none")
        needs = read_needs(variant(tmp_path / "external_constants.pte", 'data = ["none.ptd"]'))
        assert str(needs.data_problem).startswith("its data cannot be read")


class TestFits:
    """A variant with `fits` needs memory; others are not asked for it."""

    def test_the_margin_is_a_share_of_the_estimated_need(self) -> None:
        installation = etconfig.Installation(DATA)
        path = DATA / "digits/digits.pte"
        with etconfig.load_program(path, installation=installation) as program:
            peak = etconfig.memory_need(program).peak.size_bytes
        needed = [
            read_needs(variant(path, data), installation).memory_bytes
            for data in ("fits = true", "fits = 0.5", "fits = 2", "fits = false", "")
        ]
        assert needed == [peak, math.ceil(1.5 * peak), 3 * peak, None, None]

    @pytest.mark.parametrize(
        ("value", "kind"),
        [
            ('"yes"', "a string"),
            ("-1", "an int"),
            ("nan", "a float"),
            ("1e9", "a float"),
            (str(2**63 - 1), "an int"),
        ],
    )
    def test_another_value_is_refused(self, value: str, kind: str) -> None:
        with pytest.raises(ProfileError) as caught:
            variant(DATA / "digits/digits.pte", f"fits = {value}")
        (problem,) = caught.value.diagnostics
        wanted = "true, false or a share from 0 to 1,000,000"
        assert problem.message == f"'model.m.variants.fits' must be {wanted}, but is {kind}"
        assert problem.help == "write fits = true, or the share of the need that shall stay free: fits = 0.2"
