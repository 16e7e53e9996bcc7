"""Blocks, jumps, moves, registers, dynamic shapes, and the instruction budget."""

from __future__ import annotations

import numpy as np
import pytest
from plans import PlanBuilder, as_lists, floats

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import InstructionLimitError, KernelArgumentError
from etconfig.program import model
from etconfig.program.model import TensorShapeDynamism

BOUND, UNBOUND = TensorShapeDynamism.DYNAMIC_BOUND, TensorShapeDynamism.DYNAMIC_UNBOUND
STATIC = TensorShapeDynamism.STATIC
INTS = ScalarType.LONG


def branching() -> PlanBuilder:
    """`x + x if condition else x - x`, as exported from torch.cond."""
    builder = PlanBuilder()
    condition = builder.tensor(1, dtype=ScalarType.BOOL)
    x, result = builder.tensor(2), builder.tensor(2)
    doubled, nothing = builder.tensor(2), builder.tensor(2)
    never, alpha = builder.scalar(False), builder.scalar(1)
    builder.inputs, builder.outputs = [condition, x], [result]
    builder.jump_unless(condition, 4)
    builder.call("aten::add.out", x, x, alpha, doubled, doubled)
    builder.move(doubled, result)
    builder.jump_unless(never, 6)
    builder.call("aten::sub.out", x, x, alpha, nothing, nothing)
    builder.move(nothing, result)
    return builder


class TestJumps:
    """A jump is taken when its condition is false; its target may be the end."""

    def test_either_branch_runs_and_the_other_does_not(self) -> None:
        method = branching().load()
        for condition, expected in ((True, [2, 4]), (False, [0, 0]), (True, [2, 4])):
            assert as_lists(method.execute([np.array([condition]), floats(1, 2)])) == [expected]

    def test_a_tensor_is_true_if_all_its_elements_are(self) -> None:
        builder = PlanBuilder()
        condition = builder.tensor(2, dtype=ScalarType.BOOL)
        x, out = builder.tensor(1), builder.tensor(1)
        builder.inputs, builder.outputs = [condition, x], [out]
        builder.call("aten::neg.out", x, out, out)
        builder.jump_unless(condition, 3)
        builder.add_(x, x, out)
        method = builder.load()
        assert as_lists(method.execute([np.array([True, True]), floats(1)])) == [[2]]
        assert as_lists(method.execute([np.array([True, False]), floats(1)])) == [[-1]]

    @pytest.mark.parametrize("value", [1, None, "true"])
    def test_a_condition_of_another_type_is_refused(self, value: object) -> None:
        builder = PlanBuilder()
        builder.jump_unless(builder.scalar(value), 0)
        with pytest.raises(KernelArgumentError) as caught:
            builder.load().execute()
        assert str(caught.value) == ("JumpFalseCall: the condition must be a boolean or a tensor of booleans")

    def test_a_jump_to_itself_is_stopped(self) -> None:
        builder = PlanBuilder()
        builder.jump_unless(builder.scalar(False), 0)
        with pytest.raises(InstructionLimitError) as caught:
            builder.load(instruction_limit=1000).execute()
        assert str(caught.value) == "method 'forward' ran 1000 instructions without coming to an end"

    def test_the_budget_counts_every_instruction_of_each_run(self) -> None:
        builder = branching()
        inputs = [np.array([True]), floats(1, 2)]
        method = builder.load(instruction_limit=4)
        for _ in range(3):
            method.execute(inputs)
        with pytest.raises(InstructionLimitError):
            builder.load(instruction_limit=3).execute(inputs)


