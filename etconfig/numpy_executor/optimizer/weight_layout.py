"""Weights of matrix products that are better copied once than viewed.

An exported linear layer permutes its weights for the product. BLAS takes the view, but with few rows,
or small weights, it is up to five times as fast if their rows lie one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from etconfig.kernel.steps import Copy
from etconfig.kernel.tensor import Tensor
from etconfig.numpy_executor.optimizer.liveness import LiveRange
from etconfig.numpy_executor.registers import Registers
from etconfig.program import model

PACKED_WEIGHT_BYTES = 2**20
"""The largest matrix that is copied. Larger ones gain little, or lose, and take memory."""

PACKED_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))

_FACTORS: Mapping[str, int] = {"aten::mm.out": 1, "aten::addmm.out": 2}
"""For each product, the position of its second factor; the first factor is the argument before."""


def can_be_packed(copy: Copy) -> bool:
    """Return whether this copies a small matrix from another memory layout to row-major order."""
    source, target = copy.source, copy.target
    if source.shape != target.shape or source.ndim != 2 or source.nbytes > PACKED_WEIGHT_BYTES:
        return False
    return source.dtype in PACKED_DTYPES and target.flags.c_contiguous and not source.flags.c_contiguous


def is_for_products(plan: model.ExecutionPlan, registers: Registers, live: LiveRange) -> bool:
    """Return whether all readers of `live` multiply several rows by it.

    A single row gains nothing: BLAS then reads the matrix once, in any order.
    """
    instructions = plan.chains[0].instructions
    return all(
        reader < len(instructions) and _multiplies_by(plan, registers, live, instructions[reader])
        for reader in live.readers
    )


def _multiplies_by(
    plan: model.ExecutionPlan, registers: Registers, live: LiveRange, instruction: model.Instruction
) -> bool:
    if not isinstance(instruction, model.KernelCall):
        return False
    place = _FACTORS.get(plan.operators[instruction.op_index].full_name)
    factors = instruction.args[place - 1 : place + 1] if place is not None else ()
    if len(factors) != 2 or factors[1] not in live.values:
        return False
    rows = registers.initial(factors[0])
    return isinstance(rows, Tensor) and rows.shape[:1] > (1,)
