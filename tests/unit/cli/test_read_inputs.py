"""Inputs of the command line, converted to what the method takes."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import click
import numpy as np
import pytest
from plans import PlanBuilder

from etconfig.base.scalar_types import ScalarType
from etconfig.cli.shared.arrays import read_inputs
from etconfig.errors import InvalidInputError
from etconfig.program.metadata import MethodMeta


def taking(*types: ScalarType) -> MethodMeta:
    builder = PlanBuilder()
    builder.inputs = [builder.tensor(2, dtype=each) for each in types]
    return MethodMeta(builder.plan())


class TestReadInputs:
    """One array for each input; for bfloat16 inputs, files contain float32."""

    def test_float32_becomes_bfloat16_where_the_method_takes_it(self, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", np.array([1, 2.5], np.float32))
        meta = taking(ScalarType.BFLOAT16, ScalarType.FLOAT)
        first, second = read_inputs([tmp_path / "x.npy"] * 2, meta)
        assert (first.dtype.name, second.dtype.name) == ("bfloat16", "float32")
        assert first.tolist() == [1, 2.5]

    def test_a_wrong_number_of_inputs_is_an_error_with_help(self) -> None:
        with pytest.raises(InvalidInputError) as caught:
            read_inputs([], taking(ScalarType.FLOAT))
        assert str(caught.value) == (
            "method 'forward', inputs: expected 1 value(s), given 0; "
            "give each with --input FILE.npy, in order, or all in an .npz as in0, in1, ..."
        )

    def test_the_header_decides_before_any_data_are_read(self, tmp_path: Path) -> None:
        """The files end after the header: an array that fits cannot be read, any other is refused."""

        def refusal(descr: str, shape: tuple[int, ...], suffix: str) -> str:
            header = io.BytesIO()
            fields = {"descr": descr, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_2_0(header, fields)
            path = tmp_path / f"x{suffix}"
            if suffix == ".npz":
                with zipfile.ZipFile(path, "w") as archive:
                    archive.writestr("in0.npy", header.getvalue())
            else:
                path.write_bytes(header.getvalue())
            with pytest.raises((InvalidInputError, click.ClickException)) as caught:
                read_inputs([path], taking(ScalarType.FLOAT))
            return type(caught.value).__name__

        for suffix in (".npy", ".npz"):
            assert refusal("<f4", (2,), suffix) == "ClickException"
            assert refusal("|O", (2,), suffix) == "ClickException"
            for descr, shape in [
                ("<f4", (2**40,)),
                ("<f4", ()),
                ("<f8", (2,)),
                ("|V1000000000", (2,)),
                (">f4", (2,)),
            ]:
                assert refusal(descr, shape, suffix) == "InvalidInputError"
