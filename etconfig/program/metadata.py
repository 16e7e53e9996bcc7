"""`MethodMeta` and `TensorInfo`: the inputs and outputs of a method, known without loading it.

Also the backends and operators that a program calls, and the element types that its delegates receive.

Names follow executorch.runtime.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import ProgramError
from etconfig.program import model

if TYPE_CHECKING:
    from etconfig.program.program import Program


class TensorInfo:
    """The shape, type and memory of a tensor."""

    def __init__(self, tensor: model.SerializedTensor) -> None:
        self._tensor = tensor

    def sizes(self) -> tuple[int, ...]:
        """Return the sizes; upper bounds if the shape is dynamic."""
        return self._tensor.sizes

    def dim_order(self) -> tuple[int, ...]:
        """Return the dimensions from outermost to innermost in memory."""
        return self._tensor.dim_order

    def dtype(self) -> ScalarType:
        """Return the element type, a member of an integer enumeration with ExecuTorch's numbers."""
        return self._tensor.scalar_type

    def shape_dynamism(self) -> model.TensorShapeDynamism:
        """Return in which way the shape may change."""
        return self._tensor.shape_dynamism

    def is_memory_planned(self) -> bool:
        """Return True if the program, not the caller, provides the memory."""
        return self._tensor.allocation_info is not None or self._tensor.is_constant

    def nbytes(self) -> int:
        """Return the size of the data in bytes, at the upper bounds if the shape is dynamic."""
        return self._tensor.size_bytes

    def __repr__(self) -> str:
        return (
            f"TensorInfo(sizes={list(self.sizes())}, dtype={self.dtype().dtype_name}, "
            f"is_memory_planned={self.is_memory_planned()}, nbytes={self.nbytes()})"
        )


class MethodMeta:
    """The inputs, outputs and attributes of a method."""

    def __init__(self, plan: model.ExecutionPlan) -> None:
        self._name = plan.name
        self._inputs = [plan.values[index] for index in plan.inputs]
        self._outputs = [plan.values[index] for index in plan.outputs]
        self._plan = plan

    def name(self) -> str:
        """Return the method's name, such as `forward`."""
        return self._name

    def num_inputs(self) -> int:
        """Return the number of inputs of `execute`."""
        return len(self._inputs)

    def num_outputs(self) -> int:
        """Return the number of outputs of `execute`."""
        return len(self._outputs)

    def input_tag(self, index: int) -> str:
        """Return the kind of input `index`: Tensor, Int, Bool, Double, String, or None for a symbolic number.

        Raises:
            IndexError: there is no such input.
        """
        return _tag(self._at(self._inputs, index, "input"))

    def output_tag(self, index: int) -> str:
        """Return the kind of output `index`, as `input_tag` does.

        Raises:
            IndexError: there is no such output.
        """
        return _tag(self._at(self._outputs, index, "output"))

    def input_tensor_meta(self, index: int) -> TensorInfo:
        """Return the shape, type and memory of input `index`.

        Raises:
            IndexError: there is no such input.
            TypeError: it is not a tensor.
        """
        return _tensor_info(self._at(self._inputs, index, "input"), f"input {index}")

    def output_tensor_meta(self, index: int) -> TensorInfo:
        """Return the shape, type and memory of output `index`.

        Raises:
            IndexError: there is no such output.
            TypeError: it is not a tensor.
        """
        return _tensor_info(self._at(self._outputs, index, "output"), f"output {index}")

    def num_attributes(self) -> int:
        """Return the number of attributes, which are mutable buffers with a name."""
        return len(self._attributes)

    def attribute_names(self) -> tuple[str, ...]:
        """Return the attributes' names, in the order of the program."""
        return tuple(self._attributes)

    def attribute_tensor_meta(self, index: int) -> TensorInfo:
        """Return the shape, type and memory of attribute `index`.

        Raises:
            IndexError: there is no such attribute.
        """
        return _tensor_info(self._at([*self._attributes.values()], index, "attribute"), f"attribute {index}")

    def num_memory_planned_buffers(self) -> int:
        """Return the number of planned buffers: arenas that `load_method` allocates, or takes as `memory`."""
        return len(self._plan.non_const_buffer_sizes[1:])

    def memory_planned_buffer_size(self, index: int) -> int:
        """Return the size in bytes of planned buffer `index`, which is memory `index + 1` of the plan.

        Raises:
            IndexError: there is no such buffer.
        """
        if not 0 <= index < self.num_memory_planned_buffers():
            count = self.num_memory_planned_buffers()
            raise IndexError(
                f"method {self._name!r} has {count} planned buffer(s); there is no planned buffer {index}"
            )
        return self._plan.non_const_buffer_sizes[index + 1]

    @cached_property
    def _attributes(self) -> dict[str, model.SerializedTensor]:
        return self._plan.attributes()

    def __repr__(self) -> str:
        inputs = ", ".join(map(_describe, self._inputs))
        outputs = ", ".join(map(_describe, self._outputs))
        return f"MethodMeta(name={self._name!r}, inputs=[{inputs}], outputs=[{outputs}])"

    def _at(self, values: Sequence[model.EValue], index: int, role: str) -> model.EValue:
        if not 0 <= index < len(values):
            raise IndexError(f"method {self._name!r} has {len(values)} {role}(s); there is no {role} {index}")
        return values[index]


