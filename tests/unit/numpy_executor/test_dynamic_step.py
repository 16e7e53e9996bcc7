"""`DynamicStep`: bound once for each shape and number that it meets, as long as they are kept."""

from __future__ import annotations

import tracemalloc
import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest
from plans import PlanBuilder

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import KernelArgumentError
from etconfig.kernel.registry import Step
from etconfig.kernel.step_makers import write_resized
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import DTYPES, KEPT_SHAPES, Register, Tensor, memory_of
from etconfig.numpy_executor.rebinding.dynamic_step import DynamicStep, Part
from etconfig.numpy_executor.rebinding.rebinding import join
from etconfig.program.model import TensorShapeDynamism

BOUNDED = TensorShapeDynamism.DYNAMIC_BOUND
UNBOUNDED = TensorShapeDynamism.DYNAMIC_UNBOUND


def tensor(dynamism: TensorShapeDynamism = BOUNDED, size: int = 32) -> Tensor:
    memory = None if dynamism is UNBOUNDED else np.zeros(size * 4, np.uint8)
    return Tensor(ScalarType.FLOAT, (size,), (0,), memory, dynamism=dynamism)


class Doubling:
    """A kernel that doubles, and remembers the shapes that it was bound for."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def bind(self, source_register: Register, out_register: Register) -> Step:
        source, out = source_register.value, out_register.value
        assert isinstance(source, Tensor)
        assert isinstance(out, Tensor)
        self.shapes.append(source.shape)
        out.resize(source.shape)
        source_array, out_array = source.array, out.array
        return ArrayCall(np.multiply, source_array, 2, out=out_array)


def double(kernel: Doubling, source: Register, out: Register) -> Part:
    return Part("double", partial(kernel.bind, source, out), [source], [out])


class Doubled:
    """An input, an output, and the step between them."""

    def __init__(self, out: Tensor | None = None) -> None:
        self.kernel = Doubling()
        self.source = tensor()
        self.out = Register(out or tensor())
        source = Register(self.source)
        self.step = DynamicStep(double(self.kernel, source, self.out))

    def run(self, *values: float) -> list[float]:
        self.source.resize((len(values),))
        self.source.array[...] = values
        self.step()
        out = self.out.value
        assert isinstance(out, Tensor)
        return [float(value) for value in out.array]


class TestShapesThatReturn:
    """Steps bound for a shape serve whenever the shape returns, with the same answers."""

    def test_each_shape_is_bound_once(self) -> None:
        doubled = Doubled()
        for _ in range(3):
            assert doubled.run(1, 2) == [2, 4]
            assert doubled.run(1, 2, 3) == [2, 4, 6]
            assert doubled.run() == []
        assert doubled.kernel.shapes == [(2,), (3,), (0,)]

    def test_the_oldest_of_many_is_bound_again(self) -> None:
        doubled = Doubled()
        for size in (*range(1, KEPT_SHAPES + 2), 1, KEPT_SHAPES + 1):
            assert doubled.run(*range(size)) == [2 * value for value in range(size)]
        assert doubled.kernel.shapes == [*((size,) for size in range(1, KEPT_SHAPES + 2)), (1,)]

    def test_an_output_that_something_else_resized_gets_its_shape_back(self) -> None:
        doubled = Doubled()
        doubled.run(1, 2)
        out = doubled.out.value
        assert isinstance(out, Tensor)
        out.resize((5,))
        assert doubled.run(3, 4) == [6, 8]
        assert doubled.kernel.shapes == [(2,)]

    def test_another_tensor_in_the_register_is_bound_again(self) -> None:
        doubled = Doubled()
        first = doubled.out.value
        assert doubled.run(1) == [2]
        doubled.out.value = tensor()
        assert doubled.run(3) == [6]
        doubled.out.value = first
        assert doubled.run(4) == [8]
        assert doubled.kernel.shapes == [(1,), (1,)]

    def test_memory_that_had_to_grow_is_bound_anew(self) -> None:
        doubled = Doubled(tensor(UNBOUNDED, 1))
        assert doubled.run(1) == [2]
        assert doubled.run(1, 2, 3) == [2, 4, 6]  # in other memory
        assert doubled.run(5) == [10]
        assert doubled.run(6) == [12]
        assert doubled.kernel.shapes == [(1,), (3,), (1,)]

    def test_memory_that_was_given_up_is_bound_anew(self) -> None:
        doubled = Doubled(tensor(UNBOUNDED, 1))
        assert doubled.run(1) == [2]
        out = doubled.out.value
        assert isinstance(out, Tensor)
        out.release()
        assert doubled.run(4) == [8]
        assert doubled.kernel.shapes == [(1,), (1,)]


class TestMemory:
    """Only the latest memory of a tensor is kept, for one shape."""

    def test_what_was_bound_to_memory_that_was_freed_is_forgotten(self) -> None:
        source, out, kernel = tensor(UNBOUNDED), tensor(), Doubling()
        step = DynamicStep(double(kernel, Register(source), Register(out)))
        memories: list[weakref.ref[object]] = []
        for size in (1, 2, 3, 3):
            source.resize((size,))
            step()
            memories.append(weakref.ref(memory_of(source)))
            source.release()
        assert [each() is not None for each in memories] == [False, False, False, True]

    @pytest.mark.parametrize("dtype", [ScalarType.HALF, ScalarType.BFLOAT16])
    def test_half_weights_are_converted_once_for_all_shapes(self, dtype: ScalarType) -> None:
        weight = np.ones((512, 512), np.float32)
        builder = PlanBuilder()
        x, out = (builder.tensor(8, 512, dtype=dtype, dynamism=BOUNDED) for _ in range(2))
        builder.inputs, builder.outputs = [x], [out]
        builder.call("aten::mm.out", x, builder.constant(weight, dtype), out, out)
        assert self.held_bytes(builder, dtype) < 2 * weight.nbytes

    def test_so_are_those_that_the_program_permutes_first(self) -> None:
        weight = np.ones((512, 512), np.float32)
        builder = PlanBuilder()
        builder.planned_bytes = weight.nbytes
        x, out = (
            builder.tensor(8, 512, dtype=ScalarType.HALF, dynamism=BOUNDED, is_planned=False) for _ in "xo"
        )
        builder.inputs, builder.outputs = [x], [out]
        permuted = builder.tensor(512, 512, dtype=ScalarType.HALF, offset=0)
        constant = builder.constant(weight, ScalarType.HALF)
        builder.call("aten::permute_copy.out", constant, builder.ints(1, 0), permuted, permuted)
        builder.call("aten::mm.out", x, permuted, out, out)
        assert self.held_bytes(builder, ScalarType.HALF) < 2 * weight.nbytes

    def test_quantized_weights_are_made_real_in_memory_that_shapes_share(self) -> None:
        weight = np.ones((512, 512), np.float32)
        builder = PlanBuilder()
        x, out = (builder.tensor(8, 512, dynamism=BOUNDED) for _ in range(2))
        builder.inputs, builder.outputs = [x], [out]
        quantized, scales = builder.constant(weight, ScalarType.CHAR), builder.constant(weight[0])
        arguments = (x, quantized, scales, builder.scalar(None), out, out)
        builder.call("quantized_decomposed::mixed_mm.out", *arguments)
        assert self.held_bytes(builder, ScalarType.FLOAT) < 4 * weight.nbytes

    def held_bytes(self, builder: PlanBuilder, dtype: ScalarType) -> int:
        """Return the memory of a method after as many shapes as are kept, beyond that after loading."""
        method = builder.load()
        tracemalloc.start()
        for rows in range(1, KEPT_SHAPES + 1):
            method.execute([np.ones((rows, 512), DTYPES[dtype])])
        held_bytes, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return held_bytes


class TestAliases:
    """A step that makes its output a view gives it the token of that view, so that readers stay bound."""

    def test_what_reads_an_alias_is_bound_once_for_each_shape(self) -> None:
        source, alias, out = tensor(), tensor(), tensor()
        kernel = Doubling()

        def view() -> Step:
            array, token = source.array, object()
            return lambda: alias.set_array(array, token)

        registers = [Register(each) for each in (source, alias, out)]
        viewing = DynamicStep(Part("view", view, registers[:1], aliases=registers[1:2]))
        doubling = DynamicStep(double(kernel, registers[1], registers[2]))
        for values in ([1.0], [2.0, 3.0], [4.0], [5.0, 6.0]):
            source.resize((len(values),))
            source.array[...] = values
            viewing()
            doubling()
            assert list(out.array) == [2 * value for value in values]
        assert kernel.shapes == [(1,), (2,)]


class TestNumbers:
    """Steps are bound for each number; numbers that are equal but of another kind are others."""

    def test_equal_numbers_of_other_kinds_are_bound_apart(self) -> None:
        bound: list[object] = []
        number = Register(None)

        def bind() -> Step:
            bound.append(number.value)
            return lambda: None

        step = DynamicStep(Part("note", bind, [number]))
        for value in (1, True, 1.0, 0.0, -0.0, None, "a", 1, True, 0.0):
            number.value = value
            step()
        assert list(map(repr, bound)) == ["1", "True", "1.0", "0.0", "-0.0", "None", "'a'"]


class Joined:
    """Two doublings, one after the other, as one step; `first` and `second` count their bindings."""

    def __init__(self) -> None:
        self.first, self.second = Doubling(), Doubling()
        self.source, self.middle, self.out = (Register(tensor()) for _ in range(3))
        parts = [
            double(self.first, self.source, self.middle)._replace(name="first", can_join=True),
            double(self.second, self.middle, self.out)._replace(name="second", can_join=True),
        ]
        names, self.steps, _ = join(["a", "b"], [*map(DynamicStep, parts)], [False, False], [4, 7])
        assert names == ("first",)

    def run(self, *values: float) -> list[float]:
        source, out = self.source.value, self.out.value
        assert isinstance(source, Tensor)
        assert isinstance(out, Tensor)
        source.resize((len(values),))
        source.array[...] = values
        for step in self.steps:
            step()
        return [float(value) for value in out.array]


class Failing:
    """A call on arrays that fails on demand."""

    def __init__(self) -> None:
        self.is_told = np.zeros(1, bool)

    def step(self) -> Step:
        return ArrayCall(_fail_if, self.is_told)


def _fail_if(is_told: np.ndarray[Any, Any]) -> None:
    if is_told[0]:
        raise ValueError("it was told to")


class TestNeighbors:
    """Instructions that only depend on each other are bound together, with the results of single binding."""

    def test_they_are_bound_once_for_each_shape(self) -> None:
        joined = Joined()
        assert len(joined.steps) == 1
        for _ in range(3):
            assert joined.run(1, 2) == [4, 8]
            assert joined.run(1, 2, 3) == [4, 8, 12]
            assert joined.run() == []
        assert joined.first.shapes == joined.second.shapes == [(2,), (3,), (0,)]

    def test_an_instruction_that_resizes_while_it_runs_ends_a_step(self) -> None:
        source, found, doubled = (Register(tensor()) for _ in range(3))
        kernel = Doubling()

        def find() -> Step:
            given, target = source.value, found.value
            assert isinstance(given, Tensor)
            assert isinstance(target, Tensor)
            array = given.array
            return lambda: write_resized(target, array[array > 0])

        parts = [Part("find", find, [source], [found], can_join=True)]
        parts.append(double(kernel, found, doubled)._replace(can_join=True))
        _, (step,), _ = join(["a", "b"], [*map(DynamicStep, parts)], [False, False], [0, 1])
        given, out = source.value, doubled.value
        assert isinstance(given, Tensor)
        assert isinstance(out, Tensor)
        for values in ([1, -1, 2], [1, 2, 3], [-1, -2, 1], [4, -1, 5], [4, 5, 6]):
            given.resize((3,))
            given.array[...] = values
            step()
            assert list(out.array) == [2 * value for value in values if value > 0]
        assert kernel.shapes == [(2,), (3,), (1,)]

    def test_after_a_failure_tensors_of_later_instructions_are_unchanged(self) -> None:
        failing, kernel = Failing(), Doubling()
        source, out = Register(tensor()), Register(tensor())
        parts = [
            Part("fail", failing.step, [source], can_join=True),
            double(kernel, source, out)._replace(can_join=True),
        ]
        _, (step,), _ = join(["a", "b"], [*map(DynamicStep, parts)], [False, False], [0, 1])
        given, doubled = source.value, out.value
        assert isinstance(given, Tensor)
        assert isinstance(doubled, Tensor)
        for size in (1, 2):
            given.resize((size,))
            step()
        token = doubled.token
        failing.is_told[0] = True
        given.resize((1,))
        with pytest.raises(KernelArgumentError, match=r"^fail: it was told to$"):
            step()
        assert doubled.shape == (2,)
        assert doubled.token is token
        failing.is_told[0] = False
        step()
        assert doubled.shape == (1,)
        assert kernel.shapes == [(1,), (2,)]

    def test_a_tensor_that_was_used_before_begins_another_step(self) -> None:
        kernel = Doubling()
        a, b, c = (Register(tensor()) for _ in range(3))
        pairs = [(a, b), (b, c), (c, b), (b, a)]
        parts = [double(kernel, *pair)._replace(can_join=True) for pair in pairs]
        _, steps, _ = join("abcd", [*map(DynamicStep, parts)], [False] * 4, range(4))
        assert len(steps) == 2

    def test_an_instruction_whose_arguments_have_not_changed_is_not_bound_again(self) -> None:
        kernels = [Doubling(), Doubling(), Doubling()]
        fixed, growing, a, b, c = (Register(tensor()) for _ in range(5))
        pairs = [(fixed, a), (growing, b), (a, c)]
        parts = [
            double(kernel, *each)._replace(can_join=True) for kernel, each in zip(kernels, pairs, strict=True)
        ]
        _, (step,), _ = join("abc", [*map(DynamicStep, parts)], [False] * 3, range(3))
        for size in (1, 2, 3, 2):
            for register, count in ((fixed, 4), (growing, size)):
                assert isinstance(register.value, Tensor)
                register.value.resize((count,))
                register.value.array[...] = size
            step()
            for register, expected in ((b, [2 * size] * size), (c, [4 * size] * 4)):
                assert isinstance(register.value, Tensor)
                assert list(register.value.array) == expected
        assert [each.shapes for each in kernels] == [[(4,)], [(1,), (2,), (3,)], [(4,)]]

    def test_an_instruction_that_cannot_join_stays_by_itself(self) -> None:
        kernel = Doubling()
        a, b, c = (Register(tensor()) for _ in range(3))
        steps = [DynamicStep(double(kernel, a, b)), DynamicStep(double(kernel, b, c))]
        assert join("ab", steps, [False, False], [3, 5]) == (("a", "b"), tuple(steps), (3, 5))

    def test_a_fixed_step_between_them_runs_with_them(self) -> None:
        joined = Joined()
        seen: list[str] = []
        names, (step, last), indices = join(
            "abc",
            [*joined.steps, partial(seen.append, "fixed"), partial(seen.append, "other")],
            [False, True, False],
            [2, 5, 6],
        )
        assert indices == (2, 6)
        step()
        last()
        assert names == ("first", "c")
        assert seen == ["fixed", "other"]
