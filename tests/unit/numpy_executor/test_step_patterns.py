"""Steps that are made from patterns: the instructions that share one, without effect on results."""

from __future__ import annotations

import numpy as np
import pytest

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import KernelArgumentError
from etconfig.kernel.memory import Scratch
from etconfig.kernel.registry import Kernel, Scalar, Step
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.numpy_executor.registers import Registers
from etconfig.numpy_executor.step_patterns import StepPatterns
from etconfig.program import model
from etconfig.program.model import TensorShapeDynamism
from tests.support.plans import FLOAT, KERNELS, PlanBuilder, floats


def counting(is_uniform: bool = True) -> tuple[dict[str, Kernel], list[object]]:
    """`out = self + number`, and the numbers that its binder was called with."""
    calls: list[object] = []

    def bind(self: Tensor, number: Scalar, out: Tensor) -> Step:
        calls.append(number)
        return ArrayCall(np.add, self.array, np.array(number, self.dtype), out.array)

    return {"test::add": Kernel(("test::add",), bind, is_uniform)}, calls


def chain(*numbers: Scalar) -> PlanBuilder:
    """Add the numbers to the input, one after the other."""
    builder = PlanBuilder()
    current = builder.tensor(2)
    builder.inputs.append(current)
    for number in numbers:
        out = builder.tensor(2)
        builder.call("test::add", current, builder.scalar(number), out, out)
        current = out
    builder.outputs.append(current)
    return builder


class TestSharing:
    """A uniform kernel binds once for instructions that agree in everything that it may depend on."""

    def test_similar_instructions_bind_the_kernel_once(self) -> None:
        kernels, calls = counting()
        method = chain(1, 1, 1).load(kernels=kernels)
        assert calls == [1]
        assert method.execute([floats(1, 2)])[0].tolist() == [4, 5]

    def test_a_kernel_that_is_not_uniform_binds_each(self) -> None:
        kernels, calls = counting(is_uniform=False)
        chain(1, 1, 1).load(kernels=kernels)
        assert calls == [1, 1, 1]

    def test_numbers_of_other_types_are_other_instructions(self) -> None:
        kernels, calls = counting()
        chain(1, True, 1.0, 0.0, -0.0, 1, True, 1.0, 0.0, -0.0).load(kernels=kernels)
        assert [repr(each) for each in calls] == ["1", "True", "1.0", "0.0", "-0.0"]

    def test_tensors_of_another_form_are_other_instructions(self) -> None:
        kernels, calls = counting()
        builder = chain(1, 1)
        number = 2
        for dtype, sizes in ((ScalarType.DOUBLE, (2,)), (FLOAT, (3,)), (FLOAT, (1, 2))):
            x, out = (builder.tensor(*sizes, dtype=dtype) for _ in range(2))
            builder.call("test::add", x, number, out, out)
        builder.load(kernels=kernels)
        assert len(calls) == 4

    def test_tensors_whose_memory_or_shape_may_change_share_nothing(self) -> None:
        builder = PlanBuilder()
        x = builder.tensor(2, dynamism=TensorShapeDynamism.DYNAMIC_BOUND)
        middle, out = (builder.tensor(2, dynamism=TensorShapeDynamism.DYNAMIC_BOUND) for _ in range(2))
        builder.inputs.append(x)
        builder.add_(x, x, middle)
        builder.add_(middle, x, out)
        builder.outputs.append(out)
        method = builder.load()
        assert method.execute([floats(1, 2)])[0].tolist() == [3, 6]
        assert method.execute([floats(5)])[0].tolist() == [15]

    def test_constants_are_another_form(self) -> None:
        kernels, calls = counting()
        builder = chain(1)
        for _ in range(2):
            weight, out = builder.constant(floats(3, 4)), builder.tensor(2)
            builder.call("test::add", weight, 2, out, out)
            builder.outputs.append(out)
        method = builder.load(kernels=kernels)
        assert calls == [1, 1]
        assert [each.tolist() for each in method.execute([floats(0, 0)])] == [[1, 1], [4, 5], [4, 5]]

    def test_constants_without_dimensions_share_nothing_since_their_data_may_count(self) -> None:
        builder = PlanBuilder()
        base = builder.tensor(2)
        builder.inputs.append(base)
        for exponent in (2, 3):
            out = builder.tensor(2)
            power = builder.constant(np.array(exponent, np.float32))
            builder.call("aten::pow.Tensor_Tensor_out", base, power, out, out)
            builder.outputs.append(out)
        squares, cubes = builder.load().execute([floats(2, 3)])
        assert squares.tolist() == [4, 9]
        assert cubes.tolist() == [8, 27]