class TestRegisters:
    """Int values are mutable registers; lists refer to them by index."""

    def test_a_counter_runs_and_is_reset_as_in_a_map(self) -> None:
        builder = PlanBuilder()
        xs, row, doubled = builder.tensor(3, 2), builder.tensor(2), builder.tensor(2)
        out = builder.tensor(3, 2, dynamism=BOUND)
        counter, rows, is_done = builder.scalar(0), builder.scalar(0), builder.scalar(False)
        zero, one = builder.scalar(0), builder.scalar(1)
        builder.inputs, builder.outputs = [xs], [out, counter]
        builder.call("aten::sym_size.int", xs, zero, rows)
        builder.call("aten::select_copy.int_out", xs, zero, counter, row, row)
        builder.add_(row, row, doubled)
        builder.call("executorch_prim::et_copy_index.tensor", out, doubled, counter)
        builder.call("executorch_prim::add.Scalar", counter, one, counter)
        builder.call("executorch_prim::eq.Scalar", counter, rows, is_done)
        builder.jump_unless(is_done, 1)
        builder.call("executorch_prim::sub.Scalar", counter, rows, counter)
        method = builder.load()
        for start in (0, 10):
            given = np.arange(start, start + 6, dtype=np.float32).reshape(3, 2)
            result, count = method.execute([given])
            np.testing.assert_array_equal(result, given * 2)
            assert count == 0

    def test_a_list_of_integers_has_the_values_of_its_registers(self) -> None:
        builder = PlanBuilder()
        x = builder.tensor(12)
        out = builder.tensor(12, 12, dynamism=BOUND)
        rows = builder.scalar(None)
        size = builder.int_list(rows, builder.scalar(-1))
        builder.inputs, builder.outputs = [x, rows], [out]
        builder.call("aten::view_copy.out", x, size, out, out)
        method = builder.load()
        given = np.arange(12, dtype=np.float32)
        for count in (3, 4, 12, 3):
            np.testing.assert_array_equal(method.execute([given, count])[0], given.reshape(count, -1))
        with pytest.raises(KernelArgumentError, match=r"view_copy.out: 12 elements of shape \(12,\)"):
            method.execute([given, 5])
        np.testing.assert_array_equal(method.execute([given, 3])[0], given.reshape(3, -1))

    def test_a_symbolic_input_of_the_wrong_type_is_refused_by_the_kernel(self) -> None:
        builder = PlanBuilder()
        number, out = builder.scalar(None), builder.tensor(4, dtype=INTS, dynamism=BOUND)
        builder.inputs = [number]
        builder.call("aten::full.out", builder.int_list(number), builder.scalar(1), out, out)
        method = builder.load()
        method.execute([2])
        with pytest.raises(KernelArgumentError, match="size must be a list of integers, not a list"):
            method.execute([2.5])


class TestMoves:
    """A move makes a value an alias, not a copy."""

    def test_a_moved_tensor_is_the_same_memory(self) -> None:
        builder = PlanBuilder()
        x, alias, out = builder.tensor(1), builder.tensor(1, is_planned=False), builder.tensor(1)
        builder.inputs, builder.outputs = [x], [alias, out]
        builder.move(x, alias)
        builder.add_(x, x, x)
        builder.add_(alias, alias, out)
        assert as_lists(builder.load().execute([floats(1)])) == [[2], [4]]

    def test_a_step_bound_to_another_tensor_is_bound_again(self) -> None:
        builder = branching()
        (result,) = builder.outputs
        again = builder.tensor(2)
        builder.add_(result, result, again)
        builder.outputs = [again]
        method = builder.load()
        for condition, expected in ((True, [4, 8]), (False, [0, 0]), (True, [4, 8])):
            assert as_lists(method.execute([np.array([condition]), floats(1, 2)])) == [expected]

    def test_a_scalar_is_moved_by_value(self) -> None:
        builder = PlanBuilder()
        source, target, one = builder.scalar(1), builder.scalar(0), builder.scalar(1)
        builder.outputs = [source, target]
        builder.move(source, target)
        builder.call("executorch_prim::add.Scalar", source, one, source)
        method = builder.load()
        assert method.execute() == [2, 1]
        assert method.execute() == [3, 2]

    def test_a_moved_list_is_read_from_its_new_register(self) -> None:
        builder = PlanBuilder()
        x = builder.tensor(2, 3)
        out = builder.tensor(6, 6, dynamism=BOUND)
        shape, other = builder.ints(3, 2), builder.ints(6, 1)
        flag = builder.tensor(1, dtype=ScalarType.BOOL)
        builder.inputs, builder.outputs = [x, flag], [out]
        builder.jump_unless(flag, 2)
        builder.move(other, shape)
        builder.call("aten::view_copy.out", x, shape, out, out)
        method = builder.load()
        given = np.zeros((2, 3), np.float32)
        assert method.execute([given, np.array([False])])[0].shape == (3, 2)
        assert method.execute([given, np.array([True])])[0].shape == (6, 1)

    def test_an_input_that_something_was_moved_over_is_an_input_again_in_the_next_run(self) -> None:
        builder = PlanBuilder()
        x, negated, out = builder.tensor(2), builder.tensor(2), builder.tensor(2)
        builder.inputs, builder.outputs = [x], [out]
        builder.call("aten::neg.out", x, negated, negated)
        builder.move(negated, x)
        builder.call("aten::relu.out", x, out, out)
        method = builder.load()
        assert as_lists(method.execute([floats(-1, 2)])) == [[1, 0]]
        assert as_lists(method.execute([floats(3, -4)])) == [[0, 4]]

    @pytest.mark.parametrize("dynamism", [STATIC, BOUND])
    def test_an_input_that_was_made_a_view_of_a_constant_is_an_input_again_in_the_next_run(
        self, dynamism: TensorShapeDynamism
    ) -> None:
        builder = PlanBuilder()
        x, constant = builder.tensor(2, dynamism=dynamism), builder.constant(np.array([5, 6]))
        out = builder.tensor(2, dynamism=dynamism)
        builder.inputs, builder.outputs = [x], [x, out]
        builder.call("aten::neg.out", x, out, out)
        builder.call("executorch_prim::et_view.default", constant, builder.ints(-1), x)
        method = builder.load()
        assert as_lists(method.execute([floats(-1, 2)])) == [[5, 6], [1, -2]]
        assert as_lists(method.execute([floats(3, -4)])) == [[5, 6], [-3, 4]]


