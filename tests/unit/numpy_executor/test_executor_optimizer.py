"""The passes of the optimizer: the instructions that they leave out, and those that they must not."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from plans import KERNELS, PlanBuilder, adding_plan, as_lists, floats

from etconfig import Method
from etconfig.base.scalar_types import ScalarType
from etconfig.errors import KernelArgumentError
from etconfig.kernel.registry import Kernel, Step, Unread
from etconfig.kernel.steps import Copy
from etconfig.kernel.tensor import Tensor
from etconfig.numpy_executor.optimizer import Optimizer, constants
from etconfig.numpy_executor.optimizer.liveness import Liveness
from etconfig.program.model import TensorShapeDynamism
from etconfig.tracing import RecordingTracer

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def operators_run(builder: PlanBuilder, inputs: list[Any], **options: Any) -> list[str]:
    """The operators that run in one execute, without their namespace."""
    tracer = RecordingTracer()
    method: Method = builder.load(tracer=tracer, **options)
    method.execute(inputs)
    return [each.name.partition("::")[2] for each in tracer.events if each.kind == "kernel"]


def check_equal_runs(builder: PlanBuilder, inputs: list[Any]) -> None:
    """Run twice, since the second run finds the bytes that the first one left in memory."""
    faithful, optimized = builder.load(optimize=False), builder.load()
    for _ in range(2):
        expected, given = faithful.execute(inputs), optimized.execute(inputs)
        for one, other in zip(given, expected, strict=True):
            np.testing.assert_array_equal(one, other)


SOURCE, TARGET, OUT = 0, 1, 2
"""The tensors of `copying`, by value index."""


def copying(*, out_offset: int | None = None) -> PlanBuilder:
    """`relu(x.reshape(3, 2))`."""
    builder = PlanBuilder()
    x, between = builder.tensor(2, 3), builder.tensor(3, 2)
    out = builder.tensor(3, 2, offset=out_offset)
    builder.inputs, builder.outputs = [x], [out]
    builder.call("aten::view_copy.out", x, builder.ints(3, 2), between, between)
    builder.call("aten::relu.out", between, out, out)
    return builder


def offset_of(builder: PlanBuilder, value: int) -> int:
    return builder.values[value].allocation_info.memory_offset


class TestCopies:
    """A copy is left out if its readers can read its source instead."""

    def test_a_copy_to_another_shape_does_not_run(self) -> None:
        builder = copying()
        assert operators_run(builder, [X]) == ["relu.out"]
        check_equal_runs(builder, [X])

    def test_without_optimization_every_instruction_runs(self) -> None:
        builder = copying()
        assert operators_run(builder, [X], optimize=False) == ["view_copy.out", "relu.out"]

    def test_a_permuted_constant_is_a_view_for_a_matrix_product(self) -> None:
        builder = PlanBuilder()
        weight, x = builder.constant(X), builder.tensor(1, 3)
        turned, out = builder.tensor(3, 2), builder.tensor(1, 2)
        builder.inputs, builder.outputs = [x], [out]
        builder.call("aten::permute_copy.out", weight, builder.ints(1, 0), turned, turned)
        builder.call("aten::mm.out", x, turned, out, out)
        assert operators_run(builder, [floats(1, 0, 2)[None]]) == ["mm.out"]
        check_equal_runs(builder, [floats(1, 0, 2)[None]])

    def test_a_permuted_tensor_is_copied_for_a_kernel_that_may_not_take_its_strides(self) -> None:
        builder = PlanBuilder()
        x, turned, out = builder.tensor(2, 3), builder.tensor(3, 2), builder.tensor(3, 2)
        builder.inputs, builder.outputs = [x], [out]
        builder.call("aten::permute_copy.out", x, builder.ints(1, 0), turned, turned)
        builder.call("aten::relu.out", turned, out, out)
        assert operators_run(builder, [X]) == ["permute_copy.out", "relu.out"]

    def test_a_chain_of_copies_is_one_view(self) -> None:
        builder = PlanBuilder()
        x, flat, part = builder.tensor(2, 3), builder.tensor(6), builder.tensor(4)
        out = builder.tensor(4)
        builder.inputs, builder.outputs = [x], [out]
        builder.call("aten::view_copy.out", x, builder.ints(6), flat, flat)
        numbers = [builder.scalar(each) for each in (0, 1, 5, 1)]
        builder.call("aten::slice_copy.Tensor_out", flat, *numbers, part, part)
        builder.call("aten::relu.out", part, out, out)
        assert operators_run(builder, [X]) == ["relu.out"]
        assert as_lists(builder.load().execute([X])) == [[1, 2, 3, 4]]

    def test_tensors_that_are_planned_as_views_of_the_target_see_the_source(self) -> None:
        builder = copying()
        alias = builder.tensor(6, offset=offset_of(builder, TARGET))
        last = builder.tensor(6)
        builder.call("aten::relu.out", alias, last, last)
        builder.outputs = [OUT, last]
        assert operators_run(builder, [X]) == ["relu.out", "relu.out"]
        check_equal_runs(builder, [X])

    def test_an_output_that_copies_an_input_is_not_a_view_of_it(self) -> None:
        builder = PlanBuilder()
        x, out = builder.tensor(2, 3), builder.tensor(6)
        builder.inputs, builder.outputs = [x], [out]
        builder.call("aten::view_copy.out", x, builder.ints(6), out, out)
        given = X.copy()
        (result,) = builder.load().execute([given])
        given.fill(9)
        assert result.tolist() == [0, 1, 2, 3, 4, 5]

    def test_broadcasting_stays_a_copy(self) -> None:
        builder = PlanBuilder()
        x, wide, out = builder.tensor(1, 3), builder.tensor(2, 3), builder.tensor(2, 3)
        builder.inputs, builder.outputs = [x], [out]
        builder.call("aten::expand_copy.out", x, builder.ints(2, 3), builder.scalar(False), wide, wide)
        builder.call("aten::relu.out", wide, out, out)
        assert operators_run(builder, [X[:1]]) == ["expand_copy.out", "relu.out"]


class TestCopiesThatMatter:
    """A copy runs if anything writes to its source or target while it is read, or if its bytes stay."""

    def test_the_source_is_written_before_the_last_reader(self) -> None:
        builder = copying()
        builder.call("aten::neg.out", SOURCE, SOURCE, SOURCE)
        builder.instructions[1:] = reversed(builder.instructions[1:])
        assert operators_run(builder, [X]) == ["view_copy.out", "neg.out", "relu.out"]
        check_equal_runs(builder, [X])

    def test_a_buffer_is_updated_after_it_was_read(self) -> None:
        builder = PlanBuilder()
        state = builder.tensor(3, initial=floats(1, 2, 3))
        x, before, out = builder.tensor(3), builder.tensor(3), builder.tensor(3)
        builder.inputs, builder.outputs = [x], [out]
        builder.call("aten::view_copy.out", state, builder.ints(3), before, before)
        builder.call("aten::copy_", state, x, builder.scalar(False), state)
        builder.add_(before, x, out)
        method = builder.load()
        assert as_lists(method.execute([floats(1, 1, 1)])) == [[2, 3, 4]]
        assert as_lists(method.execute([floats(5, 5, 5)])) == [[6, 6, 6]]

    def test_the_target_is_what_the_next_run_reads(self) -> None:
        builder = PlanBuilder()
        x, out, state = builder.tensor(2), builder.tensor(2), builder.tensor(2)
        builder.inputs, builder.outputs = [x], [out]
        builder.add_(x, state, out)
        builder.call("aten::view_copy.out", out, builder.ints(2), state, state)
        method = builder.load()
        assert [as_lists(method.execute([floats(1, 2)])) for _ in range(2)] == [[[1, 2]], [[2, 4]]]

    def test_the_last_reader_writes_over_the_source_and_reads_on(self) -> None:
        builder = PlanBuilder()
        x, turned = builder.tensor(2, 2), builder.tensor(2, 2)
        builder.inputs = [x]
        builder.call("aten::permute_copy.out", x, builder.ints(1, 0), turned, turned)
        out = builder.tensor(2, 2, offset=0)
        builder.call("aten::mm.out", turned, turned, out, out)
        builder.outputs = [out]
        assert operators_run(builder, [X[:, :2]]) == ["permute_copy.out", "mm.out"]

    def test_the_last_reader_writes_over_the_source_after_reading_it(self) -> None:
        builder = copying(out_offset=0)
        assert operators_run(builder, [X]) == ["relu.out"]
        check_equal_runs(builder, [X])

    def test_another_tensor_relies_on_the_bytes_of_the_target(self) -> None:
        builder = copying()
        half, last = builder.tensor(2, offset=offset_of(builder, TARGET) + 8), builder.tensor(2)
        builder.call("aten::relu.out", half, last, last)
        builder.outputs = [OUT, last]
        assert operators_run(builder, [X]) == ["view_copy.out", "relu.out", "relu.out"]
        check_equal_runs(builder, [X])

    def test_the_target_is_written_while_it_is_read(self) -> None:
        builder = copying()
        part = builder.tensor(2, offset=offset_of(builder, TARGET))
        small = builder.constant(floats(7, 8))
        builder.call("aten::relu.out", small, part, part)
        builder.instructions[1:] = reversed(builder.instructions[1:])
        assert operators_run(builder, [X]) == ["view_copy.out", "relu.out", "relu.out"]
        check_equal_runs(builder, [X])

    def test_an_operator_that_is_not_pytorchs_may_change_its_arguments(self) -> None:
        def bind(x: Tensor, out: Tensor) -> Step:
            def run() -> None:
                np.add(x.array, 1, x.array)
                np.copyto(out.array, x.array)

            return run

        builder = PlanBuilder()
        x, same, out = builder.tensor(3), builder.tensor(3), builder.tensor(3)
        builder.inputs, builder.outputs = [x], [x, out]
        builder.call("aten::view_copy.out", x, builder.ints(3), same, same)
        builder.call("vendor::bump.out", same, out, out)
        kernels = {**KERNELS, "vendor::bump.out": Kernel(("vendor::bump.out",), bind)}
        assert as_lists(builder.load(kernels=kernels).execute([floats(1, 2, 3)])) == [[1, 2, 3], [2, 3, 4]]

    def test_a_plan_with_jumps_runs_as_it_is(self) -> None:
        builder = copying()
        builder.jump_unless(builder.scalar(True), 3)
        assert operators_run(builder, [X]) == ["view_copy.out", "relu.out"]

    def test_its_reader_has_another_dim_order_at_the_same_place(self) -> None:
        """It reads the same bytes as other elements, which the source does not have there."""
        builder = PlanBuilder()
        x, copied, out = builder.tensor(3, 2), builder.tensor(2, 3), builder.tensor(3, 2)
        reader = builder.tensor(2, 3, dim_order=(1, 0), offset=offset_of(builder, copied))
        builder.inputs, builder.outputs = [x], [out]
        builder.call("aten::view_copy.out", x, builder.ints(2, 3), copied, copied)
        builder.call("aten::permute_copy.out", reader, builder.ints(1, 0), out, out)
        inputs = [np.arange(6, dtype=np.float32).reshape(3, 2)]
        check_equal_runs(builder, inputs)
        (given,) = builder.load().execute(inputs)
        assert given.tolist() == [[0, 1], [2, 3], [4, 5]]


class TestUnread:
    """A kernel gets the names of its outputs that nothing reads."""

    @staticmethod
    def told(builder: PlanBuilder) -> list[Unread]:
        found: list[Unread] = []

        def bind(x: Tensor, out: Tensor, places: Tensor, *, unread: Unread) -> Step:
            found.append(unread)
            return Copy(out.array, x.array)

        builder.load(kernels={"aten::pair.out": Kernel(("aten::pair.out",), bind), **KERNELS})
        return found

    @staticmethod
    def pair() -> tuple[PlanBuilder, int, int]:
        builder = PlanBuilder()
        x, out, places = builder.tensor(3), builder.tensor(3), builder.tensor(3)
        builder.inputs, builder.outputs = [x], [out]
        builder.call("aten::pair.out", x, out, places, builder.tensors(out, places))
        return builder, out, places

    def test_an_output_without_a_reader_is_named(self) -> None:
        assert self.told(self.pair()[0]) == [{"places"}]

    def test_outputs_of_the_method_are_read(self) -> None:
        builder, out, places = self.pair()
        builder.outputs = [out, places]
        assert self.told(builder) == [frozenset()]

    def test_what_another_tensor_reads_in_the_same_memory_is_read(self) -> None:
        builder, _, places = self.pair()
        alias, last = builder.tensor(2, offset=offset_of(builder, places)), builder.tensor(2)
        builder.call("aten::relu.out", alias, last, last)
        builder.outputs.append(last)
        assert self.told(builder) == [frozenset()]

    @pytest.mark.parametrize("is_first_read", [True, False])
    def test_outputs_that_overlap_are_both_written(self, is_first_read: bool) -> None:
        builder, out, _ = self.pair()
        places = builder.tensor(3, offset=offset_of(builder, out) + 4)
        builder.instructions.clear()
        builder.call("aten::pair.out", builder.inputs[0], out, places, builder.tensors(out, places))
        builder.outputs = [out if is_first_read else places]
        assert self.told(builder) == [frozenset()]

    def test_the_places_of_a_pool_are_left_alone(self) -> None:
        builder = PlanBuilder()
        x, out = builder.tensor(1, 4, 4), builder.tensor(1, 2, 2)
        places = builder.tensor(1, 2, 2, dtype=ScalarType.LONG)
        builder.inputs, builder.outputs = [x], [out]
        pair, none, one = builder.ints(2, 2), builder.ints(0, 0), builder.ints(1, 1)
        lists = [pair, pair, none, one, builder.scalar(False)]
        both = builder.tensors(out, places)
        builder.call("aten::max_pool2d_with_indices.out", x, *lists, out, places, both)
        check_equal_runs(builder, [np.arange(16, dtype=np.float32).reshape(1, 4, 4)])


def normed_convolution(dtype: ScalarType = ScalarType.FLOAT, *, is_biased: bool = True) -> PlanBuilder:
    """`relu(batch_norm(conv(x)))` with 3x3 windows, from 2 to 4 channels."""
    rng = np.random.default_rng(0)
    builder = PlanBuilder()
    x, between, normed, out = (builder.tensor(1, c, 5, 5, dtype=dtype) for c in (2, 4, 4, 4))
    saved = [builder.tensor(0, dtype=dtype) for _ in range(2)]
    weight = builder.constant(rng.normal(size=(4, 2, 3, 3)), dtype)
    bias = builder.constant(rng.normal(size=4), dtype) if is_biased else builder.scalar(None)
    norm = [builder.constant(rng.uniform(0.5, 2, size=4), dtype) for _ in range(4)]
    ones, zeros = builder.ints(1, 1), builder.ints(0, 0)
    windows = [ones, ones, ones, builder.scalar(False), zeros, builder.scalar(1)]
    numbers = [builder.scalar(each) for each in (0.1, 1e-5)]
    builder.inputs, builder.outputs = [x], [out]
    builder.call("aten::convolution.out", x, weight, bias, *windows, between, between)
    builder.call(
        "aten::_native_batch_norm_legit_no_training.out",
        *(between, *norm, *numbers, normed, *saved, builder.tensors(normed, *saved)),
    )
    builder.call("aten::relu.out", normed, out, out)
    return builder


class TestBatchNorms:
    """A batch norm after a convolution becomes a part of its weights."""

    IMAGE = np.random.default_rng(1).normal(size=(1, 2, 5, 5))

    @pytest.mark.parametrize("is_biased", [True, False])
    @pytest.mark.parametrize(("dtype", "tolerance"), [(ScalarType.FLOAT, 1e-5), (ScalarType.DOUBLE, 1e-13)])
    def test_it_does_not_run(self, dtype: ScalarType, tolerance: float, is_biased: bool) -> None:
        builder = normed_convolution(dtype, is_biased=is_biased)
        image = self.IMAGE.astype(np.float32 if dtype is ScalarType.FLOAT else np.float64)
        assert operators_run(builder, [image]) == ["convolution.out", "relu.out"]
        (expected,), (given,) = builder.load(optimize=False).execute([image]), builder.load().execute([image])
        np.testing.assert_allclose(given, expected, rtol=tolerance, atol=tolerance)

    def test_it_runs_in_half_precision(self) -> None:
        builder = normed_convolution(ScalarType.HALF)
        check_equal_runs(builder, [self.IMAGE.astype(np.float16)])
        assert len(operators_run(builder, [self.IMAGE.astype(np.float16)])) == 3

    def test_it_runs_if_the_convolution_has_another_reader(self) -> None:
        builder = normed_convolution()
        between = builder.instructions[0].args[-1]
        builder.outputs.append(between)
        check_equal_runs(builder, [self.IMAGE.astype(np.float32)])
        assert len(operators_run(builder, [self.IMAGE.astype(np.float32)])) == 3

    def test_it_runs_if_its_weights_are_not_constant(self) -> None:
        builder = normed_convolution()
        gamma = builder.instructions[1].args[1]
        builder.values[gamma] = builder.values[builder.tensor(4)]
        builder.inputs.append(gamma)
        inputs = [self.IMAGE.astype(np.float32), floats(1, 2, 3, 4)]
        check_equal_runs(builder, inputs)
        assert len(operators_run(builder, inputs)) == 3


def scaled_constants(builder: PlanBuilder, *, out_offset: int | None = None) -> int:
    """Add `relu(-W) + x`, where only the sum depends on an input; return the tensor of `-W`."""
    x, weight = builder.tensor(2, 3), builder.constant(-X)
    negated, positive = builder.tensor(2, 3), builder.tensor(2, 3)
    out = builder.tensor(2, 3, offset=out_offset)
    builder.inputs, builder.outputs = [x], [out]
    builder.call("aten::neg.out", weight, negated, negated)
    builder.call("aten::relu.out", negated, positive, positive)
    builder.call("aten::add.out", positive, x, builder.scalar(1), out, out)
    return negated


class TestConstants:
    """Results that depend on constants alone are computed once, when the method is loaded."""

    def test_it_does_not_run_and_the_answer_is_the_same(self) -> None:
        builder = PlanBuilder()
        scaled_constants(builder)
        assert operators_run(builder, [X]) == ["add.out"]
        assert operators_run(builder, [X], optimize=False) == ["neg.out", "relu.out", "add.out"]
        check_equal_runs(builder, [X])

    def test_memory_that_is_used_again_does_not_matter(self) -> None:
        builder = PlanBuilder()
        negated = scaled_constants(builder)
        again = builder.tensor(2, 3, offset=offset_of(builder, negated))
        builder.call("aten::neg.out", builder.outputs[0], again, again)
        builder.outputs.append(again)
        assert operators_run(builder, [X]) == ["add.out", "neg.out"]
        check_equal_runs(builder, [X])

    def test_a_state_in_the_same_memory_is_as_it_was(self) -> None:
        builder = PlanBuilder()
        state = builder.tensor(2, 3, initial=X + 7)
        negated, out, weight = builder.tensor(2, 3), builder.tensor(2, 3), builder.constant(X)
        builder.values[negated] = builder.values[negated]._replace(
            allocation_info=builder.values[state].allocation_info
        )
        builder.outputs = [out]
        builder.call("aten::relu.out", state, out, out)
        builder.call("aten::neg.out", weight, negated, negated)
        builder.call("aten::add.out", negated, out, builder.scalar(1), out, out)
        check_equal_runs(builder, [])

    def test_random_numbers_are_new_in_each_run(self) -> None:
        drawn = iter(range(1, 10))

        def bind(x: Tensor, out: Tensor) -> Step:
            return lambda: out.array.fill(next(drawn))

        builder = PlanBuilder()
        out = builder.tensor(2, 3)
        builder.outputs = [out]
        builder.call("aten::rand_like.out", builder.constant(X), out, out)
        name = "aten::rand_like.out"
        method = builder.load(kernels={**KERNELS, name: Kernel((name,), bind)})
        assert [float(method.execute([])[0][0, 0]) for _ in range(3)] == [1, 2, 3]

    def test_results_beyond_the_budget_are_computed_in_each_run(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        builder = PlanBuilder()
        scaled_constants(builder)
        monkeypatch.setattr(constants, "BUDGET_BYTES", X.nbytes)
        assert operators_run(builder, [X]) == ["relu.out", "add.out"]
        check_equal_runs(builder, [X])

    def test_copies_of_arrays_that_a_kernel_made_are_distinguished(self) -> None:
        def bind(x: Tensor, out: Tensor) -> Step:
            return Copy(out.array, x.array + 1)  # one may lie where another was freed

        builder = PlanBuilder()
        weights = [X + each for each in range(9)]
        sums = [builder.tensor(2, 3) for _ in weights]
        for weight, total in zip(weights, sums, strict=True):
            builder.call("aten::neg.out", builder.constant(weight), total, total)
        builder.outputs = [builder.tensor(2, 3) for _ in weights]
        for total, out in zip(sums, builder.outputs, strict=True):
            builder.call("aten::relu.out", total, out, out)
        method = builder.load(kernels={**KERNELS, "aten::neg.out": Kernel(("aten::neg.out",), bind)})
        assert as_lists(method.execute([])) == [(each + 1).tolist() for each in weights]

    def test_bytes_that_a_smaller_shape_leaves_may_be_read(self) -> None:
        builder = PlanBuilder()
        dynamism = TensorShapeDynamism.DYNAMIC_BOUND
        x, weight = builder.tensor(4, dynamism=dynamism), builder.constant(floats(1, 2, 3, 4))
        negated, out = builder.tensor(4), builder.tensor(4)
        place = offset_of(builder, negated)
        positive = builder.tensor(4, offset=place, dynamism=dynamism)
        builder.inputs, builder.outputs = [x], [out]
        builder.call("aten::neg.out", weight, negated, negated)
        builder.call("aten::relu.out", x, positive, positive)
        builder.call("aten::neg.out", builder.tensor(4, offset=place), out, out)
        assert as_lists(builder.load().execute([floats(5, 6)])) == [[-5, -6, 3, 4]]

    def test_each_run_reports_an_error(self) -> None:
        builder = PlanBuilder()
        weight, places = builder.constant(X), builder.constant(np.array([7]), ScalarType.LONG)
        row, no = builder.tensor(1, 3), builder.scalar(False)
        builder.outputs = [row]
        builder.call("aten::embedding.out", weight, places, builder.scalar(-1), no, no, row, row)
        method = builder.load()
        for _ in range(2):
            with pytest.raises(KernelArgumentError, match=r"^aten::embedding.out: index 7 is out of range"):
                method.execute([])

    def test_a_constant_beside_an_input_decides_nothing(self) -> None:
        builder = PlanBuilder()
        x, weight, out = builder.tensor(2, 3), builder.constant(X), builder.tensor(2, 3)
        builder.inputs, builder.outputs = [x], [out]
        builder.call("aten::add.out", weight, x, builder.scalar(1), out, out)
        assert operators_run(builder, [X]) == ["add.out"]


def test_an_instruction_without_a_use_for_the_optimizer_is_not_analyzed() -> None:
    assert operators_run(adding_plan(2), [floats(1, 2), floats(3, 4)]) == ["add.out"]


def test_the_optimizer_is_freed_when_the_method_is_loaded() -> None:
    """It is freed at once, without the garbage collector."""
    builder = copying()
    gc.collect()  # what other tests left
    gc.disable()
    try:
        method = builder.load()
        kept = [each for each in gc.get_objects() if isinstance(each, (Optimizer, Liveness))]
    finally:
        gc.enable()
    assert method.execute([X])
    assert kept == []
