"""The stored cases are read with their types and layouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import ml_dtypes
import numpy as np
import pytest

from etconfig.backend import Capabilities
from etconfig.conformance.cases.case import Case
from etconfig.conformance.cases.stored_cases import ARRAYS, load_cases


@pytest.fixture(scope="module")
def cases() -> Mapping[str, Case]:
    return load_cases()


class TestCases:
    """Every case can be read, and states the capabilities that it needs."""

    def test_the_simplest_case_needs_only_the_defaults(self, cases: Mapping[str, Case]):
        first = next(iter(cases.values()))
        assert first.name == "add"
        assert first.dtypes <= Capabilities().dtypes
        assert not first.requires

    def test_cases_require_only_capabilities(self, cases: Mapping[str, Case]):
        flags = {field.name for field in fields(Capabilities)}
        assert {name for case in cases.values() for name in case.requires} <= flags

    def test_each_dtype_and_capability_of_programs_has_a_case(self, cases: Mapping[str, Case]):
        dtypes = {dtype for case in cases.values() for dtype in case.dtypes}
        assert dtypes == {
            *("float64", "float32", "float16", "bfloat16"),
            *("int64", "int32", "int8", "uint8", "bool"),
        }
        assert {name for case in cases.values() for name in case.requires} == {
            "supports_dynamic_shapes",
            "supports_scalars",
            "supports_zero_size",
            "uses_named_data",
        }
        assert {order for case in cases.values() for order in case.dim_orders} == {
            "contiguous",
            "channels_last",
        }

    def test_tensors_have_exactly_the_dtypes_of_the_case(self, cases: Mapping[str, Case]):
        for case in cases.values():
            values = [
                value for runs in case.runs.values() for run in runs for value in (*run.inputs, *run.outputs)
            ]
            assert {str(each.dtype) for each in values if isinstance(each, np.ndarray)} == case.dtypes

    def test_bfloat16_comes_from_ml_dtypes(self, cases: Mapping[str, Case]):
        (run, _) = cases["add_bfloat16"].runs["forward"]
        assert run.inputs[0].dtype == ml_dtypes.bfloat16
        assert run.outputs[0].tolist() == [n / 128 for n in range(1, 5)]

    def test_channels_last_tensors_have_channels_last_strides(self, cases: Mapping[str, Case]):
        (run, _) = cases["conv2d_channels_last"].runs["forward"]
        for array in (run.inputs[0], run.outputs[0]):
            _, channels, _, width = array.shape
            assert [stride // array.itemsize for stride in array.strides[1:]] == [
                1,
                width * channels,
                channels,
            ]

    def test_an_input_that_appears_twice_is_one_array(self, cases: Mapping[str, Case]):
        (first, *others) = cases["same_input_twice"].runs["forward"]
        assert first.inputs[0] is not first.inputs[1]
        assert [run.inputs[0] is run.inputs[1] for run in others] == [True, True]

    def test_every_method_has_two_runs_that_differ_unless_it_has_no_elements(self, cases: Mapping[str, Case]):
        for name, case in cases.items():
            for runs in case.runs.values():
                assert len(runs) > 1 or name == "zero_size"
                assert len({str(run.outputs) for run in runs}) == len(runs)

    def test_the_caller_may_change_the_arrays(self):
        (first, *_) = load_cases()["add"].runs["forward"]
        first.inputs[0][:] = 0
        assert load_cases()["add"].runs["forward"][0].inputs[0].any()

    def test_the_files_are_small(self):
        assert ARRAYS.stat().st_size < 100_000


class TestBetrayal:
    """A sum that is silently computed in another type gives another result."""

    @pytest.mark.parametrize(
        ("dtype", "instead"),
        [
            ("float64", "float32"),
            ("float32", "float16"),
            ("float32", "bfloat16"),
            ("float16", "bfloat16"),
            ("bfloat16", "float16"),
            ("int64", "float64"),
            ("int64", "int32"),
            ("int32", "float32"),
            ("int32", "int64"),
            ("int8", "int32"),
            ("uint8", "int32"),
            ("uint8", "int8"),
        ],
    )
    def test_another_type_gives_another_sum(self, cases: Mapping[str, Case], dtype: str, instead: str):
        case = cases["add" if dtype == "float32" else f"add_{dtype}"]
        with np.errstate(all="ignore"):
            sums = [
                (left.astype(instead) + right.astype(instead), run.outputs[0])
                for run in case.runs["forward"]
                for left, right in (run.inputs,)
            ]
        assert any((given.astype(np.float64) != wanted.astype(np.float64)).any() for given, wanted in sums)
