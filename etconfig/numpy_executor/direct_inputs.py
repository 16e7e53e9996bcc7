"""Large inputs that instructions read where the caller has them, without a copy.

A program whose input has no planned memory leaves its place to the runtime. Here such an input has memory of
its own, which no other tensor shares. Most steps are data: the arrays over that memory are found among their
operands, and for one run these steps are made again with the same views of the caller's array. An input that
any other step can reach is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from types import FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias

import numpy as np

from etconfig.kernel.memory import AddressRange, Array, address_of
from etconfig.kernel.registry import Step
from etconfig.kernel.tensor import Register, Tensor
from etconfig.numpy_executor.compiled_plan import Block, CompiledPlan
from etconfig.numpy_executor.delegate_steps import DelegateStep
from etconfig.program import model
from etconfig.program.model import TensorShapeDynamism

LEAST_BYTES = 1 << 20
"""The smallest input that is read in place: making steps again takes longer than copying less."""

Place: TypeAlias = "tuple[int, int, int]"
"""The indices of a chain, of a block in it, and of a step in that."""


_PLAIN = (type, str, bytes, int, float, np.ufunc, ModuleType)
"""The types of objects that keep no array of a method."""


class DirectInput:
    """An input that can be read in place.

    Attributes:
        position: Its position among the inputs.
        tensor: Its tensor, at its own memory.
        places: The steps that read it.
    """

    def __init__(self, position: int, tensor: Tensor, places: Sequence[Place]) -> None:
        self.position = position
        self.tensor = tensor
        self.places = places
        self._range = _range_of(tensor.array)

    def accepts(self, array: Array) -> bool:
        """Return whether an array lies in memory as the tensor does."""
        own = self.tensor.array
        is_alike: bool = array.strides == own.strides and array.flags.aligned
        return is_alike

    def view(self, own: Array, memory: Array) -> Array | None:
        """Return the array over the caller's memory in place of one over the tensor's; None for others."""
        start, end = self._range
        at = address_of(own)
        if not start <= at < end:
            return None
        there: Array = np.ndarray(own.shape, own.dtype, memory.data, at - start, own.strides)
        return there


def direct_inputs(
    plan: model.ExecutionPlan,
    registers: Sequence[Register],
    outputs: Sequence[Register],
    written: frozenset[int],
    compiled: CompiledPlan,
) -> list[DirectInput]:
    """Return the inputs that can be read in place.

    Args:
        plan: The method.
        registers: The registers of its inputs.
        outputs: Those of its outputs.
        written: The positions of inputs that instructions may write to, or move.
        compiled: The bound steps.
    """
    candidates = [
        (position, register.value)
        for position, (index, register) in enumerate(zip(plan.inputs, registers, strict=True))
        if position not in written and _is_candidate(plan, index) and isinstance(register.value, Tensor)
    ]
    if not candidates:
        return []
    places: dict[int, list[Place]] = {position: [] for position, _ in candidates}
    results = _Arrays()
    for each in outputs:
        results.keep(each)
    found = [(None, results), *((place, _arrays_of(step)) for place, step in _steps(compiled.chains))]
    for place, arrays in found:
        for position, tensor in candidates:
            if position not in places:
                continue
            if arrays.keeps(tensor.array):
                del places[position]
            elif place is not None and arrays.is_called_with(tensor.array):
                places[position].append(place)
    return [
        DirectInput(position, tensor, places[position])
        for position, tensor in candidates
        if position in places
    ]


def bound_to(
    chains: Sequence[Sequence[Block]], given: Sequence[tuple[DirectInput, Array]]
) -> Sequence[Sequence[Block]]:
    """Return the blocks with steps that read the caller's arrays."""
    memories = [(each, _bytes_of(array, each.tensor.dim_order)) for each, array in given]

    def here(own: Array) -> Array:
        for each, memory in memories:
            found = each.view(own, memory)
            if found is not None:
                return found
        return own

    changed: dict[tuple[int, int], list[Step]] = {}
    for at, block, step in {*chain.from_iterable(each.places for each, _ in given)}:
        steps = changed.setdefault((at, block), list(chains[at][block].steps))
        steps[step] = _again(steps[step], here)
    return [
        [
            block.with_steps(tuple(changed[at, index])) if (at, index) in changed else block
            for index, block in enumerate(blocks)
        ]
        for at, blocks in enumerate(chains)
    ]


