"""`CompiledPlan`: the instructions of a method, compiled to blocks of bound steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from operator import length_hint

from etconfig.backend import StopSignal
from etconfig.base.interrupts import is_of_signal_handler
from etconfig.base.records import record
from etconfig.base.scalar_types import ScalarType
from etconfig.errors import EtconfigError, InstructionLimitError, KernelArgumentError
from etconfig.kernel.registry import Step, refusal
from etconfig.kernel.tensor import Register, Tensor
from etconfig.method.stop import StopCheck

DEFAULT_INSTRUCTION_LIMIT = 10_000_000
"""The most instructions that one execute may run: an endless loop is stopped within seconds."""


class StoppedAt(StopSignal):
    """Ends a run, with the place where it ended.

    Attributes:
        index: The index of the instruction; None if the method has none.
        name: Its operator, or the backend of its delegate.
    """

    def __init__(self, index: int | None, name: str | None) -> None:
        super().__init__(index, name)
        self.index = index
        self.name = name


class StoppableStep:
    """A step of several instructions that can end between them."""

    __slots__ = ()

    def run_until(self, stop: StopCheck | None) -> None:
        """Run the instructions, or those before `stop` ends the run. Raises StoppedAt."""
        raise NotImplementedError


def checked_steps(steps: Iterator[Step], stop: StopCheck) -> Iterator[Step]:
    """Yield steps, and check before each whether the run must end.

    Raises:
        StopSignal: it must; the last step that was taken from `steps` did not run.
    """
    for step in steps:
        stop.check()
        yield partial(step.run_until, stop) if isinstance(step, StoppableStep) else step


@record(frozen=True)
class Block:
    """Steps that run one after the other, and the block that follows.

    Attributes:
        steps: The steps.
        names: The name of each step in an error: its operator. Several steps may be parts of one call.
        cost: The number of instructions that the block stands for.
        following: The index of the next block.
        condition: If this is false at the end, `otherwise` is the next block.
        otherwise: See `condition`.
        start: The index of the first instruction in its chain.
        indices: The index of the instruction of each step.
    """

    steps: tuple[Step, ...]
    names: tuple[str, ...]
    cost: int
    following: int
    condition: Register | None = None
    otherwise: int = 0
    start: int = 0
    indices: Sequence[int] = ()

    def run(self, stop: StopCheck | None = None) -> int:
        """Run the steps and return the index of the next block.

        Raises:
            ExecutionError: a kernel refuses its arguments, or a delegate failed.
            StoppedAt: `stop` ended the run.
        """
        if stop is not None and not self.steps and self.condition is not None and stop.should_stop():
            raise StoppedAt(self.start + self.cost - 1, "JumpFalseCall")
        steps = iter(self.steps)
        try:
            for step in steps if stop is None else checked_steps(steps, stop):
                step()
        except (EtconfigError, MemoryError):
            raise
        except Exception as error:
            if is_of_signal_handler(error):
                raise
            failed = len(self.steps) - length_hint(steps) - 1
            if isinstance(error, StopSignal):
                index = error.index if isinstance(error, StoppedAt) else None
                name = error.name if isinstance(error, StoppedAt) else self.names[failed]
                raise StoppedAt(self.indices[failed] if index is None else index, name) from error
            raise refusal(self.names[failed], error) from error
        if self.condition is None or _is_true(self.condition):
            return self.following
        return self.otherwise


class CompiledPlan:
    """A compiled method: for each chain, blocks split at the targets of jumps.

    Args:
        method: The method's name, for errors.
        chains: The blocks.
        instruction_limit: The most instructions that one run may take.
        reassigned: The registers that instructions change.

    Attributes:
        chains: The blocks.
    """

    def __init__(
        self,
        method: str,
        chains: Sequence[Sequence[Block]],
        instruction_limit: int,
        reassigned: Sequence[Register] = (),
    ) -> None:
        self._method = method
        self.chains = chains
        self._limit = instruction_limit
        self._reassigned = reassigned

    def run(self, stop: StopCheck | None = None) -> None:
        """Run all chains from their beginning, or until `stop` ends the run.

        A run that ends in an exception leaves the registers as it found them: a loop resets its counter
        only at its end, so the next run would otherwise begin in the middle.

        Raises:
            InstructionLimitError: the limit was reached.
            ExecutionError: a kernel refuses its arguments, or a delegate failed.
            ExecutionStoppedError: `stop` ended the run.
        """
        before = [register.value for register in self._reassigned]
        try:
            self._run_chains(stop)
        except BaseException as error:
            for register, value in zip(self._reassigned, before, strict=True):
                register.value = value
            if stop is not None and isinstance(error, StoppedAt):
                raise stop.error(self._method, error.index, error.name) from error.__cause__
            raise

    def _run_chains(self, stop: StopCheck | None) -> None:
        left = self._limit
        if stop is not None and stop.should_stop():  # also if no step is left to run
            raise self._stopped_at_first()
        for blocks in self.chains:
            index = 0
            while index < len(blocks):
                block = blocks[index]
                left -= block.cost
                if left < 0:
                    raise InstructionLimitError(method=self._method, limit=self._limit)
                index = block.run(stop)

    def _stopped_at_first(self) -> StoppedAt:
        """Return the signal of a run that ended before its first step."""
        blocks = (block for blocks in self.chains for block in blocks if block.steps)
        first = next(blocks, None)
        return StoppedAt(None, None) if first is None else StoppedAt(first.indices[0], first.names[0])


def _is_true(condition: Register) -> bool:
    value = condition.value
    if type(value) is bool:
        return value
    if type(value) is Tensor and value.scalar_type is ScalarType.BOOL:
        return bool(value.array.all())
    detail = "the condition must be a boolean or a tensor of booleans"
    raise KernelArgumentError(operator="JumpFalseCall", detail=detail)
