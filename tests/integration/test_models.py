"""Well-known architectures with random weights, as ExecuTorch exported them, against eager PyTorch."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from model_cases import DATA, assert_model_close, recorded_calls

from etconfig import Method
from etconfig.kernels import builtin_kernels
from etconfig.numpy_executor import load_method
from etconfig.program.program import open_program

KERNELS = builtin_kernels()
RECORDS = json.loads((DATA / "architectures.json").read_text())["programs"]


def load(name: str) -> Method:
    return load_method(open_program(DATA / f"{name}.pte"), "forward", KERNELS, {})


def execute(method: Method, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    outputs = method.execute(inputs)
    assert all(isinstance(each, np.ndarray) for each in outputs)
    return outputs


class TestArchitectures:
    """The outputs of a program equal those of PyTorch, call by call."""

    @pytest.mark.parametrize("name", RECORDS)
    def test_outputs_equal_those_of_pytorch(self, name: str) -> None:
        method = load(name)
        for inputs, expected in recorded_calls(name):
            assert_model_close(execute(method, inputs), expected)

    @pytest.mark.parametrize("name", RECORDS)
    def test_operators_are_the_recorded_ones(self, name: str) -> None:
        plan = open_program(DATA / f"{name}.pte").plan("forward")
        recorded = RECORDS[name]["forward"]["operators"]
        assert [operator.full_name for operator in plan.operators] == recorded

    def test_every_program_is_recorded(self) -> None:
        assert {path.stem for path in DATA.glob("*.pte")} == set(RECORDS)


class TestKeyValueCache:
    """Every Method has a cache of its own, kept from execute to execute."""

    def test_earlier_executes_change_the_outputs(self) -> None:
        calls = recorded_calls("llama")
        with_history, without = load("llama"), load("llama")
        for inputs, _ in calls[:-1]:
            with_history.execute(inputs)
        inputs, expected = calls[-1]
        assert_model_close(execute(with_history, inputs), expected)
        assert np.abs(execute(without, inputs)[0] - expected[0]).max() > 0.01

    def test_methods_that_take_turns_do_not_affect_each_other(self) -> None:
        methods = [load("llama_dynamic") for _ in range(2)]
        for inputs, expected in recorded_calls("llama_dynamic"):
            for method in methods:
                assert_model_close(execute(method, inputs), expected)
