"""Steps of several passes, which a block runs one by one."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from plans import KERNELS, PlanBuilder, floats

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import KernelArgumentError
from etconfig.kernel.registry import Kernel, Step
from etconfig.kernel.steps import ArrayCall, Copy, MakeAlias, StepSequence, may_resize, runnable
from etconfig.kernel.tensor import Tensor
from etconfig.tracing import RecordingTracer

NEG, RELU = "aten::neg.out", "aten::relu.out"


def two_calls(first_pass: Step, second_pass: Step) -> tuple[PlanBuilder, dict[str, Kernel]]:
    """A plan whose first call is bound to two passes, and its kernels."""

    def bind(x: Tensor, out: Tensor) -> Step:
        return StepSequence(first_pass, second_pass)

    builder = PlanBuilder()
    x, between, out = (builder.tensor(2) for _ in range(3))
    builder.inputs, builder.outputs = [x], [between, out]
    builder.call(NEG, x, between, between)
    builder.call(RELU, x, out, out)
    return builder, {**KERNELS, NEG: Kernel((NEG,), bind)}


def fail() -> None:
    raise ValueError("no")


class TestStepSequence:
    """One step in a plan may be several in a block."""

    def test_steps_run_in_order_even_if_nested(self) -> None:
        ran: list[int] = []
        add = ran.append
        first, second, third = (lambda number=number: add(number) for number in range(3))
        passes = StepSequence(first, StepSequence(second, StepSequence(third)))
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


class TestArrayCall:
    """A call on arrays is data that runs."""

    def test_it_gives_the_function_and_its_operands(self) -> None:
        x, out = np.ones(3), np.zeros(3)
        call = ArrayCall(np.add, x, 1, out=out)
        call()
        assert (call.function, call.operands, call.keywords) == (np.add, (x, 1), {"out": out})
        assert out.tolist() == [2, 2, 2]

    def test_a_plain_partial_runs_in_its_place(self) -> None:
        x = np.ones(3)
        plain = runnable(ArrayCall(np.add, x, 1, out=x))
        assert type(plain) is partial
        assert (plain.func, plain.args, plain.keywords) == (np.add, (x, 1), {"out": x})
        assert runnable(fail) is fail

    def test_a_copy_knows_its_source_and_its_target(self) -> None:
        target, source = np.zeros(3), np.ones(3)
        copy = Copy(target, source)
        copy()
        assert copy.target is target
        assert copy.source is source
        assert target.tolist() == [1, 1, 1]


class TestMayResize:
    """Only a step that says that it calls a function on arrays gives no tensor another shape for sure."""

    def test_calls_on_arrays_do_not(self) -> None:
        x = np.ones(3)
        call = ArrayCall(np.add, x, 1, x)
        assert not any(map(may_resize, [call, Copy(x, x), StepSequence(call, Copy(x, x)), StepSequence()]))

    def test_any_other_step_may(self) -> None:
        x = np.ones(3)
        plain = partial(np.add, x, 1, x)
        assert all(map(may_resize, [plain, fail, lambda: None, StepSequence(Copy(x, x), plain)]))


def test_an_alias_gets_the_same_token_each_time() -> None:
    tensor = Tensor(ScalarType.FLOAT, (3,), (0,), None)
    make = MakeAlias(tensor, np.ones(3, np.float32))
    make()
    assert tensor.array is make.array
    assert tensor.token is make.token
    assert tensor.is_alias
