"""`working_memory`: the memory that a method takes on the numpy executor, found without its constants."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from etconfig.backend import ResizeOutput, Value, resize_nothing
from etconfig.base.records import record
from etconfig.kernel.memory import Array, Scratch, Shape, address_of, allocate_zeroed
from etconfig.kernel.registry import Kernel
from etconfig.kernel.tensor import Tensor
from etconfig.method import DelegateRun
from etconfig.numpy_executor.compile import compile_plan, kernels_of
from etconfig.numpy_executor.compiled_plan import DEFAULT_INSTRUCTION_LIMIT
from etconfig.numpy_executor.effects import EffectsReader
from etconfig.numpy_executor.optimizer import can_optimize
from etconfig.numpy_executor.rebinding import Rebinding
from etconfig.numpy_executor.registers import Registers
from etconfig.program.model import SerializedTensor

if TYPE_CHECKING:
    from etconfig.program.model import ExecutionPlan
    from etconfig.program.program import Program


@record(frozen=True)
class WorkingMemory:
    """The memory that a method takes on the numpy executor.

    Attributes:
        kernel_bytes: The working memory of its kernels, and the constants that are converted or computed.
        arena_bytes: The bytes of each planned arena that are used, by memory id.
    """

    kernel_bytes: int
    arena_bytes: Sequence[int]


def working_memory(program: Program, plan: ExecutionPlan, kernels: Mapping[str, Kernel]) -> WorkingMemory:
    """Bind a plan as for a load, without its constants, and count what it takes.

    Kernels of dynamic shapes are bound when they run, and do not count.

    Args:
        program: The program.
        plan: One of its methods.
        kernels: The kernels by full operator name.

    Raises:
        MissingOperatorError: there is no kernel for some operators.
        KernelArgumentError: a kernel refuses its arguments.
        ProgramError: external tensors are not where the program says.
        MemoryError: the address space does not suffice.
    """
    called = kernels_of(plan, kernels)
    registers, scratch = _Hollow(program, plan), _Counting()
    rebinding = Rebinding(plan, registers, called)
    delegates: list[DelegateRun] = [_run_nothing] * len(plan.delegates)
    limit = DEFAULT_INSTRUCTION_LIMIT
    compiled = compile_plan(plan, registers, called, rebinding, delegates, None, limit, True, scratch)
    values = enumerate(registers.initial_values(range(len(plan.values))))
    moved = {at: each.array for at, each in values if isinstance(each, Tensor) and each.is_alias}
    folded = {
        at: each for at, each in moved.items() if each.flags.owndata
    }  # computed in the arena, then copied
    folded_bytes = sum(each.nbytes for each in {id(each): each for each in folded.values()}.values())
    arena_bytes: Sequence[int] = plan.non_const_buffer_sizes
    leaves_out = can_optimize(plan, called, rebinding.moved)
    if leaves_out and not registers.dynamic:
        reader, (chain,) = EffectsReader(plan, called), plan.chains
        run = {index for block in compiled.chains[0] for index in block.indices}
        written = {each for index in run for each in reader.effects_of(chain.instructions[index]).writes}
        arena_bytes = registers.used_bytes({*written, *folded, *reader.tensors_in(plan.inputs)})
    return WorkingMemory(scratch.used_bytes + scratch.kept_bytes + folded_bytes, arena_bytes)


def _run_nothing(args: list[Value], resize_output: ResizeOutput = resize_nothing) -> None:
    """Take the place of a delegate."""


class _Hollow(Registers):
    """Registers whose constants are zeros: pages that are never written take no memory."""

    def __init__(self, program: Program, plan: ExecutionPlan) -> None:
        self._zeros: dict[str | int | None, Array] = {}
        super().__init__(program, plan)

    def used_bytes(self, values: Iterable[int]) -> list[int]:
        """Return the bytes of each arena that these tensors take."""
        places = sorted({place for value in values if (place := self.planned_places[value]) is not None})
        used = []
        for arena in self._arenas:
            total, last = 0, address_of(arena)
            for start, end in places:
                if last <= end <= address_of(arena) + len(arena):
                    total += end - max(start, last)
                    last = end
            used.append(total)
        return used

    def _stored_data(self, value: SerializedTensor) -> memoryview:
        known = self._zeros.get(value.constant_key)
        if known is None or len(known) < value.size_bytes:
            known = self._zeros[value.constant_key] = allocate_zeroed(value.size_bytes)
        return known[: value.size_bytes].data


class _Counting(Scratch):
    """Counts what steps will use of the working memory, and keeps no converted constant.

    Attributes:
        used_bytes: The bytes that are in use of all blocks.
        kept_bytes: The bytes of the converted constants.
    """

    def __init__(self) -> None:
        super().__init__()
        self.used_bytes = self.kept_bytes = self._used_in_block = 0

    def arrays(self, *wanted: tuple[Shape, np.dtype[Any]]) -> tuple[Array, ...]:
        before = self._block
        found = super().arrays(*wanted)
        if self._block is not before:
            self._used_in_block = 0
        end = max((address_of(each) + each.nbytes for each in found), default=0)
        more = end - address_of(self._block) - self._used_in_block
        if more > 0:
            self._used_in_block += more
            self.used_bytes += more
        return found

    def kept(self, constant: Array, purpose: Hashable, make: Callable[[], Array]) -> Array:
        def made() -> Array:
            array = make()
            if np.may_share_memory(array, constant):
                return array
            self.kept_bytes += array.nbytes
            return np.empty_like(array)

        return super().kept(constant, purpose, made)
