"""From serialized instructions to a `CompiledPlan`: look up, check and bind everything once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import count, pairwise, repeat
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from etconfig.errors import KernelArgumentError, MissingOperatorError
from etconfig.kernel.memory import Scratch
from etconfig.kernel.registry import ENTRY_POINT_GROUP, Kernel, Step
from etconfig.kernel.steps import StepSequence, runnable
from etconfig.kernel.tensor import Register, Tensor
from etconfig.method import DelegateRun
from etconfig.numpy_executor.compiled_plan import Block, CompiledPlan
from etconfig.numpy_executor.delegate_steps import bind_delegate
from etconfig.numpy_executor.instructions import instructions_of, is_in_place, separate_result, tensors_of
from etconfig.numpy_executor.optimizer import Optimizer, can_optimize
from etconfig.numpy_executor.rebinding import Rebinding
from etconfig.numpy_executor.registers import LISTS_OF_VALUES, Registers
from etconfig.numpy_executor.step_patterns import StepPatterns
from etconfig.program import model
from etconfig.tracing import EventKind, Track


def kernels_of(plan: model.ExecutionPlan, kernels: Mapping[str, Kernel]) -> list[Kernel | None]:
    """Return the kernel of each operator of a plan; None if there is none, and nothing calls the operator.

    Raises:
        MissingOperatorError: there is no kernel for operators that are called; it names all of them.
    """
    found = [kernels.get(operator.full_name) for operator in plan.operators]
    if all(found):
        return found
    called = set(map(itemgetter(0), instructions_of(plan, model.KernelCall)))
    missing = sorted({plan.operators[index].full_name for index in called if found[index] is None})
    if missing:
        raise MissingOperatorError(
            method=plan.name,
            operators=tuple(missing),
            help=f"install a package that provides them in the entry-point group {ENTRY_POINT_GROUP!r}",
        )
    return found


def compile_plan(
    plan: model.ExecutionPlan,
    registers: Registers,
    called: Sequence[Kernel | None],
    rebinding: Rebinding,
    delegates: Sequence[DelegateRun],
    track: Track | None,
    instruction_limit: int,
    optimize: bool,
    scratch: Scratch | None = None,
) -> CompiledPlan:
    """Bind every instruction of `plan` to `registers`, and to what runs each of its delegates.

    With `optimize`, leave out instructions that no output needs. `called` are the kernels of its operators,
    and `scratch` is their working memory, by default a new one.

    Raises:
        KernelArgumentError: a kernel refuses its arguments.
    """
    scratch = Scratch() if scratch is None else scratch
    patterns = StepPatterns(registers, called, rebinding.varying)
    calls = KernelCalls(plan, registers, called, rebinding, scratch)
    optimizer = None
    if optimize and can_optimize(plan, called, rebinding.moved):
        optimizer = Optimizer(plan, registers, called, rebinding.varying, calls.bind, patterns.update)
    compiler = _Compiler(plan, registers, delegates, calls, patterns, rebinding, optimizer, track)
    chains = [compiler.blocks(chain) for chain in range(len(plan.chains))]
    scratch.steps_left = math.inf
    return CompiledPlan(plan.name, chains, instruction_limit, rebinding.reassigned)


class _Compiler:
    """Binds the instructions of one plan, and splits them into blocks."""

    def __init__(
        self,
        plan: model.ExecutionPlan,
        registers: Registers,
        delegates: Sequence[DelegateRun],
        calls: KernelCalls,
        patterns: StepPatterns,
        rebinding: Rebinding,
        optimizer: Optimizer | None,
        track: Track | None,
    ) -> None:
        self._plan = plan
        self._registers = registers
        self._delegates = delegates
        self._calls = calls
        self._patterns = patterns
        self._rebinding = rebinding
        self._optimizer = optimizer
        self._track = track
        self._operators = [operator.full_name for operator in plan.operators]

    def blocks(self, chain: int) -> list[Block]:
        """Return the blocks of one chain: a new one begins at the target of a jump, and after a jump."""
        instructions = self._plan.chains[chain].instructions
        edges = {0, len(instructions)}
        if model.JumpFalseCall in map(type, instructions):
            for index, instruction in enumerate(instructions):
                if isinstance(instruction, model.JumpFalseCall):
                    edges |= {index + 1, instruction.destination_instruction}
        block_at = {edge: block for block, edge in enumerate(sorted(edges))}
        return [self._block(chain, start, end, block_at) for start, end in pairwise(sorted(edges))]

    def _block(self, chain: int, start: int, end: int, block_at: Mapping[int, int]) -> Block:
        instructions: Sequence[model.Instruction] = self._plan.chains[chain].instructions[start:end]
        condition, otherwise = None, 0
        if instructions and isinstance(jump := instructions[-1], model.JumpFalseCall):
            condition, otherwise = self._registers[jump[0]], block_at[jump[1]]
            instructions = instructions[:-1]
        indices: Sequence[int] = range(start, start + len(instructions))
        names: Sequence[str] = [
            self._operators[each[0]] if type(each) is model.KernelCall else self._name(each)
            for each in instructions
        ]
        steps: Sequence[Step] = self._patterns.steps(instructions, start, self._step)
        if self._track is not None:
            steps = [*map(self._traced, steps, names, instructions, repeat(chain), count(start))]
        if self._optimizer is not None:
            columns = self._optimizer.needed(start, names, steps, instructions, indices)
            names, steps, instructions, indices = columns
        if self._track is None:  # with a tracer, each instruction has events of its own
            names, steps, indices = self._rebinding.join(names, steps, instructions, indices)
        names, steps, indices = _single_steps(names, steps, indices)
        following = block_at[end]
        return Block(steps, names, end - start, following, condition, otherwise, start, indices)

    def _name(self, instruction: model.Instruction) -> str:
        """Return the name, in errors and traces, of an instruction that calls no kernel."""
        if isinstance(instruction, model.DelegateCall):
            return self._plan.delegates[instruction.delegate_index].id
        return type(instruction).__name__

    def _step(self, instruction: model.Instruction, index: int) -> Step:
        """Return the step of any instruction but a jump."""
        if isinstance(instruction, model.KernelCall):
            if self._optimizer is not None:
                return self._optimizer.bind(instruction, index)
            return self._calls.bind(instruction)
        if isinstance(instruction, model.DelegateCall):
            bind = partial(bind_delegate, self._delegates[instruction.delegate_index])
            if self._rebinding.varies(instruction.args):
                return self._rebinding.step(self._name(instruction), bind, instruction.args)
            return bind(self._registers.initial_values(instruction.args))
        if isinstance(instruction, model.MoveCall):
            source, target = self._registers[instruction.move_from], self._registers[instruction.move_to]
            return partial(_move_item if instruction.move_to in self._listed else _move, source, target)
        assert isinstance(instruction, model.FreeCall)
        return partial(_free, self._registers[instruction.value_index])

    @cached_property
    def _listed(self) -> frozenset[int]:
        """The values that are items of lists."""
        lists = (value.items for value in self._plan.values if isinstance(value, LISTS_OF_VALUES))
        return frozenset().union(*lists)

    def _traced(self, step: Step, name: str, instruction: model.Instruction, chain: int, index: int) -> Step:
        kind = _EVENT_KINDS.get(type(instruction))
        if self._track is None or kind is None:
            return step
        return self._track.traced(step, name, kind, chain, index)


def _single_steps(
    names: Sequence[str], steps: Sequence[Step], indices: Sequence[int]
) -> tuple[tuple[str, ...], tuple[Step, ...], Sequence[int]]:
    """Return the parts of sequences as steps of their own, each with the name and index of the whole."""
    if StepSequence not in map(type, steps):
        return tuple(names), tuple(steps), indices
    parts = [[*map(runnable, step.steps)] if type(step) is StepSequence else (step,) for step in steps]
    repeated = [name for name, each in zip(names, parts, strict=True) for _ in each]
    positions = tuple([index for index, each in zip(indices, parts, strict=True) for _ in each])
    return tuple(repeated), tuple([step for each in parts for step in each]), positions


_EVENT_KINDS: Mapping[type, EventKind] = {model.KernelCall: "kernel", model.DelegateCall: "delegate"}


def _move(source: Register, target: Register) -> None:
    target.value = source.value


def _move_item(source: Register, target: Register) -> None:
    """Move to an item of a list. It cannot be a list itself, which might contain the item."""
    if type(source.value) is tuple:
        raise ValueError("a list cannot be an item of a list")
    target.value = source.value


def _free(register: Register) -> None:
    if isinstance(register.value, Tensor):
        register.value.release()


class _Operator(NamedTuple):
    """The common properties of all calls of one operator.

    Attributes:
        name: The full name.
        kernel: The operator's kernel.
        arity: The number of arguments that the kernel takes.
        is_in_place: The operator changes its first argument and returns that, such as `aten::copy_`.
        bind: The kernel's `bind`, which only needs the arguments.
    """

    name: str
    kernel: Kernel
    arity: int
    is_in_place: bool
    bind: Callable[..., Step]


class KernelCalls:
    """Binds the kernel calls of one plan."""

    def __init__(
        self,
        plan: model.ExecutionPlan,
        registers: Registers,
        kernels: Sequence[Kernel | None],
        rebinding: Rebinding,
        scratch: Scratch,
    ) -> None:
        """Bind calls to `registers`; the operators of `plan` have these kernels, which share `scratch`."""
        self._plan = plan
        self._registers = registers
        self._kernels = kernels
        self._rebinding = rebinding
        self._varying = rebinding.varying
        self._scratch = scratch
        self._operators: dict[int, _Operator] = {}

    def bind(
        self,
        call: model.KernelCall,
        replaced: Mapping[int, Tensor] = MappingProxyType({}),
        unread: frozenset[int] = frozenset(),
    ) -> Step:
        """Return the step of a call.

        Args:
            call: The instruction.
            replaced: Tensors to pass instead of the call's own, by position.
            unread: The positions of outputs that need not be written.

        Raises:
            KernelArgumentError: the number of arguments is wrong, or the kernel refuses them.
        """
        operator = self._operators.get(call.op_index) or self._operator(call.op_index)
        args = call.args
        taken, extra = args[: operator.arity], args[operator.arity :]
        result = separate_result(taken, extra) if operator.is_in_place else None
        if len(taken) < operator.arity or (result is None and not self._repeats(extra, taken)):
            detail = f"takes {operator.arity} arguments, given {len(args)}"
            raise KernelArgumentError(operator=operator.name, detail=detail)
        bind = partial(operator.bind, unread=unread) if unread else operator.bind
        if replaced:
            values = self._registers.initial_values(taken)
            step = bind([replaced.get(place, value) for place, value in enumerate(values)])
        elif self._varying.isdisjoint(taken):
            step = bind(self._registers.initial_values(taken))
        else:
            step = self._rebinding.kernel_step(call, operator.name, operator.kernel, bind)
        if result is None:
            return step
        return partial(_run_and_move, step, self._registers[args[0]], self._registers[result])

    def _operator(self, op_index: int) -> _Operator:
        """Look an operator up when it is first called."""
        name, kernel = self._plan.operators[op_index].full_name, self._kernels[op_index]
        assert kernel is not None  # `kernels_of` refuses other plans
        operator = self._operators[op_index] = _Operator(
            name=name,
            kernel=kernel,
            arity=len(kernel.parameters),
            is_in_place=is_in_place(name),
            bind=partial(kernel.bind, name, self._scratch),
        )
        return operator

    def _repeats(self, extra: Sequence[int], taken: Sequence[int]) -> bool:
        """Return whether `extra` is nothing but the outputs, which programs repeat after the arguments."""
        if len(extra) > 1:
            return False
        if not extra or extra[0] in taken:
            return True
        repeated = tensors_of(self._plan.values[extra[0]]) or extra
        items = (tensors_of(self._plan.values[arg]) for arg in taken)
        return {*taken}.issuperset(repeated) or {*taken}.union(*items).issuperset(repeated)


def _run_and_move(step: Step, source: Register, target: Register) -> None:
    step()
    target.value = source.value
