"""The conformance kit, and the values that the C++ code accepts."""

import pytest
from tensorrt_schema.plugin import SPEC, TensorRTOptions

from etconfig.conformance import BackendConformance
from etconfig.plugin.v1 import EXECUTORCH, CompileSpecs, wire_options


class TestTensorRT(BackendConformance):
    backend = "TensorRTBackend"
    level = 0


@pytest.mark.parametrize("budget", [0, 2**31, 80 * 2**30, 2**63 - 1])
def test_every_budget_is_sent_as_digits(budget: int) -> None:
    wired, problems = wire_options(SPEC.id, TensorRTOptions(weight_streaming_budget=budget), EXECUTORCH)
    assert [(each.key, each.value) for each in wired] == [("weight_streaming_budget", str(budget))]
    assert problems == []


def test_nothing_is_sent_for_the_automatic_budget() -> None:
    assert wire_options(SPEC.id, TensorRTOptions(), EXECUTORCH) == ([], [])


@pytest.mark.parametrize("budget", [-1, True, 1.0, "1"])
def test_other_values_are_refused(budget: object) -> None:
    with pytest.raises(ValueError, match="weight_streaming_budget"):
        TensorRTOptions(weight_streaming_budget=budget)


def test_the_program_may_fix_it() -> None:
    specs = CompileSpecs([("weight_streaming_budget", b"1048576")])
    assert SPEC.from_program(specs) == {"weight_streaming_budget": 1048576}
