"""`Plan`: the instructions of a method, compiled to blocks of bound steps."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import length_hint
from typing import Any, NamedTuple, TypeAlias

from etconfig.errors import EtconfigError, InstructionLimitError, KernelArgumentError
from etconfig.executor.memory import Array
from etconfig.executor.registry import Step, refusal
from etconfig.executor.tensor import KEPT_SHAPES, Register, Tensor, memory_of
from etconfig.executor.values import current_value
from etconfig.program.model import TensorShapeDynamism
from etconfig.records import record
from etconfig.values import ScalarType

DEFAULT_INSTRUCTION_LIMIT = 10_000_000
"""How many instructions one execute may run: a loop that never ends is stopped within seconds."""


@record(frozen=True)
class Block:
    """Steps that run one after the other, and where to go then.

    Attributes:
        steps: What to do.
        names: What each step is called in an error: its operator. Several may be passes of one call.
        cost: How many instructions it stands for.
        following: The next block.
        condition: If this is false at the end, `otherwise` is the next block.
        otherwise: See `condition`.
    """

    steps: tuple[Step, ...]
    names: tuple[str, ...]
    cost: int
    following: int
    condition: Register | None = None
    otherwise: int = 0

    def run(self) -> int:
        """Run the steps and return the index of the next block.

        Raises:
            ExecutionError: a kernel refuses its arguments, or a delegate failed.
        """
        steps = iter(self.steps)
        try:
            for step in steps:
                step()
        except (EtconfigError, MemoryError):
            raise
        except Exception as error:
            failed = len(self.steps) - length_hint(steps) - 1
            raise refusal(self.names[failed], error) from error
        if self.condition is None or _is_true(self.condition):
            return self.following
        return self.otherwise


class Plan:
    """A compiled method: for each chain, blocks split at the targets of jumps.

    Args:
        method: The method's name, for errors.
        chains: The blocks.
        instruction_limit: How many instructions one run may take.
        rebound: The registers that instructions change.
    """

    def __init__(
        self,
        method: str,
        chains: Sequence[Sequence[Block]],
        instruction_limit: int,
        rebound: Sequence[Register] = (),
    ) -> None:
        self._method = method
        self._chains = chains
        self._limit = instruction_limit
        self._rebound = rebound

    def run(self) -> None:
        """Run all chains from their beginning.

        A run that ends in an exception leaves the registers as it found them: a loop sets its counter
        back at its end only, so that the next run would begin in the middle.

        Raises:
            InstructionLimitError: the limit was reached.
            ExecutionError: a kernel refuses its arguments, or a delegate failed.
        """
        before = [register.value for register in self._rebound]
        try:
            self._run_chains()
        except BaseException:
            for register, value in zip(self._rebound, before, strict=True):
                register.value = value
            raise

    def _run_chains(self) -> None:
        left = self._limit
        for blocks in self._chains:
            index = 0
            while index < len(blocks):
                block = blocks[index]
                left -= block.cost
                if left < 0:
                    raise InstructionLimitError(method=self._method, limit=self._limit)
                index = block.run()


Bind: TypeAlias = Callable[[Sequence[object]], Step]
"""Binds the arguments of one instruction."""


class _Bound(NamedTuple):
    """A step, and what tensors were when it was bound to them.

    Attributes:
        step: The step.
        views: Tensors, each with the array and the token that it had.
        memories: Tensors that may get other memory, each with the memory that it had.
    """

    step: Step
    views: Sequence[tuple[Tensor, Array, object]]
    memories: Sequence[tuple[Tensor, object]]

    def is_gone(self) -> bool:
        """Whether a tensor has other memory now, so that it never again is what it was."""
        return any(memory_of(tensor) is not memory for tensor, memory in self.memories)


class DynamicStep:
    """A step whose arguments change between runs: it is bound for each shape and number that it meets.

    What was bound is kept and serves again when its arguments return, as long as there are not more
    than `KEPT_SHAPES` of them.
    """

    __slots__ = ("_bind", "_bound", "_is_large", "_operands", "_outputs", "_read", "_resized")

    def __init__(
        self,
        bind: Bind,
        operands: Sequence[Register],
        read: Sequence[Register],
        written: Sequence[Register] = (),
        aliases: Sequence[Register] = (),
        *,
        is_large: bool = False,
    ) -> None:
        """Take what is needed to bind.

        Args:
            bind: Binds the operands.
            operands: The arguments.
            read: The registers that decide what is bound.
            written: Tensors, and lists of them, that get their shape from binding and are not read.
            aliases: Tensors that the step itself makes a view of another, and that are not read.
            is_large: What is bound may take much memory: only the latest is kept.
        """
        self._bind = bind
        self._operands = operands
        self._read = read
        self._outputs = (*written, *aliases)
        self._resized = (*read, *written)  # an operator that the core does not know may resize any
        self._is_large = is_large
        self._bound: dict[Hashable, _Bound] = {}

    def __call__(self) -> None:
        # outputs count as objects: an instruction may move another tensor into a register
        key = (
            *[value.token if type(value := each.value) is Tensor else _key_of(value) for each in self._read],
            *[
                value if type(value := each.value) is Tensor else current_value(each)
                for each in self._outputs
            ],
        )
        bound = self._bound.get(key)
        if bound is None or (bound.memories and bound.is_gone()):
            bound = self._bind_now(key)
        else:
            for tensor, array, token in bound.views:
                if tensor.token is not token:
                    tensor.rebind(array, token)
        bound.step()

    def _bind_now(self, key: Hashable) -> _Bound:
        # they would hold memory that was freed, or that grew, and serve nobody
        for each in [each for each, bound in self._bound.items() if bound.memories and bound.is_gone()]:
            del self._bound[each]
        if len(self._bound) == (1 if self._is_large else KEPT_SHAPES):
            del self._bound[next(iter(self._bound))]
        step = self._bind(
            [value if type(value := each.value) is Tensor else current_value(each) for each in self._operands]
        )
        # a tensor without memory is not bound yet: the step sizes it while it runs
        views = [(each, each.array, each.token) for each in _tensors_in(self._resized) if each.has_memory]
        memories = [(each, memory_of(each)) for each, _, _ in views if each.form.dynamism is _UNBOUND]
        bound = self._bound[key] = _Bound(step, views, memories)
        return bound


_UNBOUND = TensorShapeDynamism.DYNAMIC_UNBOUND


def _tensors_in(registers: Iterable[Register]) -> list[Tensor]:
    """The tensors in registers, and those in lists there."""
    tensors: list[Tensor] = []
    for register in registers:
        value = register.value
        if type(value) is Tensor:
            tensors.append(value)
        elif type(value) is tuple:
            items = (item.value for item in value if type(item) is Register)
            tensors += [each for each in items if type(each) is Tensor]
    return tensors


def _key_of(value: Any) -> Hashable:
    """What tells whether a step must be bound again: another tensor, or another number of any type.

    A tensor has another token whenever its memory or shape is another one.
    """
    if type(value) is int:
        return value
    if type(value) is Tensor:
        return value.token
    if type(value) is Register:
        return _key_of(value.value)
    if type(value) is tuple:
        return tuple([_key_of(item) for item in value])
    if type(value) is float:
        return value.hex()  # 0.0 equals -0.0, and NaN not even itself
    return type(value), value  # True equals 1


def _is_true(condition: Register) -> bool:
    value = condition.value
    if type(value) is bool:
        return value
    if type(value) is Tensor and value.scalar_type is ScalarType.BOOL:
        return bool(value.array.all())
    detail = "the condition must be a boolean or a tensor of booleans"
    raise KernelArgumentError(operator="JumpFalseCall", detail=detail)
