"""From a plan's serialized `values` to the registers that its instructions work on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import compress, count
from typing import TYPE_CHECKING, overload

import numpy as np

from etconfig.kernel.memory import AddressRange, Array, address_of, allocate_zeroed
from etconfig.kernel.tensor import Register, Tensor, TensorForm
from etconfig.program import model
from etconfig.program.bulk.shared_values import share
from etconfig.program.model import TensorShapeDynamism
from etconfig.program.shared_state import STATE_MEMORY_ID

if TYPE_CHECKING:
    from etconfig.program.program import Program


LISTS_OF_VALUES = (model.IntList, model.TensorList, model.OptionalTensorList)
"""The types of the values whose items are other values."""

_PLAIN = (model.Int, model.Bool, model.Double, model.String, model.DoubleList, model.BoolList)
"""The types of values that need neither memory nor other values."""

_NOT_LOADED: object = object()
_NOT_PLACED = None, None
"""The array and the form of a value that has none when the method is loaded."""


class Registers(Sequence[Register]):
    """One register for each value of a plan, with memory as the plan's memory plan says.

    Planned tensors share arenas, one for each memory id; where they overlap, that is intended. Constants are
    read-only views of the program's bytes, or of its data files'. Lists become tuples; lists of
    integers and tensors hold registers, since their items may change.

    A register is made, and a constant read, on first use: of most tensors of a large plan, only the
    array is ever used. Looking up a constant raises ProgramError if its data are not where the program
    says.

    Attributes:
        arrays: The array of each static planned tensor, by value index; None for other values.
            Tensors of one form at one address share an array.
        forms: The forms of the same tensors.
        values: The plan's values.
        dynamic: The tensors, by value index, whose shape may change.
    """

    def __init__(
        self, program: Program, plan: model.ExecutionPlan, memory: Sequence[Array | None] = ()
    ) -> None:
        """Allocate the arenas, place the planned tensors in them, and set initial states.

        Args:
            program: The program.
            plan: The method.
            memory: Arenas to use instead of new ones, from memory 1 on; None where there is none.

        Raises:
            ProgramError: an initial state, or any external tensor, is not where the program says.
            MemoryError: the memory that the plan requests is not available.
        """
        self._program = program
        # Memory 0 is reserved: nothing lies there, and its size means nothing.
        given = memory or [None] * len(plan.non_const_buffer_sizes[1:])
        self._is_given = [False, *(arena is not None for arena in given)]
        self._arenas = [
            allocate_zeroed(0),
            *(
                allocate_zeroed(size) if arena is None else arena
                for arena, size in zip(given, plan.non_const_buffer_sizes[1:], strict=True)
            ),
        ]
        self._external = program.external_tensors(plan)
        self.values = share(plan.values)
        self._registers: list[Register | None] = [None] * len(plan.values)
        self._forms: dict[object, TensorForm] = {}
        values = self.values
        plain = [value[0] if isinstance(value, _PLAIN) else _NOT_LOADED for value in values.distinct]
        self._initial = [*values.spread(plain)]
        # equal values are one object in `distinct`: each is placed once, and its array spread to all of them
        tensors = [value if isinstance(value, model.SerializedTensor) else None for value in values.distinct]
        placed = [_NOT_PLACED if tensor is None else self._place(tensor) for tensor in tensors]
        self.arrays = [*values.spread([array for array, _ in placed])]
        self.forms = [*values.spread([form for _, form in placed])]
        is_dynamic = [each and each.shape_dynamism is not TensorShapeDynamism.STATIC for each in tensors]
        self.dynamic = [*compress(count(), values.spread(is_dynamic))]
        names = [each and each.attribute_name for each in tensors]
        self._names = [*values.spread(names)] if any(names) else []

    def __len__(self) -> int:
        return len(self._registers)

    @overload
    def __getitem__(self, index: int) -> Register: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Register]: ...

    def __getitem__(self, index: int | slice) -> Register | Sequence[Register]:
        if isinstance(index, slice):
            return [self[each] for each in range(len(self))[index]]
        register = self._registers[index]
        if register is None:
            value = self.values[index]
            if isinstance(value, LISTS_OF_VALUES):
                content: object = tuple([None if item == -1 else self[item] for item in value.items])
            else:
                content = self.initial(index)
            register = self._registers[index] = Register(content)
        return register

    def attributes(self) -> dict[str, Tensor]:
        """Return the tensors that the program names as attributes; as in ExecuTorch, the first of a name."""
        places = {name: index for index, name in reversed([*enumerate(self._names)]) if name}
        return {name: tensor for name in places if isinstance(tensor := self.initial(places[name]), Tensor)}

    def initial(self, index: int) -> object:
        """Return the argument that a kernel gets for value `index`, unless it varies: see `current_value`."""
        found = self._initial[index]
        if found is _NOT_LOADED:
            found = self._initial[index] = self._load(index, self.values[index])
        return found

    def initial_values(self, indices: Iterable[int]) -> list[object]:
        """Return `initial` of each value, in less time."""
        known = self._initial
        return [
            found if (found := known[index]) is not _NOT_LOADED else self.initial(index) for index in indices
        ]

    def is_constant(self, index: int) -> bool:
        """Return whether value `index` is a constant tensor."""
        value = self.values[index]
        return isinstance(value, model.SerializedTensor) and value.is_constant

    @cached_property
    def planned_places(self) -> Sequence[AddressRange | None]:
        """The addresses of each planned tensor at its planned sizes; None for values without such bytes."""
        return self.values.spread([*map(self._planned_place, self.values.distinct)])

    def _planned_place(self, value: model.EValue) -> AddressRange | None:
        if not isinstance(value, model.SerializedTensor) or value.allocation_info is None:
            return None
        if value.shape_dynamism is TensorShapeDynamism.DYNAMIC_UNBOUND:
            return None
        memory_id, offset = value.allocation_info
        start, size_bytes = self._addresses[memory_id] + offset, value.size_bytes
        return (start, start + size_bytes) if size_bytes else None

    @cached_property
    def visible_outside(self) -> Sequence[AddressRange]:
        """The addresses that others than this Method may read: state in an arena that is not its own."""
        if len(self._arenas) <= STATE_MEMORY_ID or not self._is_given[STATE_MEMORY_ID]:
            return ()
        start = self._addresses[STATE_MEMORY_ID]
        return [(start, start + len(self._arenas[STATE_MEMORY_ID]))]

    @cached_property
    def _addresses(self) -> list[int]:
        return [*map(address_of, self._arenas)]

    def _place(self, value: model.SerializedTensor) -> tuple[Array | None, TensorForm | None]:
        """Write a tensor's initial state; return its array and its form if it is planned and static."""
        if value.allocation_info is None:
            return _NOT_PLACED
        memory_id, offset = value.allocation_info
        arena = self._arenas[memory_id]
        if value.data_buffer_idx > 0 or value.external:
            state = np.frombuffer(self._stored_data(value), np.uint8)
            arena[offset : offset + value.size_bytes] = state
        if value.shape_dynamism is not TensorShapeDynamism.STATIC:
            return _NOT_PLACED
        form = self._form(value)
        return np.ndarray(form.bounds, form.dtype, arena, offset, form.strides), form

    def _load(self, index: int, value: model.EValue) -> object:
        if isinstance(value, model.SerializedTensor):
            return self._load_tensor(index, value)
        if isinstance(value, model.IntList):
            return tuple(self.initial_values(value.items))
        if isinstance(value, LISTS_OF_VALUES):
            return tuple([None if item == -1 else self.initial(item) for item in value.items])
        return None

    def _load_tensor(self, index: int, value: model.SerializedTensor) -> Tensor:
        form = self.forms[index] or self._form(value)
        place = value.allocation_info
        if place is None and value.is_constant:
            return Tensor.of_form(form, self._stored_data(value).toreadonly())
        if place is None:
            tensor = Tensor.of_form(form, None)
            if form.dynamism is TensorShapeDynamism.STATIC:
                tensor.ensure_memory()  # its reader may be bound before its writer, which allocates otherwise
            return tensor
        memory_id, offset = place
        if value.shape_dynamism is TensorShapeDynamism.DYNAMIC_UNBOUND:
            has_state = value.data_buffer_idx > 0 or value.external
            state = self._arenas[memory_id][offset : offset + value.size_bytes]
            return Tensor.of_form(form, state if has_state else None)
        return Tensor.of_form(form, self._arenas[memory_id], offset, self.arrays[index])

    def _form(self, value: model.SerializedTensor) -> TensorForm:
        """Return the form that all tensors like this one share."""
        key = (*value[:3], value.shape_dynamism)
        form = self._forms.get(key)
        if form is None:
            form = self._forms[key] = TensorForm(*key)
        return form

    def _stored_data(self, value: model.SerializedTensor) -> memoryview:
        """Return the bytes of a constant, or of the initial state of a mutable tensor."""
        if value.external:
            return self._external[str(value.fully_qualified_name)]
        if value.allocation_info is None:
            return self._program.constant(value.data_buffer_idx, value.size_bytes)
        return self._program.mutable_initial_data(
            value.mutable_data_segments_idx, value.data_buffer_idx, value.size_bytes
        )


def current_value(register: Register) -> object:
    """Return the argument that a kernel gets for a register: its value, with list items looked up."""
    value = register.value
    if type(value) is tuple:
        return tuple([item.value if type(item) is Register else item for item in value])
    return value