class TestDynamicShapes:
    """The operators compute the real shapes, within the bounds."""

    def test_shapes_travel_from_operator_to_operator(self) -> None:
        builder = PlanBuilder()
        x, weight = builder.tensor(4, 2, dynamism=BOUND), builder.constant(np.ones((2, 3)))
        product, flat = builder.tensor(4, 3, dynamism=BOUND), builder.tensor(12, dynamism=BOUND)
        builder.inputs, builder.outputs = [x], [flat]
        builder.call("aten::mm.out", x, weight, product, product)
        builder.call("aten::view_copy.out", product, builder.ints(-1), flat, flat)
        method = builder.load()
        for rows in (4, 2, 3, 1, 4):
            (result,) = method.execute([np.full((rows, 2), rows, np.float32)])
            assert result.tolist() == [2 * rows] * (3 * rows)

    def test_a_shape_beyond_the_bounds_is_refused(self) -> None:
        builder = PlanBuilder()
        x, out = builder.tensor(4, dynamism=BOUND), builder.tensor(2, dynamism=BOUND)
        builder.inputs = [x]
        builder.call("aten::relu.out", x, out, out)
        with pytest.raises(KernelArgumentError) as caught:
            builder.load().execute([floats(1, 2, 3)])
        assert str(caught.value) == "aten::relu.out: shape (3,) exceeds the planned bounds (2,)"

    @pytest.mark.parametrize("dynamism", [BOUND, UNBOUND])
    @pytest.mark.parametrize("is_planned", [True, False])
    def test_shapes_may_depend_on_the_data(self, dynamism: TensorShapeDynamism, is_planned: bool) -> None:
        builder = PlanBuilder()
        x = builder.tensor(4)
        places = builder.tensor(4, 1, dtype=INTS, dynamism=dynamism, is_planned=is_planned)
        doubled = builder.tensor(4, 1, dtype=INTS, dynamism=BOUND)
        builder.inputs, builder.outputs = [x], [doubled]
        builder.call("aten::nonzero.out", x, places, places)
        builder.add_(places, places, doubled)
        method = builder.load()
        assert as_lists(method.execute([floats(0, 1, 0, 1)])) == [[[2], [6]]]
        assert as_lists(method.execute([floats(1, 0, 0, 0)])) == [[[0]]]
        assert as_lists(method.execute([floats(0, 0, 0, 0)])) == [[]]

    def test_a_view_made_while_running_is_an_alias(self) -> None:
        builder = PlanBuilder()
        x = builder.tensor(4, 3, dynamism=BOUND)
        view = builder.tensor(12, dynamism=BOUND, is_planned=False)
        out = builder.tensor(12, dynamism=BOUND)
        builder.inputs, builder.outputs = [x], [out]
        builder.call("executorch_prim::et_view.default", x, builder.ints(-1), view)
        builder.add_(x, x, x)
        builder.add_(view, view, out)
        method = builder.load()
        for rows in (2, 4, 2):
            given = np.ones((rows, 3), np.float32)
            assert as_lists(method.execute([given])) == [[4.0] * (3 * rows)]

    def test_a_tensor_may_become_a_view_of_itself(self) -> None:
        builder = PlanBuilder()
        x = builder.tensor(4, 4, dynamism=BOUND)
        builder.inputs, builder.outputs = [x], [x]
        builder.call("executorch_prim::et_view.default", x, builder.ints(3, -1), x)
        method = builder.load()
        for rows in (2, 4, 2):
            given = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
            assert as_lists(method.execute([given])) == [given.reshape(3, rows).tolist()]

    def test_memory_that_is_not_planned_is_there_for_readers_that_are_bound_first(self) -> None:
        builder = PlanBuilder()
        x, total = builder.tensor(4, dynamism=BOUND), builder.tensor(1, is_planned=False)
        negated = builder.tensor(1)
        builder.inputs, builder.outputs = [x], [negated]
        dimensions, keep = builder.ints(0), builder.scalar(True)
        builder.call("aten::sum.IntList_out", x, dimensions, keep, builder.scalar(None), total, total)
        builder.call("aten::neg.out", total, negated, negated)
        method = builder.load()
        for values in ((1, 2), (1, 2, 3), ()):
            assert as_lists(method.execute([floats(*values)])) == [[-sum(values)]]

    def test_an_output_grows_where_nothing_bounds_it_and_keeps_its_contents(self) -> None:
        builder = PlanBuilder()
        row, collected = builder.tensor(1), builder.tensor(0, 1, dynamism=UNBOUND, is_planned=False)
        place = builder.scalar(None)
        builder.inputs, builder.outputs = [row, place], [collected]
        builder.call("executorch_prim::et_copy_index.tensor", collected, row, place)
        method = builder.load()
        for count in range(20):
            (result,) = method.execute([floats(count), count])
            assert result[:, 0].tolist() == list(range(count + 1))

    def test_an_output_whose_size_depends_on_the_data_is_resized_in_each_run(self) -> None:
        builder = PlanBuilder()
        x = builder.tensor(3)
        places = builder.tensor(3, 1, dtype=ScalarType.LONG, dynamism=UNBOUND, is_planned=False)
        builder.inputs, builder.outputs = [x], [places]
        builder.call("aten::nonzero.out", x, places, places)
        method = builder.load()
        for given, found in ((1, 0, 1), [[0], [2]]), ((0, 0, 0), []), ((1, 1, 1), [[0], [1], [2]]):
            assert as_lists(method.execute([floats(*given)])) == [found]

    def test_freed_memory_is_allocated_again(self) -> None:
        builder = PlanBuilder()
        x, out = builder.tensor(2), builder.tensor(2, dynamism=UNBOUND, is_planned=False)
        result = builder.tensor(2)
        builder.inputs, builder.outputs = [x], [result]
        builder.add_(x, x, out)
        builder.add_(out, out, result)
        builder.free(out)
        method = builder.load()
        for _ in range(2):
            assert as_lists(method.execute([floats(1, 2)])) == [[4, 8]]


