"""The values of a plan that are not the same in each run, so that they cannot be bound once."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from etconfig.kernel.registry import Kernel
from etconfig.numpy_executor.instructions import instructions_of, is_in_place, separate_result
from etconfig.numpy_executor.registers import LISTS_OF_VALUES, Registers
from etconfig.program import model


class VaryingValues:
    """The values that vary, by index, and why.

    Attributes:
        moved: Those that instructions move the value of another register to, and the lists of such values.
        reassigned: Those whose registers instructions set: to moved values, and to computed numbers.
        all: Those that may be another scalar, tensor, shape or memory from run to run.
    """

    def __init__(
        self, plan: model.ExecutionPlan, registers: Registers, kernels: Sequence[Kernel | None]
    ) -> None:
        """Look through `plan`, whose operators have these kernels."""
        moved = _moved_values(plan, kernels)
        self.moved = frozenset(moved | _lists_of(moved, plan.values))
        self.reassigned = frozenset(moved | _values_at(plan, kernels, lambda each: each.register_positions))
        varying = {*self.reassigned, *(index for index in plan.inputs if plan.values[index] is None)}
        varying.update(registers.dynamic)
        varying |= _values_at(plan, kernels, lambda each: each.varying_positions - each.register_positions)
        self.all = frozenset(varying | _lists_of(varying, plan.values))


def _moved_values(plan: model.ExecutionPlan, kernels: Sequence[Kernel | None]) -> set[int]:
    """Return the values that instructions move the value of another register to."""
    moved = {each.move_to for each in instructions_of(plan, model.MoveCall)}
    known = enumerate(zip(plan.operators, kernels, strict=True))
    in_place = {
        index: len(kernel.parameters)
        for index, (operator, kernel) in known
        if kernel and is_in_place(operator.name)
    }
    for op_index, args in instructions_of(plan, model.KernelCall) if in_place else ():
        if op_index in in_place:
            arity = in_place[op_index]
            result = separate_result(args[:arity], args[arity:])
            moved.update(() if result is None else (result,))
    return moved


def _lists_of(items: Set[int], values: Sequence[model.EValue]) -> set[int]:
    """Return the lists among `values` that contain any of `items`."""
    if not items:
        return set()
    lists = ((index, each) for index, each in enumerate(values) if isinstance(each, LISTS_OF_VALUES))
    return {index for index, each in lists if not items.isdisjoint(each.items)}


def _values_at(
    plan: model.ExecutionPlan,
    kernels: Sequence[Kernel | None],
    positions_of: Callable[[Kernel], frozenset[int]],
) -> set[int]:
    """Return the arguments of kernel calls at the positions that `positions_of` returns for each kernel."""
    positions = {index: positions_of(kernel) for index, kernel in enumerate(kernels) if kernel}
    wanted = {index: found for index, found in positions.items() if found}
    values: set[int] = set()
    for op_index, args in instructions_of(plan, model.KernelCall) if wanted else ():
        for position in wanted.get(op_index, ()):
            values.update(args[position : position + 1])
    return values
