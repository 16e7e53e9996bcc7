"""From serialized instructions to a `Plan`: look up, check and bind everything once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import compress, count, pairwise, repeat
from operator import itemgetter
from typing import NamedTuple

from etconfig.errors import KernelArgumentError, MissingOperatorError
from etconfig.kernel.memory import Scratch
from etconfig.kernel.registry import ENTRY_POINT_GROUP, Kernel, Step
from etconfig.kernel.steps import StepSequence, parts_of, runnable
from etconfig.kernel.tensor import Register, Tensor
from etconfig.method import DelegateRun
from etconfig.numpy_executor.delegate_steps import bind_delegate
from etconfig.numpy_executor.optimizer import Effects, EffectsReader, Optimiser, is_straight
from etconfig.numpy_executor.plan import Block, Plan
from etconfig.numpy_executor.rebinding.dynamic import DynamicStep, Part
from etconfig.numpy_executor.rebinding.elementwise import ElementwiseBind
from etconfig.numpy_executor.rebinding.patterns import StepPatterns
from etconfig.numpy_executor.rebinding.step_fusion import join
from etconfig.numpy_executor.rebinding.varying_values import (
    VaryingValues,
    instructions_of,
    is_in_place,
    separate_result,
)
from etconfig.numpy_executor.registers import LISTS_OF_VALUES, Registers, current_value
from etconfig.program import model
from etconfig.tracing import EventKind, Track


def check_operators(plan: model.ExecutionPlan, kernels: Mapping[str, Kernel]) -> None:
    """Refuse a plan that calls operators without a kernel.

    Raises:
        MissingOperatorError: it names all of them.
    """
    if kernels.keys() >= {operator.full_name for operator in plan.operators}:
        return
    called = set(map(itemgetter(0), instructions_of(plan, model.KernelCall)))
    missing = sorted({plan.operators[index].full_name for index in called} - kernels.keys())
    if missing:
        raise MissingOperatorError(
            method=plan.name,
            operators=tuple(missing),
            help=f"install a package that provides them in the entry-point group {ENTRY_POINT_GROUP!r}",
        )


def compile_plan(
    plan: model.ExecutionPlan,
    registers: Registers,
    kernels: Mapping[str, Kernel],
    delegates: Sequence[DelegateRun],
    track: Track | None,
    instruction_limit: int,
    optimize: bool,
) -> Plan:
    """Bind every instruction of `plan` to `registers`, and to what runs each of its delegates.

    With `optimize`, leave out what the plan can do without.

    Raises:
        KernelArgumentError: a kernel refuses its arguments.
    """
    called = [kernels.get(operator.full_name) for operator in plan.operators]
    varying = VaryingValues(plan, registers, called)
    is_optimised = optimize and not varying.moved and is_straight(plan, called)
    optimiser = Optimiser(plan, registers, called) if is_optimised else None
    compiler = _Compiler(plan, registers, called, varying, delegates, track, optimiser)
    chains = [compiler.blocks(chain) for chain in range(len(plan.chains))]
    compiler.scratch.steps_left = math.inf
    return Plan(plan.name, chains, instruction_limit, [registers[index] for index in varying.rebound])


class _Operator(NamedTuple):
    """What all calls of one operator have in common.

    Attributes:
        op_index: Its index in the plan.
        name: The full name.
        kernel: Its kernel.
        arity: How many arguments the kernel takes.
        is_in_place: It changes its first argument and gives that as the result, such as `aten::copy_`.
        wants_unread: The kernel can do without writing an output.
        bind: The kernel's `bind`; what is left to give is the arguments.
    """

    op_index: int
    name: str
    kernel: Kernel
    arity: int
    is_in_place: bool
    wants_unread: bool
    bind: Callable[..., Step]


class _Compiler:
    def __init__(
        self,
        plan: model.ExecutionPlan,
        registers: Registers,
        kernels: Sequence[Kernel | None],
        varying: VaryingValues,
        delegates: Sequence[DelegateRun],
        track: Track | None,
        optimiser: Optimiser | None,
    ) -> None:
        self._plan = plan
        self._registers = registers
        self._names = [operator.full_name for operator in plan.operators]
        self._operators: dict[int, _Operator] = {}
        self._kernels = kernels
        self._delegates = delegates
        self._track = track
        self._optimiser = optimiser
        self.scratch = Scratch()
        self._moved = varying.moved
        self._varying = varying.all
        self._patterns = StepPatterns(registers, self._varying)

    def blocks(self, chain: int) -> list[Block]:
        """The blocks of one chain: a new one begins at the target of a jump, and after a jump."""
        instructions = self._plan.chains[chain].instructions
        edges = {0, len(instructions)}
        if model.JumpFalseCall in map(type, instructions):
            for index, instruction in enumerate(instructions):
                if isinstance(instruction, model.JumpFalseCall):
                    edges |= {index + 1, instruction.destination_instruction}
        block_at = {edge: block for block, edge in enumerate(sorted(edges))}
        return [self._block(chain, start, end, block_at) for start, end in pairwise(sorted(edges))]

    def _block(self, chain: int, start: int, end: int, block_at: Mapping[int, int]) -> Block:
        instructions = self._plan.chains[chain].instructions[start:end]
        condition, otherwise = None, 0
        if instructions and isinstance(jump := instructions[-1], model.JumpFalseCall):
            condition, otherwise = self._registers[jump[0]], block_at[jump[1]]
            instructions = instructions[:-1]
        names = tuple(
            [
                self._names[each[0]] if type(each) is model.KernelCall else self._name(each)
                for each in instructions
            ]
        )
        steps = tuple(self._patterns.steps(instructions, start, self._step))
        if self._track is not None:
            steps = tuple(map(self._traced, steps, names, instructions, repeat(chain), count(start)))
        if self._optimiser is not None and self._optimiser.leaves_out_any:
            needed = self._optimiser.needed(start, end)
            names, steps = tuple(compress(names, needed)), tuple(compress(steps, needed))
            instructions = tuple(compress(instructions, needed))
        if self._track is None and DynamicStep in map(type, steps):
            names, steps = join(names, steps, [*map(self._is_fixed, instructions)])
        names, steps = _single_steps(names, steps)
        return Block(steps, names, end - start, block_at[end], condition, otherwise)

    def _is_fixed(self, instruction: model.Instruction) -> bool:
        """Whether the arguments are the same in each run."""
        return isinstance(instruction, model.KernelCall) and self._varying.isdisjoint(instruction.args)

    def _name(self, instruction: model.Instruction) -> str:
        """What an instruction that calls no kernel is called in errors and traces."""
        if isinstance(instruction, model.DelegateCall):
            return self._plan.delegates[instruction.delegate_index].id
        return type(instruction).__name__

    def _step(self, instruction: model.Instruction, index: int) -> Step:
        """The step of any instruction but a jump."""
        if isinstance(instruction, model.KernelCall):
            return self._kernel_step(instruction.op_index, instruction.args, index)
        if isinstance(instruction, model.DelegateCall):
            run = self._delegates[instruction.delegate_index]
            bind, args = partial(bind_delegate, run), instruction.args
            if self._varying.isdisjoint(args):
                return bind(self._registers.initial_values(args))
            return self._dynamic_step(self._name(instruction), bind, args)
        if isinstance(instruction, model.MoveCall):
            source, target = self._registers[instruction.move_from], self._registers[instruction.move_to]
            return partial(_move_item if instruction.move_to in self._listed else _move, source, target)
        assert isinstance(instruction, model.FreeCall)
        return partial(_free, self._registers[instruction.value_index])

    def _operator(self, op_index: int) -> _Operator:
        """Look an operator up, when it is first met."""
        name, kernel = self._names[op_index], self._kernels[op_index]
        assert kernel is not None  # or the plan was refused
        operator = self._operators[op_index] = _Operator(
            op_index=op_index,
            name=name,
            kernel=kernel,
            arity=len(kernel.parameters),
            is_in_place=is_in_place(name),
            wants_unread=kernel.wants_unread,
            bind=partial(kernel.bind, name, self.scratch),
        )
        return operator

    def _kernel_step(self, op_index: int, args: tuple[int, ...], index: int) -> Step:
        """Let the kernel make the step, and remember how it did."""
        operator = self._operators.get(op_index) or self._operator(op_index)
        step = self._bind_kernel(operator, args, index)
        if self._optimiser is not None:
            changed = self._optimiser.leave_out(index, operator.name, args, step)
            if changed:
                self._patterns.update(changed)
        if operator.kernel.is_uniform:
            self._patterns.learn(op_index, args, step)
        return step

    def _bind_kernel(self, operator: _Operator, args: Sequence[int], index: int) -> Step:
        arity = operator.arity
        taken, extra = args[:arity], args[arity:]
        result = separate_result(taken, extra) if operator.is_in_place else None
        if len(taken) < arity or (result is None and not self._repeats(extra, taken)):
            detail = f"takes {arity} arguments, given {len(args)}"
            raise KernelArgumentError(operator=operator.name, detail=detail)
        step = self._bind_taken(operator, args, index)
        if result is None:
            return step
        return partial(_run_and_move, step, self._registers[args[0]], self._registers[result])

    def _bind_taken(self, operator: _Operator, args: Sequence[int], index: int) -> Step:
        """Bind the arguments that the kernel takes."""
        kernel, bind, taken = operator.kernel, operator.bind, args[: operator.arity]
        fold = self._optimiser.fold_of(index) if self._optimiser is not None else None
        if fold is not None:
            if index == fold.batch_norm:
                return fold.copy
            values = self._registers.initial_values(taken)
            return bind([fold.replaced.get(place, value) for place, value in enumerate(values)])
        if operator.wants_unread and self._optimiser is not None:
            bind = partial(bind, unread=self._optimiser.unread(index, kernel))
        if self._varying.isdisjoint(taken):
            return bind(self._registers.initial_values(taken))
        read = {arg for place, arg in enumerate(taken) if place not in kernel.varying_positions}
        aliases = frozenset(taken[place] for place in kernel.varying_positions) - read
        effects = self._effects.effects_of(model.KernelCall(operator.op_index, tuple(args)))
        written = self._written(effects, args) - aliases
        is_known = effects.is_plain or (bool(aliases) and operator.name.startswith("executorch_prim::"))
        return self._dynamic_step(
            operator.name,
            bind,
            taken,
            kernel.register_positions,
            written,
            aliases,
            is_known=is_known,
            is_elementwise=kernel.is_elementwise,
        )

    def _written(self, effects: Effects, args: Sequence[int]) -> frozenset[int]:
        """The tensors, and lists of tensors, that a kernel gives a shape and does not read."""
        written = frozenset(effects.writes).difference(effects.reads)
        lists = (arg for arg in args if self._items(arg))
        return written.union(each for each in lists if written.issuperset(self._items(each)))

    @cached_property
    def _effects(self) -> EffectsReader:
        return EffectsReader(self._plan, self._kernels)

    def _repeats(self, extra: Sequence[int], taken: Sequence[int]) -> bool:
        """Whether what follows a kernel's arguments is its outputs again, as a program gives them."""
        if len(extra) > 1:
            return False
        if not extra or extra[0] in taken:
            return True
        given, repeated = {*taken}, self._items(extra[0]) or extra
        return given.issuperset(repeated) or given.union(*map(self._items, taken)).issuperset(repeated)

    @cached_property
    def _listed(self) -> frozenset[int]:
        """The values that are items of lists."""
        lists = (value.items for value in self._plan.values if isinstance(value, LISTS_OF_VALUES))
        return frozenset().union(*lists)

    def _items(self, value: int) -> Sequence[int]:
        found = self._plan.values[value]
        return found.items if isinstance(found, model.TensorList) else ()

    def _dynamic_step(
        self,
        name: str,
        bind: Callable[[Sequence[object]], Step],
        args: Sequence[int],
        as_registers: frozenset[int] = frozenset(),
        written: frozenset[int] = frozenset(),
        aliases: frozenset[int] = frozenset(),
        *,
        is_known: bool = False,
        is_elementwise: bool = False,
    ) -> Step:
        """Let a DynamicStep bind arguments of which some vary.

        What a kernel takes as a register (at the positions `as_registers`), it reads while it
        runs: that need not be bound again. `is_known` says that no shape changes but of what is
        `written`, or among the `aliases`.
        """
        operands = [
            Register(self._registers[arg]) if position in as_registers else self._registers[arg]
            for position, arg in enumerate(args)
        ]
        watched = [arg for position, arg in enumerate(args) if position not in as_registers]
        varying = [arg for arg in watched if arg in self._varying]
        if not varying:
            return bind([current_value(operand) for operand in operands])
        can_join = is_known and not as_registers and self._moved.isdisjoint(varying)
        if can_join:  # then lists are what they are
            varying = [item for arg in varying for item in self._varying_items(arg)]
        read = [self._registers[arg] for arg in varying if arg not in written | aliases]
        has_tensors_only = all(isinstance(self._plan.values[arg], model.SerializedTensor) for arg in varying)
        part = Part(
            name,
            ElementwiseBind(bind, [*map(current_value, operands)])
            if is_elementwise and can_join and has_tensors_only
            else partial(_bind_current, bind, operands),
            read,
            [self._registers[arg] for arg in varying if arg in written],
            [self._registers[arg] for arg in varying if arg in aliases],
            can_join,
        )
        return DynamicStep(part)

    def _varying_items(self, value: int) -> Sequence[int]:
        """The value itself, or, if it is a list, those of its items that vary."""
        found = self._plan.values[value]
        if not isinstance(found, LISTS_OF_VALUES):
            return (value,)
        return [item for item in found.items if item in self._varying]

    def _traced(self, step: Step, name: str, instruction: model.Instruction, chain: int, index: int) -> Step:
        kind = _EVENT_KINDS.get(type(instruction))
        if self._track is None or kind is None:
            return step
        return self._track.traced(step, name, kind, chain, index)


