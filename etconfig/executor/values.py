"""From a plan's serialized `values` to the registers that its instructions work on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from etconfig.executor.memory import Array, allocate_zeroed
from etconfig.executor.tensor import Register, Tensor, TensorForm
from etconfig.program import model

if TYPE_CHECKING:
    from etconfig.program import Program


def load_registers(program: Program, plan: model.ExecutionPlan) -> tuple[Register, ...]:
    """One register for each value of `plan`, with memory as the plan's memory plan says.

    Planned tensors share arenas, one for each memory id: overlaps carry meaning. Constants
    are read-only views of the program's bytes, or of its data files'. Lists become tuples; those of
    integers and tensors hold registers, since their items may change.

    Raises:
        ProgramError: the data of a tensor are not where the program says.
        MemoryError: the memory that the plan asks for cannot be had.
    """
    external = program.external_tensors(plan)
    arenas = [allocate_zeroed(size_bytes) for size_bytes in plan.non_const_buffer_sizes]
    registers = tuple(Register(None) for _ in plan.values)
    load_tensor = _TensorLoader(program, external, arenas)
    for register, value in zip(registers, plan.values, strict=True):
        if type(value) is model.Tensor:
            register.value = load_tensor(value)
        elif type(value) is model.Int:
            register.value = value[0]
        elif isinstance(value, (model.IntList, model.TensorList, model.OptionalTensorList)):
            register.value = tuple(None if item == -1 else registers[item] for item in value.items)
        elif isinstance(value, (model.DoubleList, model.BoolList)):
            register.value = value.items
        elif value is not None:
            register.value = value[0]
    return registers


def current_value(register: Register) -> object:
    """What a kernel is given for a register: its value, with the items of a list looked up."""
    value = register.value
    if type(value) is tuple:
        return tuple(item.value if type(item) is Register else item for item in value)
    return value


class _TensorLoader:
    """Places the tensors of one plan."""

    def __init__(self, program: Program, external: Mapping[str, memoryview], arenas: Sequence[Array]) -> None:
        self._program = program
        self._external = external
        self._arenas = arenas
        self._forms: dict[object, TensorForm] = {}

    def __call__(self, value: model.Tensor) -> Tensor:
        form = self._form(value)
        place = value.allocation_info
        if place is None:
            memory = self._stored_data(value).toreadonly() if value.is_constant else None
            return Tensor.of_form(form, memory)
        memory_id, offset = place
        if value.shape_dynamism is model.TensorShapeDynamism.DYNAMIC_UNBOUND:
            return Tensor.of_form(form, None)
        arena = self._arenas[memory_id]
        if value.data_buffer_idx > 0 or value.external:
            initial = np.frombuffer(self._stored_data(value), np.uint8)
            arena[offset : offset + value.size_bytes] = initial
        return Tensor.of_form(form, arena, offset)

    def _form(self, value: model.Tensor) -> TensorForm:
        """The form that all tensors like `value` share."""
        scalar_type, sizes, dim_order, _, _, dynamism, *_ = value
        key = (scalar_type, sizes, dim_order, dynamism)
        form = self._forms.get(key)
        if form is None:
            form = self._forms[key] = TensorForm(scalar_type, sizes, dim_order, dynamism)
        return form

    def _stored_data(self, value: model.Tensor) -> memoryview:
        """The bytes of a constant, or of the initial state of a mutable tensor."""
        if value.external:
            return self._external[str(value.fully_qualified_name)]
        if value.allocation_info is None:
            return self._program.constant(value.data_buffer_idx, value.size_bytes)
        return self._program.mutable_initial_data(
            value.mutable_data_segments_idx, value.data_buffer_idx, value.size_bytes
        )
