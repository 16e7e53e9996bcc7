"""The tensors that each instruction reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, count
from typing import NamedTuple

from etconfig.kernel.registry import Kernel
from etconfig.program import model

_PYTORCH = ("aten::", "dim_order_ops::", "quantized_decomposed::")

_WRITES_ARGUMENTS = "aten::_native_batch_norm_legit"
"""In training, it updates the running statistics as well as its outputs."""

_TENSORS = frozenset({model.SerializedTensor})
_LISTS_OF_TENSORS = frozenset({model.TensorList, model.OptionalTensorList})


class Effects(NamedTuple):
    """The tensors that one instruction touches, by value index.

    A tensor in both may be changed in part: the instruction may read and write it, and nothing more is
    known.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]

    @property
    def is_plain(self) -> bool:
        """True if each tensor is either read or written as a whole."""
        return set(self.reads).isdisjoint(self.writes)


class EffectsReader:
    """Finds what the instructions of one plan read and write."""

    def __init__(self, plan: model.ExecutionPlan, kernels: Iterable[Kernel | None]) -> None:
        """Look at the values of `plan`, and its operators, which have these kernels."""
        self._tensors = frozenset(_indices_of(plan.values, _TENSORS))
        lists = _indices_of(plan.values, _LISTS_OF_TENSORS)
        self._lists = {index: _items_of(plan.values[index]) for index in lists}
        self._out_arities = [*map(_out_arity, plan.operators, kernels)]

    def tensors_in(self, values: Sequence[int]) -> tuple[int, ...]:
        """Return the tensors among `values`, and the items of lists of tensors."""
        if self._lists.keys().isdisjoint(values):
            return tuple(filter(self._tensors.__contains__, values))
        found: list[int] = []
        for value in values:
            found += self._lists.get(value, (value,) if value in self._tensors else ())
        return tuple(found)

    def effects_of(self, instruction: model.Instruction) -> Effects:
        """Return the tensors that one instruction reads and writes.

        A program gives the outputs of a kernel call twice: as its last arguments, and again after
        them. PyTorch's operators, unless they work in place, write nothing else. Other operators, and
        delegates, may read and write every tensor.
        """
        if isinstance(instruction, model.KernelCall):
            op_index, args = instruction
            arity = self._out_arities[op_index]
            repeated = args[arity:]
            written = self.tensors_in(repeated)
            for first in range(arity - 1, -1, -1) if written else ():
                outputs = args[first:arity]
                if outputs == repeated or self.tensors_in(outputs) == written:
                    return Effects(self.tensors_in(args[:first]), written)
        touched = self.tensors_in(getattr(instruction, "args", ()))
        return Effects(touched, touched)


def _indices_of(values: Iterable[model.EValue], kinds: frozenset[type]) -> Iterator[int]:
    """Yield the indices of the values that have one of these types."""
    return compress(count(), map(kinds.__contains__, map(type, values)))


def _items_of(tensors: model.EValue) -> tuple[int, ...]:
    """Return the tensors in a list of them."""
    assert isinstance(tensors, (model.TensorList, model.OptionalTensorList))
    return tuple(item for item in tensors.items if item != -1)


def _out_arity(operator: model.Operator, kernel: Kernel | None) -> int:
    """Return the number of arguments of an operator that only writes to its outputs; 0 for any other."""
    is_in_place = operator.name.endswith("_") or operator.name == _WRITES_ARGUMENTS
    if kernel is None or is_in_place or not operator.overload or not operator.name.startswith(_PYTORCH):
        return 0
    return len(kernel.parameters)