def _single_steps(names: Sequence[str], steps: Sequence[Step]) -> tuple[tuple[str, ...], tuple[Step, ...]]:
    """Return the parts of sequences as steps of their own, each with the name of the whole."""
    if StepSequence not in map(type, steps):
        return tuple(names), tuple(steps)
    parts = [*map(parts_of, steps)]
    repeated = [name for name, each in zip(names, parts, strict=True) for _ in each]
    return tuple(repeated), tuple([runnable(step) for each in parts for step in each])


def _bind_current(bind: Callable[[Sequence[object]], Step], operands: Sequence[Register]) -> Step:
    """Bind what is in the registers now."""
    return bind([value if type(value := each.value) is Tensor else current_value(each) for each in operands])


_EVENT_KINDS: Mapping[type, EventKind] = {model.KernelCall: "kernel", model.DelegateCall: "delegate"}


def _move(source: Register, target: Register) -> None:
    target.value = source.value


def _move_item(source: Register, target: Register) -> None:
    """Move to an item of a list, which can be no list itself: it might be the one that holds the item."""
    if type(source.value) is tuple:
        raise ValueError("a list cannot be an item of a list")
    target.value = source.value


def _run_and_move(step: Step, source: Register, target: Register) -> None:
    step()
    target.value = source.value


def _free(register: Register) -> None:
    if isinstance(register.value, Tensor):
        register.value.release()
