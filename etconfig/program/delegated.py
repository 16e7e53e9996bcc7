"""The backends and operators that a program calls, and the element types that its delegates receive."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from etconfig.errors import ProgramError
from etconfig.program import model

if TYPE_CHECKING:
    from etconfig.program.program import Program


def delegated_backends(program: Program) -> frozenset[str]:
    """Return the ids of the backends of all methods; those of a malformed method are left out."""
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
