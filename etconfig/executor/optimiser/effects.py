"""What each instruction reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from etconfig.executor.registry import Kernel
from etconfig.program import model

_PYTORCH = ("aten::", "dim_order_ops::", "quantized_decomposed::")

_WRITES_ARGUMENTS = "aten::_native_batch_norm_legit"
"""In training it updates the running statistics, beside its outputs."""


class Effects(NamedTuple):
    """The tensors that one instruction touches, by value index.

    What is in both may be changed in part: all that is sure is that the instruction may read
    and write it.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]

    @property
    def is_plain(self) -> bool:
        """Whether each tensor is either read or written as a whole."""
        return set(self.reads).isdisjoint(self.writes)


def is_straight(plan: model.ExecutionPlan, kernels: Mapping[str, Kernel]) -> bool:
    """Whether every instruction of `plan` runs once, in order, on tensors that stay where they are."""
    called = [kernels[each.full_name] for each in plan.operators if each.full_name in kernels]
    if len(plan.chains) != 1 or any(kernel.varying_positions for kernel in called):
        return False
    return not any(
        isinstance(each, (model.JumpFalseCall, model.MoveCall)) for each in plan.chains[0].instructions
    )


def effects_of(
    plan: model.ExecutionPlan, kernels: Mapping[str, Kernel], instruction: model.Instruction
) -> Effects:
    """What one instruction of a straight plan reads and writes.

    A program gives the outputs of a kernel call twice: as its last arguments, and again after
    them. That they are all that is written is sure for the operators of PyTorch, other than
    those in place. For others, and for delegates, every tensor may be read and written.
    """
    if isinstance(instruction, model.KernelCall):
        operator = plan.operators[instruction.op_index]
        count = len(kernels[operator.full_name].parameters)
        taken, written = instruction.args[:count], tensors_in(plan, instruction.args[count:])
        is_in_place = operator.name.endswith("_") or operator.name == _WRITES_ARGUMENTS
        is_out_variant = operator.overload != "" and not is_in_place
        if is_out_variant and written and operator.name.startswith(_PYTORCH):
            for first in reversed(range(len(taken))):
                if tensors_in(plan, taken[first:]) == written:
                    return Effects(tensors_in(plan, taken[:first]), written)
    touched = tensors_in(plan, getattr(instruction, "args", ()))
    return Effects(touched, touched)


def tensors_in(plan: model.ExecutionPlan, values: Iterable[int]) -> tuple[int, ...]:
    """The tensors among `values`, and the items of lists of tensors."""
    found: list[int] = []
    for index in values:
        value = plan.values[index]
        if isinstance(value, model.Tensor):
            found.append(index)
        elif isinstance(value, (model.TensorList, model.OptionalTensorList)):
            found.extend(item for item in value.items if item != -1)
    return tuple(found)
