"""Steps of several passes, which a block runs one by one."""

from __future__ import annotations

import pytest
from plans import KERNELS, PlanBuilder, floats

from etconfig.errors import KernelArgumentError
from etconfig.kernel.registry import Kernel, Step
from etconfig.kernel.steps import Passes
from etconfig.kernel.tensor import Tensor
from etconfig.tracing import RecordingTracer

NEG, RELU = "aten::neg.out", "aten::relu.out"


def two_calls(first_pass: Step, second_pass: Step) -> tuple[PlanBuilder, dict[str, Kernel]]:
    """A plan whose first call is bound to two passes, and its kernels."""

    def bind(x: Tensor, out: Tensor) -> Step:
        return Passes(first_pass, second_pass)

    builder = PlanBuilder()
    x, between, out = (builder.tensor(2) for _ in range(3))
    builder.inputs, builder.outputs = [x], [between, out]
    builder.call(NEG, x, between, between)
    builder.call(RELU, x, out, out)
    return builder, {**KERNELS, NEG: Kernel((NEG,), bind)}


def fail() -> None:
    raise ValueError("no")


class TestPasses:
    """One step in a plan may be several in a block."""

    def test_they_run_in_order_also_nested_ones(self) -> None:
        ran: list[int] = []
        add = ran.append
        first, second, third = (lambda number=number: add(number) for number in range(3))
        passes = Passes(first, Passes(second, Passes(third)))
        passes()
        assert ran == [0, 1, 2]
        assert passes.steps == (first, second, third)

    @pytest.mark.parametrize("passes", [(fail, int), (int, fail)])
    def test_an_error_in_any_pass_names_the_operator(self, passes: tuple[Step, Step]) -> None:
        builder, kernels = two_calls(*passes)
        method = builder.load(kernels=kernels)
        with pytest.raises(KernelArgumentError, match=NEG):
            method.execute([floats(1, 2)])

    def test_an_error_in_a_call_after_them_names_its_own_operator(self) -> None:
        builder, kernels = two_calls(int, int)
        kernels[RELU] = Kernel((RELU,), bind_to_failure)
        with pytest.raises(KernelArgumentError, match=RELU):
            builder.load(kernels=kernels).execute([floats(1, 2)])

    def test_they_are_one_event_of_a_trace(self) -> None:
        builder, kernels = two_calls(int, int)
        tracer = RecordingTracer()
        builder.load(kernels=kernels, tracer=tracer).execute([floats(1, 2)])
        assert [each.name for each in tracer.events if each.kind == "kernel"] == [NEG, RELU]


def bind_to_failure(x: Tensor, out: Tensor) -> Step:
    return fail
