"""State that several methods of a program share: mutable buffers at one place of a memory plan.

ExecuTorch's exporter gives a mutable buffer the same place in memory 2 of every method if a program is
exported with `MemoryPlanningPass(share_mutable_buffers=True)`. The file itself names this nowhere: shared
state is recognized by its place, and by instructions that use it before any has written it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from etconfig.base.records import record
from etconfig.base.scalar_types import ScalarType
from etconfig.program import model

STATE_MEMORY_ID = 2
"""The memory in which the exporter places shared mutable buffers. Source: memory_planning_pass.py."""

SHARED_MEMORY_IDS = (1, STATE_MEMORY_ID)
"""The memories that methods with shared arenas have in common; those above belong to one method, as in
ExecuTorch's Module. Source: extension/module/module.h."""

WRITE_BACK = "aten::copy_"
"""The operator with which a method writes the new value of a mutable buffer to its place, at its end."""

_LISTS = (model.TensorList, model.OptionalTensorList)


def shared_arena_sizes(plans: Iterable[model.ExecutionPlan]) -> list[int]:
    """Return the sizes of the memories that methods with these plans share, in the order of their ids."""
    planned = [[*plan.non_const_buffer_sizes, 0, 0] for plan in plans]
    return [max(sizes[memory_id] for sizes in planned) for memory_id in SHARED_MEMORY_IDS]


@record(frozen=True, kw_only=True)
class StateTensor:
    """A mutable buffer of one method.

    Attributes:
        memory_id: Its memory.
        offset: Its position there, in bytes.
        size_bytes: Its size.
        scalar_type: Its element type.
        name: Its name in the model, if the program was exported with `emit_mutable_buffer_names=True`.
        is_certain: False if a delegate uses it first: that may be an output of the delegate, or its input.
    """

    memory_id: int
    offset: int
    size_bytes: int
    scalar_type: ScalarType
    name: str | None
    is_certain: bool

    def __str__(self) -> str:
        place = f"{self.size_bytes} bytes of {self.scalar_type.dtype_name} at {self.offset} of memory"
        return self.name or f"{place} {self.memory_id}"

    def is_same(self, other: StateTensor) -> bool:
        """Return True if this and a buffer of another method are one buffer when arenas are shared."""
        named = self.name is None or other.name is None or self.name == other.name
        return named and self._place == other._place

    @property
    def _place(self) -> tuple[int, int, int, ScalarType]:
        return self.memory_id, self.offset, self.size_bytes, self.scalar_type


@record(frozen=True, kw_only=True)
class PlannedState:
    """The mutable buffers of one method in the memories that methods may share.

    Attributes:
        method: The method's name.
        sizes: The sizes of its memories, by memory id.
        states: Its mutable buffers.
        others: The other planned tensors that it uses, as memory id, first byte and the byte after the last.
    """

    method: str
    sizes: tuple[int, ...]
    states: Sequence[StateTensor]
    others: Sequence[tuple[int, int, int]]

    def shared_with(self, other: PlannedState) -> list[StateTensor]:
        """Return the mutable buffers that the exporter placed for this method and `other` in common.

        Memory 2 is the exporter's place for them if it has equal sizes in both methods and contains
        nothing else. At least one of the two must use the buffer in a way that only state allows.
        """
        if not self.sizes[STATE_MEMORY_ID:] or not other.sizes[STATE_MEMORY_ID:]:
            return []
        if self.sizes[STATE_MEMORY_ID] != other.sizes[STATE_MEMORY_ID]:
            return []
        if any(memory_id == STATE_MEMORY_ID for memory_id, *_ in (*self.others, *other.others)):
            return []
        mine, theirs = (
            [each for each in plan.states if each.memory_id == STATE_MEMORY_ID] for plan in (self, other)
        )
        pairs = [(one, two) for one in mine for two in theirs if one.is_same(two)]
        return [one if one.name else two for one, two in pairs if one.is_certain or two.is_certain]

    def overwritten_by(self, other: PlannedState) -> StateTensor | None:
        """Return a mutable buffer that `other` would overwrite if the two shared arenas, or None.

        In memory 2, both may mean one buffer. Memory 1 contains state only if the exporter gave each
        method buffers of its own: also those at one place are different ones.
        """
        taken = [*other.others, *(_extent(each) for each in other.states)]
        for state in self.states:
            memory_id, start, end = _extent(state)
            is_meant = memory_id == STATE_MEMORY_ID and any(state.is_same(each) for each in other.states)
            if is_meant or not state.is_certain:
                continue
            if any(there == memory_id and first < end and start < last for there, first, last in taken):
                return state
        return None


def shared_state_of(plans: Iterable[model.ExecutionPlan]) -> Mapping[str, tuple[str, ...]]:
    """Return the methods that share state, by the name, or place, of the buffer."""
    states = [
        read_planned_state(plan) for plan in plans if len(plan.non_const_buffer_sizes) > STATE_MEMORY_ID
    ]
    found: dict[str, dict[str, None]] = {}
    for one, other in combinations(states, 2):
        for state in one.shared_with(other):
            found.setdefault(str(state), {}).update(dict.fromkeys((one.method, other.method)))
    return {state: tuple(methods) for state, methods in found.items()}


def unshared_state(method: str, other: str, shared: Sequence[StateTensor]) -> str:
    """Return a warning: two methods share state in the model, but their Methods do not."""
    return (
        f"methods {method!r} and {other!r} share state in this program ({', '.join(map(str, shared))}), but "
        "each Method was loaded with memory of its own and does not see what the other one writes; load the "
        "program with load_program(..., share_memory_arenas=True)"
    )