def _is_candidate(plan: model.ExecutionPlan, index: int) -> bool:
    """Return whether a value is a large tensor that neither the plan nor an output gives another use."""
    value = plan.values[index]
    return (
        isinstance(value, model.SerializedTensor)
        and value.allocation_info is None
        and value.shape_dynamism is TensorShapeDynamism.STATIC
        and value.size_bytes >= LEAST_BYTES
        and plan.inputs.count(index) == 1
        and index not in plan.outputs
        and not value.attribute_name
    )


def _steps(chains: Sequence[Sequence[Block]]) -> Iterator[tuple[Place, Step]]:
    for at, blocks in enumerate(chains):
        for number, block in enumerate(blocks):
            for index, step in enumerate(block.steps):
                yield (at, number, index), step


def _arrays_of(step: Step) -> _Arrays:
    arrays = _Arrays()
    arrays.visit(step)
    return arrays


class _Arrays:
    """The arrays that a step, or a value, can reach."""

    def __init__(self) -> None:
        self._operands: list[Array] = []
        self._kept: list[Array] = []
        self._seen: set[int] = set()

    def keeps(self, memory: Array) -> bool:
        """Return whether an array over this memory is kept where another one cannot take its place."""
        return any(_overlap(_range_of(each), _range_of(memory)) for each in self._kept)

    def is_called_with(self, memory: Array) -> bool:
        """Return whether an operand is an array over this memory."""
        return any(_overlap(_range_of(each), _range_of(memory)) for each in self._operands)

    def visit(self, step: Step) -> None:
        """Find the arrays of a step."""
        if type(step) is DelegateStep:
            self._operand(list(step.bound))
        elif isinstance(step, partial):
            self._operand(step.args)
            self._operand(tuple(step.keywords.values()))
            self.keep(step.func)
        else:
            self.keep(step)

    def _operand(self, value: object) -> None:
        if isinstance(value, np.ndarray):
            self._operands.append(value)
        elif type(value) in (tuple, list):
            for each in value:  # type: ignore[attr-defined]
                self._operand(each)
        else:
            self.keep(value)

    def keep(self, value: object) -> None:
        """Find the arrays that a value keeps."""
        if id(value) in self._seen or isinstance(value, _PLAIN):
            return
        self._seen.add(id(value))
        if isinstance(value, np.ndarray):
            self._kept.append(value)
        for each in _held(value):
            self.keep(each)


def _held(value: object) -> Sequence[object]:
    """Return the objects that a value keeps, apart from the modules that its code lives in."""
    if isinstance(value, FunctionType):
        cells = [each.cell_contents for each in value.__closure__ or () if _is_full(each)]
        return [*cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    if isinstance(value, MethodType):
        return value.__self__, value.__func__
    if isinstance(value, partial):
        return value.func, value.args, value.keywords
    if isinstance(value, (tuple, list, set, frozenset)):
        return tuple(value)
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    slots = chain.from_iterable(getattr(each, "__slots__", ()) for each in type(value).__mro__)
    kept = [getattr(value, name, None) for name in slots if isinstance(name, str)]
    receiver = getattr(value, "__self__", None)  # of a method that is written in C
    return [*kept, *getattr(value, "__dict__", {}).values(), receiver]


def _is_full(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  only asked for the error
    except ValueError:
        return False
    return True


def _again(step: Any, here: Callable[[Array], Array]) -> Step:
    """Return a step for other arrays."""
    if type(step) is DelegateStep:
        return step.with_bound(_replaced(list(step.bound), here))
    args = _replaced(step.args, here)
    keywords = {name: _replaced(each, here) for name, each in step.keywords.items()}
    return partial(step.func, *args, **keywords)


def _replaced(value: Any, here: Callable[[Array], Array]) -> Any:
    if isinstance(value, np.ndarray):
        return here(value)
    if type(value) in (tuple, list):
        return type(value)(_replaced(each, here) for each in value)
    return value


def _bytes_of(array: Array, dim_order: Sequence[int]) -> Array:
    """Return the bytes of a dense array, in their order in memory; read-only."""
    flat = np.transpose(array, dim_order).reshape(-1).view(np.uint8)
    flat.flags.writeable = False
    return flat


def _range_of(array: Array) -> AddressRange:
    low = high = address_of(array)
    for size, stride in zip(array.shape, array.strides, strict=True):
        if size == 0:
            return low, low
        low += min(stride * (size - 1), 0)
        high += max(stride * (size - 1), 0)
    return low, high + array.itemsize


def _overlap(one: AddressRange, other: AddressRange) -> bool:
    return one[0] < other[1] and other[0] < one[1]
