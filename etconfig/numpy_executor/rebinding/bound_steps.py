"""`BoundSteps`: steps that were bound once, and the states of tensors that they need to run again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Step
from etconfig.kernel.tensor import Register, Tensor, become, memory_of

TensorState: TypeAlias = tuple[Tensor, Array, object, bool, int]
"""A tensor, its array, token and `is_alias`, and the number of steps before it got them."""


class BoundSteps(NamedTuple):
    """Bound steps of several instructions, and the states that tensors had when they were bound.

    Attributes:
        steps: The steps of all instructions, which run one after the other.
        states: The states of tensors.
        starts: The number of steps before each instruction, and the number of all steps.
        state_starts: The number of states before each instruction, and the number of all states.
        memories: Tensors that may get other memory, each with the memory that it had.
    """

    steps: list[Step]
    states: list[TensorState]
    starts: list[int]
    state_starts: list[int]
    memories: list[tuple[Tensor, object]]

    def are_gone(self) -> bool:
        """Return whether a tensor has got other memory, so that its old arrays are of no use."""
        return any(memory_of(tensor) is not memory for tensor, memory in self.memories)

    def restore(self) -> list[TensorState] | None:
        """Return the tensors to the states that they had when bound.

        Returns:
            Their states before that; None if one cannot return, and then none has.
        """
        before: list[TensorState] = []
        for tensor, array, token, is_alias, start in self.states:
            if tensor.token is not token:
                if tensor.is_alias and not is_alias:  # writes to it now go to another tensor's memory
                    undo(before, -1)
                    return None
                before.append((tensor, tensor.array, tensor.token, tensor.is_alias, start))
                become(tensor, array, token, is_alias=is_alias)
        return before


def undo(before: Sequence[TensorState], failed: int) -> None:
    """Undo the changes of state that belong to steps after the one that failed."""
    for tensor, array, token, is_alias, start in before:
        if start > failed:
            become(tensor, array, token, is_alias=is_alias)


def run_again(last: BoundSteps, index: int, steps: list[Step], states: list[TensorState]) -> bool:
    """Run instruction `index` as it was bound last, and add it to steps and states.

    Returns:
        False if it did not run, and must be bound again.
    """
    own = last.steps[last.starts[index] : last.starts[index + 1]]
    own_states = last.states[last.state_starts[index] : last.state_starts[index + 1]]
    for tensor, array, token, is_alias, _ in own_states:
        if tensor.token is not token:
            if tensor.is_alias and not is_alias:
                return False
            become(tensor, array, token, is_alias=is_alias)
    for step in own:
        step()
    # the same states, at the places that they have among the new steps
    states += [(*state[:-1], len(steps)) for state in own_states]
    steps += own
    return True


def tensors_in(registers: Iterable[Register]) -> list[Tensor]:
    """Return the tensors in registers, and those in lists there."""
    tensors: list[Tensor] = []
    for register in registers:
        value = register.value
        if type(value) is Tensor:
            tensors.append(value)
        elif type(value) is tuple:
            items = (item.value for item in value if type(item) is Register)
            tensors += [each for each in items if type(each) is Tensor]
    return tensors
