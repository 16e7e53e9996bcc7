"""From serialized instructions to a `Plan`: look up, check and bind everything once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

from etconfig.errors import KernelArgumentError, MissingOperatorError
from etconfig.executor.delegate_set import DelegateSet
from etconfig.executor.memory import Scratch
from etconfig.executor.plan import Bind, Block, DynamicStep, Plan
from etconfig.executor.registry import ENTRY_POINT_GROUP, Kernel, Step
from etconfig.executor.tensor import Register, Tensor
from etconfig.executor.tracer import EventKind, RecordingTracer
from etconfig.executor.values import current_value
from etconfig.program import model


def check_operators(plan: model.ExecutionPlan, kernels: Mapping[str, Kernel]) -> None:
    """Refuse a plan that calls operators without a kernel.

    Raises:
        MissingOperatorError: it names all of them.
    """
    called = {call.op_index for call in _kernel_calls(plan)}
    missing = sorted({plan.operators[index].full_name for index in called} - kernels.keys())
    if missing:
        raise MissingOperatorError(
            method=plan.name,
            operators=tuple(missing),
            help=f"install a package that provides them in the entry-point group {ENTRY_POINT_GROUP!r}",
        )


def compile_plan(
    plan: model.ExecutionPlan,
    registers: Sequence[Register],
    kernels: Mapping[str, Kernel],
    delegates: DelegateSet,
    tracer: RecordingTracer | None,
    instruction_limit: int,
) -> Plan:
    """Bind every instruction of `plan` to `registers`.

    Raises:
        KernelArgumentError: a kernel refuses its arguments.
    """
    compiler = _Compiler(plan, registers, kernels, delegates, tracer)
    chains = [compiler.blocks(chain) for chain in range(len(plan.chains))]
    return Plan(plan.name, chains, instruction_limit)


class _Compiler:
    def __init__(
        self,
        plan: model.ExecutionPlan,
        registers: Sequence[Register],
        kernels: Mapping[str, Kernel],
        delegates: DelegateSet,
        tracer: RecordingTracer | None,
    ) -> None:
        self._plan = plan
        self._registers = registers
        self._values = [current_value(register) for register in registers]
        self._operators = [operator.full_name for operator in plan.operators]
        self._kernels = kernels
        self._delegates = delegates
        self._tracer = tracer
        self._scratch = Scratch()
        self._varying = _varying_values(plan, kernels)

    def blocks(self, chain: int) -> list[Block]:
        """The blocks of one chain: a new one begins at the target of a jump, and after a jump."""
        instructions = self._plan.chains[chain].instructions
        edges = {0, len(instructions)}
        for index, instruction in enumerate(instructions):
            if isinstance(instruction, model.JumpFalseCall):
                edges |= {index + 1, instruction.destination_instruction}
        block_at = {edge: block for block, edge in enumerate(sorted(edges))}
        return [self._block(chain, start, end, block_at) for start, end in pairwise(sorted(edges))]

    def _block(self, chain: int, start: int, end: int, block_at: Mapping[int, int]) -> Block:
        names: list[str] = []
        steps: list[Step] = []
        condition, otherwise = None, 0
        for index in range(start, end):
            instruction = self._plan.chains[chain].instructions[index]
            if isinstance(instruction, model.JumpFalseCall):
                condition = self._registers[instruction.cond_value_index]
                otherwise = block_at[instruction.destination_instruction]
            else:
                name, step = self._step(instruction, chain, index)
                names.append(name)
                steps.append(step)
        return Block(tuple(steps), tuple(names), end - start, block_at[end], condition, otherwise)

    def _step(self, instruction: model.Instruction, chain: int, index: int) -> tuple[str, Step]:
        """The name and the step of any instruction but a jump."""
        if isinstance(instruction, model.KernelCall):
            name = self._operators[instruction.op_index]
            return name, self._traced(self._kernel_step(name, instruction.args), name, "kernel", chain, index)
        if isinstance(instruction, model.DelegateCall):
            name = self._plan.delegates[instruction.delegate_index].id
            step = self._bound(self._delegates[instruction.delegate_index].bind, instruction.args)
            return name, self._traced(step, name, "delegate", chain, index)
        if isinstance(instruction, model.MoveCall):
            source, target = self._registers[instruction.move_from], self._registers[instruction.move_to]
            return "MoveCall", partial(_move, source, target)
        assert isinstance(instruction, model.FreeCall)
        return "FreeCall", partial(_free, self._registers[instruction.value_index])

    def _kernel_step(self, operator: str, args: Sequence[int]) -> Step:
        kernel = self._kernels[operator]
        arity = len(kernel.parameters)
        taken = args[:arity]
        if len(taken) < arity or not self._repeats(args[arity:], taken):
            detail = f"takes {arity} arguments, given {len(args)}"
            raise KernelArgumentError(operator=operator, detail=detail)
        return self._bound(partial(kernel.bind, operator, self._scratch), taken, kernel.register_positions)

    def _repeats(self, extra: Sequence[int], taken: Sequence[int]) -> bool:
        """Whether what follows a kernel's arguments is its outputs again, as a program gives them."""
        if not extra or (len(extra) == 1 and extra[0] in taken):
            return True
        given = {*taken, *(item for arg in taken for item in self._items(arg))}
        return len(extra) == 1 and given.issuperset(self._items(extra[0]) or extra)

    def _items(self, value: int) -> Sequence[int]:
        found = self._plan.values[value]
        return found.items if isinstance(found, model.TensorList) else ()

    def _bound(self, bind: Bind, args: Sequence[int], as_registers: frozenset[int] = frozenset()) -> Step:
        """Bind now, or let a DynamicStep do it if an argument varies.

        What a kernel takes as a register (at the positions `as_registers`), it reads while it
        runs: that need not be bound again.
        """
        if self._varying.isdisjoint(args):
            return bind([self._values[arg] for arg in args])
        operands = [
            Register(self._registers[arg]) if position in as_registers else self._registers[arg]
            for position, arg in enumerate(args)
        ]
        watched = [arg for position, arg in enumerate(args) if position not in as_registers]
        varying = [self._registers[arg] for arg in watched if arg in self._varying]
        if not varying:
            return bind([current_value(operand) for operand in operands])
        return DynamicStep(bind, operands, varying)

    def _traced(self, step: Step, name: str, kind: EventKind, chain: int, index: int) -> Step:
        if self._tracer is None:
            return step
        record = self._tracer.record

        def traced_step() -> None:
            with record(name, kind, chain, index):
                step()

        return traced_step


