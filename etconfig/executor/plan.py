"""`Plan`: the instructions of a method, compiled to blocks of bound steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import length_hint
from typing import TypeAlias

from etconfig.errors import EtconfigError, InstructionLimitError, KernelArgumentError
from etconfig.executor.registry import Step, refusal
from etconfig.executor.tensor import Register, Tensor
from etconfig.executor.values import current_value
from etconfig.records import record
from etconfig.values import ScalarType

DEFAULT_INSTRUCTION_LIMIT = 10_000_000
"""How many instructions one execute may run: a loop that never ends is stopped within seconds."""


@record(frozen=True)
class Block:
    """Steps that run one after the other, and where to go then.

    Attributes:
        steps: What to do.
        names: What each step is called in an error: its operator.
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
    """A compiled method: for each chain, blocks split at the targets of jumps."""

    def __init__(self, method: str, chains: Sequence[Sequence[Block]], instruction_limit: int) -> None:
        self._method = method
        self._chains = chains
        self._limit = instruction_limit

    def run(self) -> None:
        """Run all chains from their beginning.

        Raises:
            InstructionLimitError: the limit was reached.
            ExecutionError: a kernel refuses its arguments, or a delegate failed.
        """
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


class DynamicStep:
    """A step whose arguments change between runs: it is bound again when they did."""

    __slots__ = ("_bind", "_key", "_operands", "_step", "_varying")

    def __init__(self, bind: Bind, operands: Sequence[Register], varying: Sequence[Register]) -> None:
        """Bind `operands` by `bind`, again whenever one of `varying`, a part of them, has changed."""
        self._bind = bind
        self._operands = operands
        self._varying = varying
        self._key: list[object] | None = None
        self._step: Step = _nothing

    def __call__(self) -> None:
        if self._current_key() != self._key:
            self._step = self._bind([current_value(operand) for operand in self._operands])
            self._key = self._current_key()  # taken again, for binding may resize the outputs
        self._step()

    def _current_key(self) -> list[object]:
        return [_key_of(current_value(register)) for register in self._varying]


def _key_of(value: object) -> object:
    """What tells whether a step must be bound again: another tensor, or another number of any type.

    A tensor's token is new whenever its memory or shape is another one.
    """
    if type(value) is Tensor:
        return value.token
    if type(value) is tuple:
        return [_key_of(item) for item in value]
    if type(value) is float:
        return value.hex()  # 0.0 equals -0.0, and NaN not even itself
    return type(value), value  # True equals 1


def _nothing() -> None:
    """The step of an instruction that was not bound yet."""


def _is_true(condition: Register) -> bool:
    value = condition.value
    if type(value) is bool:
        return value
    if type(value) is Tensor and value.scalar_type is ScalarType.BOOL:
        return bool(value.array.all())
    detail = "the condition must be a boolean or a tensor of booleans"
    raise KernelArgumentError(operator="JumpFalseCall", detail=detail)
