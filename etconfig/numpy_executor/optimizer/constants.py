"""Results that follow from constants alone: computed once, when the method is loaded."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from etconfig.kernel.memory import Array, address_of
from etconfig.kernel.steps import Copy
from etconfig.kernel.tensor import Tensor
from etconfig.numpy_executor.effects import Effects
from etconfig.numpy_executor.optimizer.liveness import Liveness
from etconfig.numpy_executor.registers import Registers

BUDGET_BYTES = 64 * 2**20
"""How much memory of its own a Method takes for such results: weights that a program holds in a quarter of
their size shall not take it all the same."""

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
"""Operators whose results follow from nothing. Source: `nondeterministic_seeded` in PyTorch's
native_functions.yaml; programs may call those, too, that only plugins have kernels for."""


def is_random(operator: str) -> bool:
    """Whether an operator, by its full name, draws random numbers."""
    return operator.partition("::")[2].partition(".")[0] in _RANDOM


class ConstantFolding:
    """Gives tensors that follow from constants an array of their own, which holds the result.

    Args:
        registers: The plan's values.
        effects: Of each instruction.
        liveness: Of the plan's memory.
        known: The tensors that were given such results, by value index; grows.
    """

    def __init__(
        self, registers: Registers, effects: Sequence[Effects], liveness: Liveness, known: set[int]
    ) -> None:
        self._registers = registers
        self._effects = effects
        self._liveness = liveness
        self._known = known
        self._left_bytes = BUDGET_BYTES
        # with each result its step, so that no other source can come to lie at the address of its own
        self._copies: dict[Hashable, tuple[Callable[[], object], Array]] = {}

    def fold(self, index: int, step: Callable[[], object]) -> Sequence[int]:
        """Run instruction `index`, bound to `step`, now and never again, if that changes no result.

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
        if any(not _is_alike(each.array, target) for each in tensors):
            return ()
        result = self._result_of(step, target)
        if result is None:
            return ()
        for tensor in tensors:
            tensor.rebind(result)
        self._known.update(live.values)
        return live.values

    def _result_of(self, step: Callable[[], object], target: Array) -> Array | None:
        """What `step` writes to `target`, or None if that is beyond the budget, or an error.

        An error is told whenever the method runs, as without the optimizer.
        Copies of one constant share one result: a loop that was unrolled reads its weights in each round.
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
    """What the result of a copy depends on: where it reads, and how the bytes of `target` are written."""
    written_at = address_of(copy.target) - address_of(target)
    return address_of(copy.source), written_at, *map(_layout_of, (copy.source, copy.target, target))


def _layout_of(array: Array) -> Hashable:
    return array.dtype, array.shape, array.strides


def _is_alike(array: Array, target: Array) -> bool:
    return array.dtype == target.dtype and array.shape == target.shape and array.strides == target.strides


def _result_of(step: Callable[[], object], target: Array) -> Array | None:
    """What `step` writes to `target`, which is left as it was: a state may lie there until it is run."""
    before = target.copy()
    try:
        with np.errstate(all="ignore"):  # infinities and NaN are results, as in PyTorch
            step()
        result: Array = target.copy(order="K")
    except Exception:
        return None
    finally:
        target[...] = before
    result.flags.writeable = False
    return result