class TestIdentity:
    """Instructions share a step if they do the same to the same arrays."""

    def test_memory_that_is_used_again_gives_the_same_steps_again(self) -> None:
        builder = PlanBuilder()
        x, *places = (builder.tensor(2) for _ in range(3))
        one = builder.scalar(1)
        for index in range(6):
            places.append(builder.tensor(2, offset=16 * (1 + index % 2)))
            builder.call("aten::add.out", places[-2], x, one, places[-1], places[-1])
        plan = builder.plan()
        registers = Registers(builder.program(), plan)
        kernel = KERNELS["aten::add.out"]
        patterns = StepPatterns(registers, [kernel], frozenset())

        def make(call: model.KernelCall, index: int) -> Step:
            return kernel.bind("aten::add.out", Scratch(), [*map(registers.initial, call.args[:-1])])

        steps = patterns.steps(plan.chains[0].instructions, 0, make)
        assert [steps.index(each) for each in steps] == [0, 1, 2, 1, 2, 1]

    def test_a_tensor_that_became_a_view_is_no_longer_what_others_at_its_place_are(self) -> None:
        builder = PlanBuilder()
        x, y, first, clone, sum_, kept = (builder.tensor(2) for _ in range(6))
        again, result = builder.tensor(2, offset=48), builder.tensor(2, offset=64)  # of `clone` and `sum_`
        one = builder.scalar(1)
        builder.inputs += [x, y]
        builder.add_(x, y, first)  # learned
        builder.call("aten::clone.out", x, builder.scalar(None), clone, clone)  # left out: `clone` is x
        builder.call("aten::add.out", clone, y, one, sum_, sum_)
        builder.add_(sum_, first, kept)
        builder.add_(y, y, again)
        builder.call("aten::add.out", again, y, one, result, result)
        builder.outputs += [kept, result]
        sums = builder.load().execute([floats(1, 2), floats(10, 20)])
        assert [each.tolist() for each in sums] == [[22, 44], [30, 60]]


class TestOperands:
    """Each step works on the tensors of its own instruction."""

    def test_operands_may_be_the_same_tensor(self) -> None:
        builder = PlanBuilder()
        x, y, once, twice, more = (builder.tensor(1) for _ in range(5))
        builder.inputs += [x, y]
        builder.add_(x, y, once)  # learned
        builder.add_(once, once, twice)
        builder.add_(y, twice, more)
        builder.add_(more, x, more)
        builder.outputs.append(more)
        assert builder.load().execute([floats(1), floats(10)])[0].tolist() == [33]

    def test_nothing_is_learned_where_an_operand_could_be_either(self) -> None:
        builder = PlanBuilder()
        x, y, twice, sum_ = (builder.tensor(1) for _ in range(4))
        builder.inputs += [x, y]
        builder.add_(x, x, twice)
        builder.add_(x, y, sum_)
        builder.outputs += [twice, sum_]
        assert [each.item() for each in builder.load().execute([floats(1), floats(10)])] == [2, 11]

    def test_nothing_is_learned_where_two_tensors_became_one_array(self) -> None:
        builder = PlanBuilder()
        x, y, clone, twice, sum_ = (builder.tensor(2) for _ in range(5))
        builder.inputs += [x, y]
        builder.call("aten::clone.out", x, builder.scalar(None), clone, clone)  # left out: `clone` is x
        builder.add_(clone, x, twice)
        builder.add_(twice, y, sum_)
        builder.outputs.append(sum_)
        assert builder.load().execute([floats(1, 2), floats(10, 20)])[0].tolist() == [12, 24]

    def test_nothing_is_learned_where_the_output_takes_the_place_of_an_operand(self) -> None:
        builder = PlanBuilder()
        x, y = builder.tensor(2), builder.tensor(2)
        in_place, twice, sum_ = builder.tensor(2, offset=0), builder.tensor(2), builder.tensor(2)
        builder.inputs += [x, y]
        builder.add_(x, y, in_place)
        builder.add_(y, y, twice)
        builder.add_(twice, in_place, sum_)
        builder.outputs += [in_place, sum_]
        sums = builder.load().execute([floats(1, 2), floats(10, 20)])
        assert [each.tolist() for each in sums] == [[11, 22], [31, 62]]

    def test_an_output_given_by_keyword_is_replaced_too(self) -> None:
        builder = PlanBuilder()
        x, y, low, lower = (builder.tensor(1) for _ in range(4))
        builder.inputs += [x, y]
        builder.call("aten::minimum.out", x, y, low, low)
        builder.call("aten::minimum.out", y, x, lower, lower)
        builder.outputs += [low, lower]
        assert [each.item() for each in builder.load().execute([floats(3), floats(2)])] == [2, 2]

    def test_an_output_that_is_not_repeated_is_refused_even_after_a_similar_instruction(self) -> None:
        builder = chain(1, 1)
        builder.instructions[1] = builder.instructions[1]._replace(args=(1, 4, 3, 0))
        with pytest.raises(KernelArgumentError, match="takes 3 arguments, given 4"):
            builder.load(kernels=counting()[0])

    def test_an_exponent_that_is_computed_is_not_taken_from_the_memory_at_load(self) -> None:
        builder = PlanBuilder()
        base, out = builder.tensor(2), builder.tensor(2)
        exponent = builder.tensor(initial=np.array(2, np.float32))
        builder.inputs += [base, exponent]
        builder.outputs.append(out)
        builder.call("aten::pow.Tensor_Tensor_out", base, exponent, out, out)
        method = builder.load()
        assert method.execute([floats(2, 3), np.array(3, np.float32)])[0].tolist() == [8, 27]
