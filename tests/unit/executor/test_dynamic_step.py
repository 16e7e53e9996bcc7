"""`DynamicStep`: bound for each shape and number that it meets, and only once as long as they return."""

from __future__ import annotations

import tracemalloc
import weakref
from collections.abc import Sequence

import numpy as np
import pytest
from plans import PlanBuilder

from etconfig.executor.plan import DynamicStep
from etconfig.executor.registry import Step
from etconfig.executor.tensor import DTYPES, KEPT_SHAPES, Register, Tensor, memory_of
from etconfig.program.model import TensorShapeDynamism
from etconfig.values import ScalarType

BOUNDED = TensorShapeDynamism.DYNAMIC_BOUND
UNBOUNDED = TensorShapeDynamism.DYNAMIC_UNBOUND


def tensor(dynamism: TensorShapeDynamism = BOUNDED, size: int = 32) -> Tensor:
    memory = None if dynamism is UNBOUNDED else np.zeros(size * 4, np.uint8)
    return Tensor(ScalarType.FLOAT, (size,), (0,), memory, dynamism=dynamism)


class Doubling:
    """A kernel that doubles, and remembers the shapes that it was bound for."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def bind(self, arguments: Sequence[object]) -> Step:
        source, out = arguments
        assert isinstance(source, Tensor)
        assert isinstance(out, Tensor)
        self.shapes.append(source.shape)
        out.resize(source.shape)
        source_array, out_array = source.array, out.array
        return lambda: np.multiply(source_array, 2, out=out_array)


class Doubled:
    """An input, an output, and the step between them."""

    def __init__(self, out: Tensor | None = None) -> None:
        self.kernel = Doubling()
        self.source = tensor()
        self.out = Register(out or tensor())
        source = Register(self.source)
        self.step = DynamicStep(self.kernel.bind, [source, self.out], [source], [self.out])

    def run(self, *values: float) -> list[float]:
        self.source.resize((len(values),))
        self.source.array[...] = values
        self.step()
        out = self.out.value
        assert isinstance(out, Tensor)
        return [float(value) for value in out.array]


class TestShapesThatReturn:
    """What was bound for a shape serves whenever the shape returns, with the same answers."""

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

    def test_another_tensor_in_the_register_is_bound_anew(self) -> None:
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
    """No more than the latest memory of a tensor is held, and that for one shape."""

    def test_what_was_bound_to_memory_that_was_freed_is_forgotten(self) -> None:
        source, out, kernel = tensor(UNBOUNDED), tensor(), Doubling()
        step = DynamicStep(
            kernel.bind, [Register(source), Register(out)], [Register(source)], [Register(out)]
        )
        memories: list[weakref.ref[object]] = []
        for size in (1, 2, 3, 3):
            source.resize((size,))
            step()
            memories.append(weakref.ref(memory_of(source)))
            source.release()
        assert [each() is not None for each in memories] == [False, False, False, True]

    @pytest.mark.parametrize("dtype", [ScalarType.HALF, ScalarType.BFLOAT16])
    def test_large_weights_are_converted_for_one_shape_at_a_time(self, dtype: ScalarType) -> None:
        weight = np.ones((512, 512), np.float32)
        builder = PlanBuilder()
        x, out = (builder.tensor(8, 512, dtype=dtype, dynamism=BOUNDED) for _ in range(2))
        builder.inputs, builder.outputs = [x], [out]
        builder.call("aten::mm.out", x, builder.constant(weight, dtype), out, out)
        assert self.held_bytes(builder, dtype) < 2 * weight.nbytes

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
        """What a method holds after it met as many shapes as are kept, beyond what it was loaded with."""
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

        def view(arguments: Sequence[object]) -> Step:
            array, token = source.array, object()
            return lambda: alias.rebind(array, token)

        registers = [Register(each) for each in (source, alias, out)]
        viewing = DynamicStep(view, registers[:2], registers[:1], aliases=registers[1:2])
        doubling = DynamicStep(kernel.bind, registers[1:], registers[1:2], registers[2:])
        for values in ([1.0], [2.0, 3.0], [4.0], [5.0, 6.0]):
            source.resize((len(values),))
            source.array[...] = values
            viewing()
            doubling()
            assert list(out.array) == [2 * value for value in values]
        assert kernel.shapes == [(1,), (2,)]


class TestNumbers:
    """Numbers decide too; those that are equal but not the same do not stand for each other."""

    def test_equal_numbers_of_other_kinds_are_bound_apart(self) -> None:
        bound: list[object] = []
        number = Register(None)

        def bind(arguments: Sequence[object]) -> Step:
            bound.append(arguments[0])
            return lambda: None

        step = DynamicStep(bind, [number], [number])
        for value in (1, True, 1.0, 0.0, -0.0, None, "a", 1, True, 0.0):
            number.value = value
            step()
        assert list(map(repr, bound)) == ["1", "True", "1.0", "0.0", "-0.0", "None", "'a'"]
