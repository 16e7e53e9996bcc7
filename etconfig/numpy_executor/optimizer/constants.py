"""Results that depend on constants alone: computed once, when the method is loaded."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from etconfig.base.interrupts import is_of_signal_handler
from etconfig.kernel.memory import Array, address_of
from etconfig.kernel.steps import Copy
from etconfig.kernel.tensor import Tensor
from etconfig.numpy_executor.effects import Effects
from etconfig.numpy_executor.optimizer.liveness import Liveness
from etconfig.numpy_executor.registers import Registers

BUDGET_BYTES = 64 * 2**20
"""The most memory that a Method takes for such results: a program that stores quantized weights in a quarter
of their size should not take their full size after all."""

_RANDOM = frozenset(
    [
        "bernoulli",
        "binomial",
        "cauchy",
        "dropout",
        "exponential",
        "geometric",
        "log_normal",
        "multinomial",
        "native_dropout",
        "normal",
        "poisson",
        "rand",
        "rand_like",
        "randint",
        "randint_like",
        "randn",
        "randn_like",
        "random",
        "randperm",
        "rrelu_with_noise",
        "uniform",
    ]
)
"""Operators whose results do not depend on their arguments alone. Programs may call those, too, that only
plugins have kernels for. Source: `nondeterministic_seeded` in PyTorch's native_functions.yaml."""


def is_random(operator: str) -> bool:
    """Return whether an operator, by its full name, draws random numbers."""
    return operator.partition("::")[2].partition(".")[0] in _RANDOM


class ConstantFolding:
    """Computes tensors that depend on constants alone, and gives them an array of their own.

    Args:
        registers: The plan's values.
        effects: Of each instruction.
        liveness: Of the plan's memory.
        known: The tensors that have such results, by value index; this set grows.
    """

    def __init__(
        self, registers: Registers, effects: Sequence[Effects], liveness: Liveness, known: set[int]
    ) -> None:
        self._registers = registers
        self._effects = effects
        self._liveness = liveness
        self._known = known
        self._left_bytes = BUDGET_BYTES
        # each result is kept with its step, so that no other source can get the same address
        self._copies: dict[Hashable, tuple[Callable[[], object], Array]] = {}

    def fold(self, index: int, step: Callable[[], object]) -> Sequence[int]:
        """Run instruction `index`, bound to `step`, now instead of in each run, if that changes no result.

        Returns:
            The tensors that have other arrays now; none if the step must run.
        """
        reads, writes = self._effects[index]
        live = self._liveness.of_value.get(writes[0]) if len(writes) == 1 else None
        if live is None or live.written != index or not all(map(self._is_known, reads)):
            return ()
        if live.overwritten < live.end or not self._liveness.can_be_left_unwritten(live):
            return ()
        tensors = [self._tensor(value) for value in live.values]
        target = self._tensor(writes[0]).array
        # a result that others read in another shape or dtype would need an array for each of them
        if any(not _is_alike(each.array, target) for each in tensors):
            return ()
        result = self._result_of(step, target)
        if result is None:
            return ()
        for tensor in tensors:
            tensor.set_array(result)
        self._known.update(live.values)
        return live.values

    def _result_of(self, step: Callable[[], object], target: Array) -> Array | None:
        """Return the array that `step` writes to `target`; None if it exceeds the budget or fails.

        A step that fails will report its error whenever the method runs, as without the optimizer.
        Copies of one constant share one result: an unrolled loop reads its weights in each round.
        """
        key = _key_of(step, target) if isinstance(step, Copy) else None
        if key is not None and key in self._copies:
            return self._copies[key][1]
        if target.nbytes > self._left_bytes:
            return None
        result = _result_of(step, target)
        if result is None:
            return None
        self._left_bytes -= target.nbytes
        if key is not None:
            self._copies[key] = (step, result)
        return result

    def _is_known(self, value: int) -> bool:
        return value in self._known or self._registers.is_constant(value)

    def _tensor(self, value: int) -> Tensor:
        tensor = self._registers.initial(value)
        assert isinstance(tensor, Tensor)
        return tensor


def _key_of(copy: Copy, target: Array) -> Hashable:
    """Return the key of a copy's result: the source's address, and the layout of the bytes that it writes."""
    written_at = address_of(copy.target) - address_of(target)
    return address_of(copy.source), written_at, *map(_layout_of, (copy.source, copy.target, target))


def _layout_of(array: Array) -> Hashable:
    return array.dtype, array.shape, array.strides


def _is_alike(array: Array, target: Array) -> bool:
    return array.dtype == target.dtype and array.shape == target.shape and array.strides == target.strides


def _result_of(step: Callable[[], object], target: Array) -> Array | None:
    """Return the array that `step` writes to `target`, whose own bytes are restored.

    An initial state may lie there that an earlier instruction reads.
    """
    before = target.copy()
    try:
        with np.errstate(all="ignore"):  # infinities and NaN are results, as in PyTorch
            step()
        result: Array = target.copy(order="K")
    except Exception as error:
        if is_of_signal_handler(error):
            raise
        return None
    finally:
        target[...] = before
    result.flags.writeable = False
    return result