def _tag(value: model.EValue) -> str:
    if value is None:
        return "None"
    return "Tensor" if isinstance(value, model.SerializedTensor) else type(value).__name__


def _tensor_info(value: model.EValue, role: str) -> TensorInfo:
    if not isinstance(value, model.SerializedTensor):
        raise TypeError(f"{role} is not a tensor, but {_tag(value)}")
    return TensorInfo(value)


def _describe(value: model.EValue) -> str:
    return repr(TensorInfo(value)) if isinstance(value, model.SerializedTensor) else _tag(value)


def signature_texts(meta: MethodMeta) -> tuple[str, str]:
    """Return the types of the inputs and of the outputs as text, such as `float32 [1, 3]`."""
    inputs, outputs = (", ".join(map(_short_text, values)) for values in (meta._inputs, meta._outputs))
    return inputs, outputs


def _short_text(value: model.EValue) -> str:
    if not isinstance(value, model.SerializedTensor):
        return _tag(value)
    return f"{value.scalar_type.dtype_name} {list(value.sizes)}"


def delegated_backends(program: Program) -> frozenset[str]:
    """Return the ids of the backends of all methods; backends of a malformed method are left out."""
    found: set[str] = set()
    for name in program.method_names:
        with suppress(ProgramError):  # a program whose methods are verified later
            found.update(each.id for each in program.plan(name).delegates)
    return frozenset(found)


def called_operators(program: Program) -> frozenset[str] | None:
    """Return the full names of the operators of all methods, or None if a method is malformed."""
    try:
        plans = [program.plan(name) for name in program.method_names]
    except ProgramError:
        return None
    return frozenset(operator.full_name for plan in plans for operator in plan.operators)


def delegated_dtypes(plan: model.ExecutionPlan) -> Mapping[str, frozenset[str]]:
    """Return the element types, such as `float32`, of the tensors passed to each backend, by its id."""
    found: dict[str, set[str]] = {delegate.id: set() for delegate in plan.delegates}
    for chain in plan.chains if found else ():  # most large plans delegate nothing
        for call in chain.instructions:
            if isinstance(call, model.DelegateCall):
                backend_id = plan.delegates[call.delegate_index].id
                found[backend_id].update(each.scalar_type.dtype_name for each in _tensors(plan, call.args))
    return {backend_id: frozenset(names) for backend_id, names in found.items()}


def _tensors(plan: model.ExecutionPlan, indices: tuple[int, ...]) -> list[model.SerializedTensor]:
    """Return the tensors among these values, and in the lists among them; -1 stands for None."""
    tensors: list[model.SerializedTensor] = []
    for value in (plan.values[index] for index in indices if index >= 0):
        if isinstance(value, model.SerializedTensor):
            tensors.append(value)
        elif isinstance(value, (model.TensorList, model.OptionalTensorList)):
            tensors += _tensors(plan, value.items)
    return tensors
