"""The views that a straight plan makes, which are read and written as what they are views of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from etconfig.kernel.registry import Kernel
from etconfig.numpy_executor.effects import Effects, EffectsReader
from etconfig.program import model

_OF_EXECUTORCH = ("executorch_prim::", "aten::sym_")
"""Operators that make views, or compute numbers from sizes."""


def is_straight(plan: model.ExecutionPlan, kernels: Sequence[Kernel | None]) -> bool:
    """Return whether each instruction of `plan`, which moves nothing, runs once on tensors that stay put.

    Views count as such if it is known where they lie. So do computed numbers.
    """
    if len(plan.chains) != 1 or model.JumpFalseCall in map(type, plan.chains[0].instructions):
        return False
    changing = {index: each for index, each in enumerate(kernels) if each and each.varying_positions}
    if not all(plan.operators[index].full_name.startswith(_OF_EXECUTORCH) for index in changing):
        return False
    return not changing or views_of(plan, kernels) is not None


class Views(NamedTuple):
    """The views that a plan makes.

    Attributes:
        sources: For each view, the tensor that it is a view of, which is not a view itself.
        makers: The instructions that make a view, or a number: they only read.
    """

    sources: Mapping[int, int]
    makers: Set[int]

    def effects(self, index: int, effects: Effects) -> Effects:
        """Return the effects of an instruction on views as those on what they are views of."""
        reads = tuple(dict.fromkeys(map(self.source, effects.reads)))
        return Effects(reads, () if index in self.makers else effects.writes)

    def source(self, value: int) -> int:
        """Return the tensor that a view is a view of; any other value as it is."""
        return self.sources.get(value, value)


def views_of(plan: model.ExecutionPlan, kernels: Sequence[Kernel | None]) -> Views | None:
    """Return the views of a plan of one chain; None if they may differ between runs, or one is written to.

    What is written to a view may go to the memory that was planned for it, instead; and a source that is
    written again may have another size then.
    """
    reader = EffectsReader(plan, kernels)
    sources: dict[int, int] = {}
    makers: set[int] = set()
    viewed: set[int] = set()
    touched = {*reader.tensors_in(plan.inputs)}
    for index, instruction in enumerate(plan.chains[0].instructions):
        reads, writes = reader.effects_of(instruction)
        kernel = kernels[instruction.op_index] if isinstance(instruction, model.KernelCall) else None
        if kernel is None or not kernel.varying_positions:
            if not viewed.isdisjoint(writes):
                return None
        else:
            args = instruction.args  # type: ignore[union-attr]  # a kernel call
            if len(args) < len(kernel.parameters):
                return None
            views = [args[place] for place in kernel.varying_positions - kernel.register_positions]
            numbers = [args[place] for place in kernel.register_positions]
            others = {*reads}.difference(views)
            if reader.tensors_in(numbers) or not touched.isdisjoint(views) or len(others) > 1:
                return None
            if views and not (len(others) == 1 and {*reads}.issuperset(views)):
                return None
            sources.update((view, sources.get(other, other)) for view in views for other in others)
            viewed.update(views, map(sources.__getitem__, views))
            makers.add(index)
        touched.update(reads, writes)
    return Views(sources, makers)