def test_a_method_without_instructions_gives_its_constants() -> None:
    builder = PlanBuilder()
    builder.outputs = [builder.scalar(7)]
    assert builder.load().execute() == [7]


class TestInPlace:
    """An in-place operator's result is the argument that it changes, even if it has a value of its own.

    Source: ExecuTorch codegen/gen.py, return_assignment; releases up to 1.0 write such programs.
    """

    def build(self, result_first: bool) -> PlanBuilder:
        builder = PlanBuilder()
        state, x, result, out = (builder.tensor(2) for _ in range(4))
        builder.inputs, builder.outputs = [x], [result, out]
        if result_first:
            builder.add_(result, x, out)
        builder.call("aten::copy_", state, x, builder.scalar(False), result)
        if not result_first:
            builder.add_(result, x, out)
        return builder

    def test_the_result_is_bound_to_the_argument(self) -> None:
        method = self.build(result_first=False).load()
        for x in (1.0, 5.0):
            assert as_lists(method.execute([floats(x, 2)])) == [[x, 2], [2 * x, 4]]

    def test_earlier_instructions_use_the_memory_of_the_last_binding(self) -> None:
        method = self.build(result_first=True).load()
        assert as_lists(method.execute([floats(1, 2)])) == [[1, 2], [1, 2]]
        assert as_lists(method.execute([floats(3, 4)])) == [[3, 4], [4, 6]]

    def test_the_result_names_the_memory_also_when_a_constant_is_written_there(self) -> None:
        builder = PlanBuilder()
        state, x, result, out = (builder.tensor(2) for _ in range(4))
        later = builder.tensor(2, offset=builder.values[state].allocation_info.memory_offset)
        builder.inputs, builder.outputs = [x], [out]
        builder.call("aten::relu.out", x, state, state)
        builder.call("aten::copy_", state, x, builder.scalar(False), result)
        builder.call("aten::relu.out", builder.constant(floats(7, 8)), later, later)
        builder.add_(result, x, out)
        assert as_lists(builder.load().execute([floats(1, 2)])) == [[8, 10]]

    def test_any_other_value_too_many_is_refused(self) -> None:
        builder = self.build(result_first=False)
        call = builder.instructions[0]
        assert isinstance(call, model.KernelCall)
        builder.instructions[0] = call._replace(args=(*call.args, call.args[-1]))
        with pytest.raises(KernelArgumentError, match="aten::copy_: takes 3 arguments, given 5"):
            builder.load()


class TestVaryingNumbers:
    """A step is bound again when a number changes, even to one that compares equal."""

    @pytest.mark.parametrize(("first", "second"), [(0.0, -0.0), (-0.0, 0.0)])
    def test_the_sign_of_zero_counts(self, first: float, second: float) -> None:
        builder = PlanBuilder()
        x, number, out = builder.tensor(1), builder.scalar(None), builder.tensor(1)
        builder.inputs, builder.outputs = [x, number], [out]
        builder.call("aten::add.Scalar_out", x, number, builder.scalar(1), out, out)
        method = builder.load()
        for given in (first, second):
            (result,) = method.execute([floats(-0.0), given])
            assert np.signbit(result[0]) == np.signbit(given)