def read_planned_state(plan: model.ExecutionPlan) -> PlannedState:
    """Find the mutable buffers of a method.

    A planned tensor is one if the program names it or stores its initial value, or if an instruction, or
    the method's output, uses it before any instruction has written to its bytes.
    """
    reader = _StateReader(plan)
    reader.read()
    return PlannedState(
        method=plan.name,
        sizes=plan.non_const_buffer_sizes,
        states=tuple(reader.states.values()),
        others=tuple(reader.others()),
    )


class _StateReader:
    """Follows the instructions of a plan once, in their order, and collects the states."""

    def __init__(self, plan: model.ExecutionPlan) -> None:
        self._plan = plan
        self._written = {memory_id: _Bytes() for memory_id in SHARED_MEMORY_IDS}
        self._used: set[int] = set()
        self.states: dict[tuple[int, int, int], StateTensor] = {}

    def read(self) -> None:
        for index in self._tensors(self._plan.inputs):
            self._write(index)
        for chain in self._plan.chains:
            for instruction in chain.instructions:
                if isinstance(instruction, model.KernelCall):
                    self._read_kernel(instruction)
                elif isinstance(instruction, model.DelegateCall):
                    for index in self._tensors(instruction.args):
                        self._touch(index, is_certain=False)
                        self._write(index)
        for index in self._tensors(self._plan.outputs):
            self._touch(index, is_certain=True)

    def others(self) -> Iterator[tuple[int, int, int]]:
        """Yield the places of the tensors that are used, and lie in no state."""
        found = {place for index in self._used if (place := self._place(index))}
        for memory_id, start, end in sorted(found):
            inside = (
                state.memory_id == memory_id
                and state.offset <= start
                and end <= state.offset + state.size_bytes
                for state in self.states.values()
            )
            if not any(inside):
                yield memory_id, start, end

    def _read_kernel(self, call: model.KernelCall) -> None:
        outputs = _outputs_of(self._plan, call.args)
        written = set(self._tensors(outputs))
        name = self._plan.operators[call.op_index].name
        if name.endswith("_"):  # in place: it needs what was there before
            written = set()
        for index in self._tensors(call.args):
            if index not in written:
                self._touch(index, is_certain=True)
        if name == WRITE_BACK:
            self._confirm(call.args[0])
        for index in self._tensors(outputs or call.args):
            self._write(index)

    def _touch(self, index: int, *, is_certain: bool) -> None:
        """Note that an instruction uses a tensor, perhaps for reading."""
        self._used.add(index)
        place = self._place(index)
        if place is None:
            return
        memory_id, start, end = place
        tensor = self._plan.values[index]
        assert isinstance(tensor, model.SerializedTensor)
        is_stored = tensor.attribute_name is not None or tensor.data_buffer_idx > 0 or tensor.external
        if not is_stored and self._written[memory_id].overlap(start, end):
            return
        known = self.states.get(place)
        if known is None or (is_certain and not known.is_certain):
            self.states[place] = StateTensor(
                memory_id=memory_id,
                offset=start,
                size_bytes=end - start,
                scalar_type=tensor.scalar_type,
                name=tensor.attribute_name,
                is_certain=is_certain or is_stored,
            )

    def _confirm(self, index: int) -> None:
        """Note that a tensor is state, if a delegate used it first."""
        place = self._place(index)
        state = None if place is None else self.states.get(place)
        if place is not None and state is not None and not state.is_certain:
            self.states[place] = replace(state, is_certain=True)

    def _write(self, index: int) -> None:
        self._used.add(index)
        place = self._place(index)
        if place is not None and not (place in self.states and self.states[place].is_certain):
            memory_id, start, end = place
            self._written[memory_id].add(start, end)

    def _place(self, index: int) -> tuple[int, int, int] | None:
        tensor = self._plan.values[index]
        if not isinstance(tensor, model.SerializedTensor) or tensor.allocation_info is None:
            return None
        memory_id, start = tensor.allocation_info
        if memory_id not in SHARED_MEMORY_IDS or not tensor.size_bytes:
            return None
        return memory_id, start, start + tensor.size_bytes

    def _tensors(self, values: Iterable[int]) -> Iterator[int]:
        """Yield the values that are tensors, and the items of lists of them."""
        for index in values:
            value = self._plan.values[index]
            if isinstance(value, model.SerializedTensor):
                yield index
            elif isinstance(value, _LISTS):
                yield from (item for item in value.items if item != -1)


class _Bytes:
    """A set of bytes, as the boundaries of ranges that do not touch."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last], self._ends[first:last] = [start], [end]

    def overlap(self, start: int, end: int) -> bool:
        """Return True if any of the bytes from `start` to `end` is in the set."""
        at = bisect_right(self._ends, start)
        return at < len(self._starts) and self._starts[at] < end


def _outputs_of(plan: model.ExecutionPlan, args: Sequence[int]) -> Sequence[int]:
    """Return the outputs of a kernel call, or none.

    The exporter writes a single output twice at the end. Several outputs, and a list as output, are repeated
    as a list of its own. Source: _emit_operator, exir/emit/_emitter.py.
    """
    if len(args) < 2:
        return ()
    if args[-2] == args[-1]:
        return args[-1:]
    repeated = plan.values[args[-1]]
    if not isinstance(repeated, _LISTS) or not repeated.items:
        return ()
    listed = plan.values[args[-2]]
    if isinstance(listed, _LISTS) and tuple(listed.items) == tuple(repeated.items):
        return args[-2:-1]
    count = len(repeated.items)
    return args[-1 - count : -1] if tuple(args[-1 - count : -1]) == tuple(repeated.items) else ()


def _extent(state: StateTensor) -> tuple[int, int, int]:
    return state.memory_id, state.offset, state.offset + state.size_bytes
