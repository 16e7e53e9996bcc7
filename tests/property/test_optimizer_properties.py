"""Plans with any memory plan and constants give the same outputs with and without the optimizer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from effort import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import PlanBuilder

ARENA_BYTES = 160
SHAPES = ((2, 3), (3, 2), (6,), (4,), (2, 2), (1, 6))
"""Few and small, so that tensors meet in memory."""

Draw = Callable[..., object]


class _Plan:
    """A plan that grows by drawing; every tensor may lie anywhere in the arena."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self.builder = PlanBuilder()
        self.shapes: dict[int, tuple[int, ...]] = {}
        for _ in range(2):
            self.builder.inputs.append(self._tensor((2, 3)))
        for shape in draw(st.lists(st.sampled_from(SHAPES), max_size=2)):
            values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 2
            self.shapes[self.builder.constant(values)] = shape

    def _tensor(self, shape: tuple[int, ...]) -> int:
        """A new tensor, at a place of its own or over others."""
        room = (ARENA_BYTES - 4 * int(np.prod(shape))) // 4
        index = self.builder.tensor(*shape, offset=4 * self._draw(st.integers(0, room)))
        self.shapes[index] = shape
        return index

    def _any(self, fits: Callable[[tuple[int, ...]], bool] = lambda _: True) -> int | None:
        found = [index for index, shape in self.shapes.items() if fits(shape)]
        return self._draw(st.sampled_from(found)) if found else None

    def _any_planned(self, fits: Callable[[tuple[int, ...]], bool] = lambda _: True) -> int | None:
        values = self.builder.values
        found = [each for each in self.shapes if fits(self.shapes[each]) and not values[each].is_constant]
        return self._draw(st.sampled_from(found)) if found else None

    def _target(self, shape: tuple[int, ...]) -> int:
        """Return the tensor that an instruction writes: mostly a new one, sometimes a used one."""
        if self._draw(st.integers(0, 4)) > 0:
            return self._tensor(shape)
        return self._any_planned(lambda each: each == shape) or self._tensor(shape)

    def view_copy(self) -> None:
        source = self._any()
        same_size = [each for each in SHAPES if np.prod(each) == np.prod(self.shapes[source])]
        shape = self._draw(st.sampled_from([self.shapes[source], *same_size]))
        out = self._target(shape)
        self.builder.call("aten::view_copy.out", source, self.builder.ints(*shape), out, out)

    def permute_copy(self) -> None:
        source = self._any(lambda shape: len(shape) == 2)
        out = self._target(self.shapes[source][::-1])
        self.builder.call("aten::permute_copy.out", source, self.builder.ints(1, 0), out, out)

    def slice_copy(self) -> None:
        source = self._any(lambda shape: shape[0] > 1)
        start = self._draw(st.integers(0, 1))
        out = self._target((self.shapes[source][0] - start, *self.shapes[source][1:]))
        numbers = [self.builder.scalar(each) for each in (0, start, None, 1)]
        self.builder.call("aten::slice_copy.Tensor_out", source, *numbers, out, out)

    def relu(self) -> None:
        source = self._any()
        out = self._target(self.shapes[source])
        self.builder.call("aten::relu.out", source, out, out)

    def add(self) -> None:
        first = self._any()
        second = self._any(lambda shape: shape == self.shapes[first])
        self.builder.add_(first, second, self._target(self.shapes[first]))

    def matrix_product(self) -> None:
        first = self._any(lambda shape: len(shape) == 2)
        second = self._any(lambda shape: len(shape) == 2 and shape[0] == self.shapes[first][1])
        if second is not None:
            out = self._target((self.shapes[first][0], self.shapes[second][1]))
            self.builder.call("aten::mm.out", first, second, out, out)

    def copy_in_place(self) -> None:
        target = self._any_planned()
        source = self._any(lambda shape: shape == self.shapes[target])
        self.builder.call("aten::copy_", target, source, self.builder.scalar(False), target)

    def grow(self) -> None:
        grow = self._draw(
            st.sampled_from(
                (
                    *(self.view_copy, self.permute_copy, self.slice_copy, self.relu, self.add),
                    *(self.matrix_product, self.copy_in_place, self.alias),
                )
            )
        )
        grow()

    def alias(self) -> None:
        """Another tensor at the place of one, as a view that was planned ahead of time."""
        index = self._any_planned()
        place = self.builder.values[index].allocation_info
        self.shapes[self.builder.tensor(*self.shapes[index], offset=place.memory_offset)] = self.shapes[index]


@st.composite
def plans(draw: Draw) -> PlanBuilder:
    plan = _Plan(draw)
    for _ in range(draw(st.integers(1, 9))):
        plan.grow()
    plan.builder.outputs += draw(st.lists(st.sampled_from(sorted(plan.shapes)), min_size=1, max_size=3))
    plan.builder.planned_bytes = ARENA_BYTES
    return plan.builder


class TestRandomMemoryPlans:
    """The optimizer changes no output, however tensors share memory."""

    @settings(max_examples=scaled(250), deadline=None)
    @given(plans())
    def test_outputs_are_the_same_bits_in_every_run(self, plan: PlanBuilder) -> None:
        faithful, optimized = plan.load(optimize=False), plan.load()
        for run in range(3):
            inputs = [np.arange(6, dtype=np.float32).reshape(2, 3) * sign + run for sign in (1, -1)]
            for expected, given_ in zip(faithful.execute(inputs), optimized.execute(inputs), strict=True):
                np.testing.assert_array_equal(given_, expected)
