"""The memory plan of a method: the places and lifetimes of tensors."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
from plans import PlanBuilder

from etconfig.program.memory_plan import Allocation, MemoryPlan, read_memory_plan


def lifetimes(builder: PlanBuilder) -> dict[int, tuple[str, int, int]]:
    """Return role, first and last instruction by value."""
    return {
        each.value: (each.role, each.first, each.last)
        for each in read_memory_plan(builder.plan()).allocations
    }


def chain(length: int) -> tuple[PlanBuilder, list[int]]:
    """Add `x` to itself, the result to `x` again, and so on."""
    builder = PlanBuilder()
    values = [builder.tensor(4) for _ in range(length + 1)]
    builder.inputs.append(values[0])
    builder.outputs.append(values[-1])
    for before, after in pairwise(values):
        builder.add_(before, before, after)
    return builder, values


class TestLifetimes:
    """A tensor is in use from the first instruction that has it to the last one."""

    def test_of_inputs_intermediates_and_outputs(self) -> None:
        builder, (x, a, b, y) = chain(3)
        assert lifetimes(builder) == {
            x: ("input", 0, 0),
            a: ("intermediate", 0, 1),
            b: ("intermediate", 1, 2),
            y: ("output", 2, 2),
        }

    def test_a_state_is_kept_throughout(self) -> None:
        builder, (x, a, _) = chain(2)
        state = builder.tensor(4, initial=np.zeros(4, np.float32))
        builder.add_(x, a, state)
        assert lifetimes(builder)[state] == ("state", 0, 2)

    def test_the_tensors_of_a_list_are_used_with_it(self) -> None:
        builder, (x, a, y) = chain(2)
        builder.call("aten::cat.out", builder.tensors(x, a), builder.scalar(0), y, y)
        assert lifetimes(builder)[a] == ("intermediate", 0, 2)

    def test_a_list_that_many_calls_share_is_visited_once(self) -> None:
        builder = PlanBuilder()
        items = [builder.tensor(1) for _ in range(1000)]
        shared, out = builder.tensors(*items), builder.tensor(1000)
        for _ in range(1000):
            builder.call("aten::cat.out", shared, builder.scalar(0), out, out)
        plan = builder.plan()
        tracemalloc.start()
        allocations = read_memory_plan(plan).allocations
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak_bytes < 1_000_000  # 1,000 x 1,000 references alone would take eight times as much
        assert {(each.first, each.last) for each in allocations} == {(0, 999)}

    def test_tensors_of_a_loop_are_in_use_until_it_ends(self) -> None:
        builder, (_, a, b, _) = chain(3)
        condition = builder.scalar(False)
        builder.jump_unless(condition, 1)
        assert lifetimes(builder)[a] == ("intermediate", 0, 3)
        assert lifetimes(builder)[b] == ("intermediate", 1, 2)

    def test_nested_loops_count_as_one(self) -> None:
        builder, (_, a, b, _) = chain(3)
        condition = builder.scalar(False)
        for destination in (2, 1):
            builder.jump_unless(condition, destination)
        assert lifetimes(builder)[a] == ("intermediate", 0, 4)
        assert lifetimes(builder)[b] == ("intermediate", 1, 2)

    def test_a_tensor_that_nothing_uses_is_left_out(self) -> None:
        builder, values = chain(1)
        builder.tensor(4)
        assert set(lifetimes(builder)) == set(values)

    def test_a_method_without_instructions_has_its_inputs(self) -> None:
        builder = PlanBuilder()
        builder.inputs.append(builder.tensor(4))
        assert lifetimes(builder) == {0: ("input", 0, 0)}


class TestUse:
    """The bytes of an arena in use at each instruction."""

    def test_the_use_is_that_of_the_live_bytes(self) -> None:
        builder, (x, *_, y) = chain(5)
        builder.add_(x, y, builder.tensor(100))
        plan = read_memory_plan(builder.plan())
        live, size = plan.live_bytes(1), plan.arena_bytes[1]
        assert plan.use(1) == (max(live) / size, sum(live) / len(live) / size)

    def test_an_arena_without_tensors_is_not_used(self) -> None:
        plan = MemoryPlan(instructions=1, arena_bytes={1: 64}, allocations=())
        assert plan.use(1) == (0, 0)

    def test_the_reserved_memory_is_not_an_arena(self) -> None:
        builder, _ = chain(1)
        plan = builder.plan()._replace(non_const_buffer_sizes=(2**60, 32))
        assert read_memory_plan(plan).arena_bytes == {1: 32}

    def test_sizes_and_live_bytes(self) -> None:
        builder, _ = chain(3)
        plan = read_memory_plan(builder.plan())
        assert plan.arena_bytes == {1: 64}
        assert plan.live_bytes(1) == [32, 32, 32]
        assert plan.use(1) == (0.5, 0.5)
        places = [(each.memory_id, each.offset, each.size_bytes) for each in plan.of_arena(1)]
        assert places == [(1, 0, 16), (1, 16, 16), (1, 32, 16), (1, 48, 16)]
        assert all(isinstance(each, Allocation) for each in plan.of_arena(1))
