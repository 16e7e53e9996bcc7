"""`Rebinding`: the steps of one plan's instructions whose arguments vary from run to run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from etconfig.kernel.checks import broadcast_shape
from etconfig.kernel.registry import Kernel, Step
from etconfig.kernel.steps import ArrayCall, StepSequence, parts_of
from etconfig.kernel.tensor import Register, Tensor
from etconfig.numpy_executor.effects import Effects, EffectsReader
from etconfig.numpy_executor.instructions import instructions_of, is_in_place, separate_result, tensors_of
from etconfig.numpy_executor.rebinding.dynamic_step import DynamicStep, Part
from etconfig.numpy_executor.registers import LISTS_OF_VALUES, Registers, current_value
from etconfig.program import model


class _Pattern(NamedTuple):
    """A call to make again: `function(*operands, **keywords)`, with tensors for their current arrays."""

    function: Callable[..., object]
    operands: Sequence[object]
    keywords: Mapping[str, object]

    def step(self) -> Step:
        """Return the call on the arrays that the tensors have now."""
        operands = [each.array if type(each) is Tensor else each for each in self.operands]
        if not self.keywords:
            return ArrayCall(self.function, *operands)
        named = {key: each.array if type(each) is Tensor else each for key, each in self.keywords.items()}
        return ArrayCall(self.function, *operands, **named)


class ElementwiseBind:
    """Binds an instruction of an elementwise kernel (see `Kernel`) whose arguments are always the same.

    From the step that the kernel made for the first shape, it learns which operands are the arrays of
    which tensors. For other shapes, it resizes the output to the shape that the tensors broadcast to,
    and makes the same calls on their current arrays. If the step works on other arrays, such as
    converted copies, the kernel binds each shape itself.
    """

    __slots__ = ("_arguments", "_bind", "_inputs", "_out", "_patterns")

    def __init__(self, bind: Callable[[Sequence[object]], Step], arguments: Sequence[object]) -> None:
        """Bind `arguments`, of which the last is the output, with `bind`."""
        *inputs, out = [each for each in arguments if type(each) is Tensor]
        self._bind = bind
        self._arguments = arguments
        self._inputs = inputs
        self._out = out
        self._patterns: Sequence[_Pattern] = ()

    def __call__(self) -> Step:
        """Return the step for the shapes that the tensors have now."""
        patterns = self._patterns
        if not patterns:
            step = self._bind(self._arguments)
            self._patterns = self._learn(step)
            return step
        self._out.resize(broadcast_shape(*[each.array.shape for each in self._inputs]))
        if len(patterns) == 1:
            return patterns[0].step()
        return StepSequence(*[each.step() for each in patterns])

    def _learn(self, step: Step) -> Sequence[_Pattern]:
        """Return the patterns of the calls of a step; none if it works on arrays of no tensor."""
        found: list[_Pattern] = []
        for each in parts_of(step):
            if not isinstance(each, ArrayCall):
                return ()
            operands = [*map(self._general, each.operands)]
            keywords = {key: self._general(value) for key, value in each.keywords.items()}
            if any(isinstance(value, np.ndarray) and value.ndim for value in (*operands, *keywords.values())):
                return ()
            found.append(_Pattern(each.function, operands, keywords))
        return found

    def _general(self, operand: object) -> object:
        """Return the tensor whose array an operand is; else the operand, such as a number."""
        for tensor in (*self._inputs, self._out):
            if tensor.array is operand:
                return tensor
        return operand


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


def _values_at(plan: model.ExecutionPlan, positions: Sequence[Set[int]]) -> set[int]:
    """Return the arguments of kernel calls at these positions, which each operator has."""
    wanted = {index: found for index, found in enumerate(positions) if found}
    values: set[int] = set()
    for op_index, args in instructions_of(plan, model.KernelCall) if wanted else ():
        for position in wanted.get(op_index, ()):
            values.update(args[position : position + 1])
    return values


def join(
    names: Sequence[str], steps: Sequence[Step], are_fixed: Sequence[bool], indices: Sequence[int]
) -> tuple[tuple[str, ...], tuple[Step, ...], tuple[int, ...]]:
    """Join neighboring steps that can be bound together into one step each.

    Args:
        names: The name of each step in an error.
        steps: The steps, in order.
        are_fixed: For each step, whether none of its arguments ever changes.
        indices: The index of each step's instruction.
    """
    found: list[tuple[str, Step, int]] = []
    parts: list[Part] = []
    positions: list[int] = []
    touched: set[Register] = set()

    def end() -> None:
        if parts:
            found.append((parts[0].name, DynamicStep(*parts), positions[0]))
        parts.clear()
        positions.clear()
        touched.clear()

    for name, step, is_fixed, index in zip(names, steps, are_fixed, indices, strict=True):
        part = _part_of(name, step, is_fixed, index)
        if part is None or (is_fixed and not parts):
            end()
            found.append((name, step, index))
            continue
        changed = {*part.written, *part.aliases}
        # states return before the first pass runs, so within one step a tensor can only have one
        if not touched.isdisjoint(changed):
            end()
        parts.append(part)
        positions.append(index)
        touched.update(changed, part.read)
    end()
    columns = zip(*found, strict=True) if found else ((), (), ())
    joined_names, joined_steps, joined_indices = columns
    return tuple(joined_names), tuple(joined_steps), tuple(joined_indices)


def _part_of(name: str, step: Step, is_fixed: bool, index: int) -> Part | None:
    """Return a step as a part of a larger one; None if it must stay by itself."""
    if is_fixed:
        return Part(name, lambda: step, (), can_join=True, is_fixed=True, position=index)
    if isinstance(step, DynamicStep) and step.parts[0].can_join:
        return step.parts[0]._replace(position=index)
    return None


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
        moved = _moved_values(plan, kernels)
        set_at = [each.register_positions if each else set() for each in kernels]
        aliased_at = [each.varying_positions - each.register_positions if each else set() for each in kernels]
        reassigned = moved | _values_at(plan, set_at)
        varying = {*reassigned, *(index for index in plan.inputs if plan.values[index] is None)}
        varying.update(registers.dynamic, _values_at(plan, aliased_at))
        self.varying = frozenset(varying | _lists_of(varying, plan.values))
        self.moved = frozenset(moved | _lists_of(moved, plan.values))
        self.reassigned = [registers[index] for index in reassigned]
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
        """Return the value itself, or, if it is a list, its items that vary."""
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
