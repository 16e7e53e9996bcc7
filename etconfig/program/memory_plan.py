"""`MemoryPlan`: the places of tensors in a method's arenas, and the instructions that use them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

from etconfig.base.records import record
from etconfig.program import model

Role: TypeAlias = Literal["input", "output", "state", "intermediate"]
"""The purpose of a planned tensor. A state has initial data, and is kept between executes."""

_LISTS = (model.TensorList, model.OptionalTensorList)


@record(frozen=True, kw_only=True)
class Allocation:
    """The place of one tensor.

    Attributes:
        value: Its index in the plan's values.
        tensor: The tensor.
        role: Its purpose.
        first: The first instruction that uses it, counted over all chains; 0 for inputs and states.
        last: The last one; the method's last one for outputs and states.
    """

    value: int
    tensor: model.SerializedTensor
    role: Role
    first: int
    last: int

    @property
    def memory_id(self) -> int:
        """The number of the arena."""
        return self._place.memory_id

    @property
    def offset(self) -> int:
        """Its position in the arena, in bytes."""
        return self._place.memory_offset

    @property
    def size_bytes(self) -> int:
        """The bytes that are planned for it."""
        return self.tensor.size_bytes

    @property
    def _place(self) -> model.AllocationDetails:
        assert self.tensor.allocation_info is not None
        return self.tensor.allocation_info


@record(frozen=True, kw_only=True)
class MemoryPlan:
    """The arenas of one method.

    Attributes:
        instructions: The number of instructions in all chains.
        arena_bytes: The sizes of the arenas by memory id, without empty arenas and the reserved
            memory 0.
        allocations: The planned tensors that something uses.
    """

    instructions: int
    arena_bytes: Mapping[int, int]
    allocations: Sequence[Allocation]

    @cached_property
    def _by_arena(self) -> Mapping[int, list[Allocation]]:
        found: dict[int, list[Allocation]] = {}
        for each in self.allocations:
            found.setdefault(each.memory_id, []).append(each)
        return found

    def of_arena(self, memory_id: int) -> Sequence[Allocation]:
        """Return the tensors in one arena."""
        return self._by_arena.get(memory_id, ())

    def use(self, memory_id: int) -> tuple[float, float]:
        """Return the parts of an arena that are in use at most, and on average over the instructions.

        Counts like `live_bytes`, but takes time in proportion to the tensors, not to the instructions.
        """
        tensors = self.of_arena(memory_id)
        changes = [(each.first, each.size_bytes) for each in tensors]
        changes += [(each.last + 1, -each.size_bytes) for each in tensors]
        most = live = total = 0
        for (index, change), (following, _) in pairwise([*sorted(changes), (self.instructions, 0)]):
            live += change
            most = max(most, live)
            total += live * (following - index)
        size = self.arena_bytes[memory_id]
        return most / size, total / self.instructions / size

    def live_bytes(self, memory_id: int) -> list[int]:
        """Return the bytes of an arena that tensors in use take, for each instruction.

        Tensors that share bytes at one time are counted once each, so a number may exceed the arena.
        """
        changes = [0] * (self.instructions + 1)
        for each in self.of_arena(memory_id):
            changes[each.first] += each.size_bytes
            changes[each.last + 1] -= each.size_bytes
        live, total = [], 0
        for change in changes[:-1]:
            total += change
            live.append(total)
        return live


def read_memory_plan(plan: model.ExecutionPlan) -> MemoryPlan:
    """Return the memory plan of a method.

    A tensor is in use from the first instruction that has it as an argument to the last one. A tensor
    that is in use before a loop and within it stays in use until the loop ends; nested loops count as one.
    """
    instructions = [each for chain in plan.chains for each in chain.instructions]
    uses = _uses(plan, instructions)
    end = max(len(instructions) - 1, 0)
    loops = _loops(plan)
    inputs, outputs = set(_tensors_of(plan, plan.inputs)), set(_tensors_of(plan, plan.outputs))
    allocations: list[Allocation] = []
    for index, tensor in enumerate(plan.values):
        if not isinstance(tensor, model.SerializedTensor) or tensor.allocation_info is None:
            continue
        role = _role(index, tensor, inputs, outputs)
        if index not in uses and role == "intermediate":
            continue
        first, last = uses.get(index, (0, 0))
        first = 0 if role in ("input", "state") else first
        last = end if role == "state" or index in outputs else last
        # the last loop that begins no later than `last`; outermost loops do not overlap
        around = bisect_right(loops, (last, end))
        if around and first < loops[around - 1][0]:
            last = max(last, loops[around - 1][1])
        allocations.append(Allocation(value=index, tensor=tensor, role=role, first=first, last=last))
    sizes = enumerate(plan.non_const_buffer_sizes)
    return MemoryPlan(
        instructions=max(len(instructions), 1),
        arena_bytes={memory_id: size for memory_id, size in sizes if memory_id and size},
        allocations=allocations,
    )


def _role(index: int, tensor: model.SerializedTensor, inputs: set[int], outputs: set[int]) -> Role:
    if index in inputs:
        return "input"
    if tensor.data_buffer_idx > 0 or tensor.external:
        return "state"
    return "output" if index in outputs else "intermediate"


def _uses(
    plan: model.ExecutionPlan, instructions: Sequence[model.Instruction]
) -> Mapping[int, tuple[int, int]]:
    """Return the first and the last instruction that uses each value.

    The items of a list are visited once, not for each instruction that has the list as an argument.
    """
    uses: dict[int, tuple[int, int]] = {}
    for index, instruction in enumerate(instructions):
        for value in _values_of(instruction):
            uses[value] = (uses[value][0] if value in uses else index, index)
    for value, (first, last) in [*uses.items()]:
        for item in _tensors_of(plan, [value]):
            known_first, known_last = uses.get(item, (first, last))
            uses[item] = (min(first, known_first), max(last, known_last))
    return uses


def _values_of(instruction: model.Instruction) -> Iterator[int]:
    """Yield the values that an instruction uses."""
    if isinstance(instruction, (model.KernelCall, model.DelegateCall)):
        yield from instruction.args
    elif isinstance(instruction, model.MoveCall):
        yield from (instruction.move_from, instruction.move_to)
    elif isinstance(instruction, model.JumpFalseCall):
        yield instruction.cond_value_index
    else:
        yield instruction.value_index


def _tensors_of(plan: model.ExecutionPlan, values: Sequence[int]) -> Iterator[int]:
    """Yield the values, and the items of the lists among them."""
    for index in values:
        yield index
        value = plan.values[index]
        if isinstance(value, _LISTS):
            yield from (item for item in value.items if item != -1)


def _loops(plan: model.ExecutionPlan) -> list[tuple[int, int]]:
    """Return the first and the last instruction of each outermost loop, counted over all chains, in order."""
    found, start = [], 0
    for chain in plan.chains:
        for index, each in enumerate(chain.instructions):
            if isinstance(each, model.JumpFalseCall) and each.destination_instruction <= index:
                found.append((start + each.destination_instruction, start + index))
        start += len(chain.instructions)
    merged: list[tuple[int, int]] = []
    for first, last in sorted(found):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
