"""Batch norms after convolutions: both multiply and add, so the convolution can do both alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from etconfig.kernel.memory import Array, Shape
from etconfig.kernel.steps import Copy
from etconfig.kernel.tensor import Tensor
from etconfig.numpy_executor.effects import Effects
from etconfig.numpy_executor.optimizer.liveness import Liveness
from etconfig.numpy_executor.registers import Registers
from etconfig.program import model
from etconfig.program.model import TensorShapeDynamism

CONVOLUTION = "aten::convolution.out"
BATCH_NORM = "aten::_native_batch_norm_legit_no_training.out"


FOLDED_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


class Fold(NamedTuple):
    """A convolution's new weight and bias, and the copy that remains of the batch norm.

    The first two fields are the indices of the instructions.
    """

    convolution: int
    batch_norm: int
    weight: Tensor
    bias: Tensor
    copy: Copy

    @property
    def replaced(self) -> Mapping[int, Tensor]:
        """The convolution's new arguments, by their position."""
        return {1: self.weight, 2: self.bias}


def find_folds(
    plan: model.ExecutionPlan,
    registers: Registers,
    effects: Sequence[Effects],
    liveness: Liveness,
) -> Iterator[Fold]:
    """Yield a fold for every batch norm whose input a convolution writes and nothing else reads.

    The parameters of both must be constants in float32 or float64. New ones are computed in
    float64, and kept in addition to the program's parameters.
    """
    names = [each.full_name for each in plan.operators]
    instructions = plan.chains[0].instructions

    def calls(instruction: model.Instruction, operator: str) -> bool:
        return isinstance(instruction, model.KernelCall) and names[instruction.op_index] == operator

    for index, norm in enumerate(instructions):
        if not calls(norm, BATCH_NORM) or not effects[index].is_plain:
            continue
        live = liveness.of_value.get(norm.args[0])  # type: ignore[union-attr]  # a kernel call
        if live is None or live.is_fixed or live.readers != [index] or live.written < 0:
            continue
        convolution = instructions[live.written]
        if calls(convolution, CONVOLUTION) and effects[live.written].writes == tuple(live.values):
            arguments = (
                registers.initial_values(each.args)  # type: ignore[union-attr]  # both are kernel calls
                for each in (convolution, norm)
            )
            folded = _fold(*arguments)
            if folded is not None:
                yield Fold(live.written, index, *folded)


def _fold(convolution: Sequence[object], norm: Sequence[object]) -> tuple[Tensor, Tensor, Copy] | None:
    """Fold two calls with these arguments; None if that is impossible, or a kernel would refuse them."""
    weight, bias, is_transposed, between = (convolution[place] for place in (1, 2, 6, 9))
    gamma, beta, mean, variance, eps, out = (norm[place] for place in (1, 2, 3, 4, 6, 7))
    if is_transposed is not False or not isinstance(eps, float):
        return None
    if not (isinstance(weight, Tensor) and _is_plain(between) and _is_plain(out)):
        return None
    assert isinstance(between, Tensor)
    assert isinstance(out, Tensor)
    if between.shape != out.shape or not between.dtype == out.dtype == weight.dtype:
        return None
    shapes = [weight.shape] + [weight.shape[:1]] * 5
    parameters = (weight, bias, gamma, beta, mean, variance)
    if mean is None or variance is None or between.shape[1] != weight.shape[0]:
        return None
    if not all(map(_is_constant, parameters, shapes, [weight.dtype] * 6)):
        return None
    return (*_folded(parameters, eps), Copy(out.array, between.array))


def _is_plain(value: object) -> bool:
    """Return whether a value is a tensor of a fixed shape and a dtype that can be folded."""
    if not isinstance(value, Tensor) or not value.has_memory or value.array.ndim < 3:
        return False
    return value.dynamism is TensorShapeDynamism.STATIC and value.dtype in FOLDED_DTYPES


def _is_constant(value: object, shape: Shape, dtype: np.dtype[Any]) -> bool:
    """Return whether a value is None, or a constant tensor of this shape and dtype."""
    if not isinstance(value, Tensor):
        return value is None
    return not value.array.flags.writeable and value.shape == shape and value.dtype == dtype


def _folded(parameters: Sequence[object], eps: float) -> tuple[Tensor, Tensor]:
    """Return the weight and the bias with which the convolution gives the batch norm's results."""
    weight, bias, gamma, beta, mean, variance = (
        each.array.astype(np.float64) if isinstance(each, Tensor) else None for each in parameters
    )
    assert weight is not None
    assert mean is not None
    assert variance is not None
    scale = (1 if gamma is None else gamma) / np.sqrt(variance + eps)
    shift = (0 if beta is None else beta) - ((mean if bias is None else mean - bias) * scale)
    template = parameters[0]
    assert isinstance(template, Tensor)
    scaled = weight * scale.reshape(-1, *(1 for _ in weight.shape[1:]))
    return _constant_like(template, scaled), _constant_like(template, shift)


def _constant_like(template: Tensor, values: Array) -> Tensor:
    """Return a constant in row-major order, with the dtype of `template`."""
    memory = np.ascontiguousarray(values, template.dtype).tobytes()
    return Tensor(template.scalar_type, values.shape, tuple(range(values.ndim)), memoryview(memory))