def _kernel_calls(plan: model.ExecutionPlan) -> Iterator[model.KernelCall]:
    for chain in plan.chains:
        yield from (each for each in chain.instructions if isinstance(each, model.KernelCall))


def _varying_values(plan: model.ExecutionPlan, kernels: Mapping[str, Kernel]) -> frozenset[int]:
    """The values that may be another scalar, tensor, shape or memory from run to run."""
    varying = {index for index in plan.inputs if plan.values[index] is None}
    for index, value in enumerate(plan.values):
        if isinstance(value, model.Tensor) and value.shape_dynamism is not model.TensorShapeDynamism.STATIC:
            varying.add(index)
    for chain in plan.chains:
        varying.update(each.move_to for each in chain.instructions if isinstance(each, model.MoveCall))
    known = [kernels.get(operator.full_name) for operator in plan.operators]
    positions = [() if kernel is None else kernel.varying_positions for kernel in known]
    for call in _kernel_calls(plan):
        for position in positions[call.op_index]:
            varying.update(call.args[position : position + 1])
    for index, value in enumerate(plan.values):
        if isinstance(value, _LISTS_OF_VALUES) and not varying.isdisjoint(value.items):
            varying.add(index)
    return frozenset(varying)


_LISTS_OF_VALUES = (model.IntList, model.TensorList, model.OptionalTensorList)


def _move(source: Register, target: Register) -> None:
    target.value = source.value


def _free(register: Register) -> None:
    if isinstance(register.value, Tensor):
        register.value.release()
