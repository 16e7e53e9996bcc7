"""Inputs that fit a method, for measurements without recorded ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from etconfig.errors import InvalidInputError
from etconfig.kernel.memory import Array
from etconfig.kernel.tensor import DTYPES
from etconfig.program.metadata import MethodMeta


def generate_inputs(meta: MethodMeta, seed: int) -> list[Any]:
    """Make up inputs that fit a method; equal seeds give equal inputs.

    Floating-point tensors are normally distributed; all others are 0 or 1, so that they can be
    indices. Shapes are the largest that the program allows. Numbers are 1.

    Raises:
        InvalidInputError: an input is of a kind that cannot be made up.
    """
    random = np.random.default_rng(seed)
    return [_generate_input(meta, index, random) for index in range(meta.num_inputs())]


def _generate_input(meta: MethodMeta, index: int, random: np.random.Generator) -> Any:
    tag = meta.input_tag(index)
    numbers: dict[str, Any] = {"Int": 1, "Double": 1.0, "Bool": True}
    if tag in numbers:
        return numbers[tag]
    if tag != "Tensor":
        raise InvalidInputError(
            method=meta.name(),
            input=f"input {index}",
            expected=f"a value, since one of kind {tag} cannot be made up",
            given="none",
            help="give all inputs: --input FILE.npy",
        )
    info = meta.input_tensor_meta(index)
    dtype = DTYPES[info.dtype()]
    in_memory = [info.sizes()[dim] for dim in info.dim_order()]
    return made_up_array(in_memory, dtype, random).transpose(np.argsort(info.dim_order()))


def made_up_array(shape: Sequence[int], dtype: np.dtype[Any], random: np.random.Generator) -> Array:
    """Return an array of a shape: normally distributed, or 0 and 1 for types without fractions."""
    is_whole = dtype.kind in "iub"
    return np.asarray(random.integers(0, 2, shape) if is_whole else random.standard_normal(shape), dtype)
