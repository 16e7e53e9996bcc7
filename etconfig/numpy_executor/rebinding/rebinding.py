"""`Rebinding`: the steps of one plan's instructions whose arguments vary from run to run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial

from etconfig.kernel.registry import Kernel, Step
from etconfig.kernel.tensor import Register, Tensor
from etconfig.numpy_executor.effects import Effects, EffectsReader
from etconfig.numpy_executor.instructions import tensors_of
from etconfig.numpy_executor.rebinding.dynamic_step import DynamicStep, Part
from etconfig.numpy_executor.rebinding.elementwise import ElementwiseBind
from etconfig.numpy_executor.rebinding.step_fusion import join
from etconfig.numpy_executor.rebinding.varying_values import VaryingValues
from etconfig.numpy_executor.registers import LISTS_OF_VALUES, Registers, current_value
from etconfig.program import model


class Rebinding:
    """Binds the instructions of one plan whose arguments vary from run to run.

    Attributes:
        varying: The values, by index, that may be another scalar, tensor, shape or memory from run to run.
        moved: Those that instructions move the value of another register to, and the lists of such values.
        reassigned: The registers that instructions set: to moved values, and to computed numbers.
    """

    def __init__(
        self, plan: model.ExecutionPlan, registers: Registers, kernels: Sequence[Kernel | None]
    ) -> None:
        """Find out what varies in `plan`, whose operators have these kernels."""
        values = VaryingValues(plan, registers, kernels)
        self.varying = values.all
        self.moved = values.moved
        self.reassigned = [registers[index] for index in values.reassigned]
        self._plan = plan
        self._registers = registers
        self._kernels = kernels

    def varies(self, args: Iterable[int]) -> bool:
        """Return whether any of these values varies."""
        return not self.varying.isdisjoint(args)

    def step(self, name: str, bind: Callable[[Sequence[object]], Step], args: Sequence[int]) -> Step:
        """Return a step that binds again whenever its arguments, some of which vary, have changed.

        Args:
            name: What the instruction is called in an error.
            bind: Binds the instruction to the current values of its arguments; it may resize any tensor.
            args: The arguments.
        """
        operands = [self._registers[arg] for arg in args]
        varying = [arg for arg in args if arg in self.varying]
        return DynamicStep(Part(name, partial(_bind_current, bind, operands), self._registers_of(varying)))

    def kernel_step(
        self, call: model.KernelCall, name: str, kernel: Kernel, bind: Callable[[Sequence[object]], Step]
    ) -> Step:
        """Return such a step for a call of `kernel`, about which more is known.

        The step reads arguments that the kernel takes as registers while it runs: they cause no rebinding.
        """
        args = call.args[: len(kernel.parameters)]
        as_registers = kernel.register_positions
        operands = [
            Register(self._registers[arg]) if place in as_registers else self._registers[arg]
            for place, arg in enumerate(args)
        ]
        watched = (arg for place, arg in enumerate(args) if place not in as_registers)
        varying = [arg for arg in watched if arg in self.varying]
        if not varying:
            return bind([*map(current_value, operands)])
        aliases = self._aliases(kernel, args)
        effects = self._effects.effects_of(call)
        written = self._written(effects, call.args) - aliases
        # ExecuTorch's own operators resize only their outputs, though nothing says which those are
        is_known = effects.is_plain or (bool(aliases) and name.startswith("executorch_prim::"))
        can_join = is_known and not as_registers and self.moved.isdisjoint(varying)
        if can_join:  # the items of a list vary then, but not which tensors they are
            varying = [item for arg in varying for item in self._varying_items(arg)]
        has_tensors_only = all(isinstance(self._plan.values[arg], model.SerializedTensor) for arg in varying)
        part = Part(
            name,
            ElementwiseBind(bind, [*map(current_value, operands)])
            if kernel.is_elementwise and can_join and has_tensors_only
            else partial(_bind_current, bind, operands),
            self._registers_of(arg for arg in varying if arg not in written | aliases),
            self._registers_of(arg for arg in varying if arg in written),
            self._registers_of(arg for arg in varying if arg in aliases),
            can_join,
        )
        return DynamicStep(part)

    def join(
        self,
        names: Sequence[str],
        steps: Sequence[Step],
        instructions: Iterable[model.Instruction],
        indices: Sequence[int],
    ) -> tuple[Sequence[str], Sequence[Step], Sequence[int]]:
        """Join neighboring steps of `instructions` that can be bound together into one step."""
        if DynamicStep not in map(type, steps):
            return names, steps, indices
        return join(names, steps, [*map(self._is_fixed, instructions)], indices)

    def _is_fixed(self, instruction: model.Instruction) -> bool:
        """Return whether the arguments are the same in each run."""
        return isinstance(instruction, model.KernelCall) and not self.varies(instruction.args)

    def _aliases(self, kernel: Kernel, args: Sequence[int]) -> frozenset[int]:
        """Return the tensors that a kernel makes views of other tensors without reading them."""
        read = {arg for place, arg in enumerate(args) if place not in kernel.varying_positions}
        return frozenset(args[place] for place in kernel.varying_positions) - read

    def _written(self, effects: Effects, args: Sequence[int]) -> frozenset[int]:
        """Return the tensors, and lists of tensors, that a kernel resizes without reading them."""
        written = frozenset(effects.writes).difference(effects.reads)
        items = {arg: tensors_of(self._plan.values[arg]) for arg in args}
        return written.union(arg for arg, found in items.items() if found and written.issuperset(found))

    def _varying_items(self, value: int) -> Sequence[int]:
        """Return the value itself, or, if it is a list, those of its items that vary."""
        found = self._plan.values[value]
        if not isinstance(found, LISTS_OF_VALUES):
            return (value,)
        return [item for item in found.items if item in self.varying]

    def _registers_of(self, values: Iterable[int]) -> list[Register]:
        return [self._registers[value] for value in values]

    @cached_property
    def _effects(self) -> EffectsReader:
        return EffectsReader(self._plan, self._kernels)


def _bind_current(bind: Callable[[Sequence[object]], Step], operands: Sequence[Register]) -> Step:
    """Bind the current values of the registers."""
    return bind([value if type(value := each.value) is Tensor else current_value(each) for each in operands])
