"""`Op`: one kind of operation, checked against its input shapes and attributes."""

from __future__ import annotations

import abc
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from etconfig_reference.graph import FLOATS, Array, Attributes, Shape
from etconfig_reference.work import Form, Limits, Work

DType: TypeAlias = "np.dtype[Any]"
"""Any numpy dtype."""

AttributeLengths: TypeAlias = Mapping[str, "int | None"]
"""The number of integers of each attribute; None means any number."""


class Op(abc.ABC):
    """An operation for inputs of certain shapes.

    Args:
        shapes: The shapes of its inputs.
        attributes: Its settings; all are required.

    Attributes:
        name: Its name in the payload.
        input_counts: The numbers of inputs that it accepts; more than one if some are optional.
        attribute_lengths: Its attributes, with their lengths.
        dtypes: The types that its result can have.
        converts: True if inputs may have other types than the result, and are converted to it.
        output_shape: The shape of its result.

    Raises:
        ValueError: the operation cannot be computed; the message says why.
    """

    name: ClassVar[str]
    input_counts: ClassVar[tuple[int, ...]] = (1,)
    attribute_lengths: ClassVar[AttributeLengths] = {}
    dtypes: ClassVar[Collection[str]] = tuple(FLOATS)
    converts: ClassVar[bool] = False

    def __init__(self, shapes: Sequence[Shape], attributes: Attributes) -> None:
        if len(shapes) not in self.input_counts:
            counts = " or ".join(map(str, self.input_counts))
            raise ValueError(f"takes {counts} input(s), given {len(shapes)}")
        if attributes.keys() != self.attribute_lengths.keys():
            raise ValueError(
                f"takes the attributes {sorted(self.attribute_lengths)}, given {sorted(attributes)}"
            )
        for name, length in self.attribute_lengths.items():
            if length not in (None, len(attributes[name])):
                raise ValueError(f"{name} takes {length} integer(s), given {list(attributes[name])}")
        self.output_shape = self._prepare(shapes, attributes)

    @classmethod
    def check_dtypes(cls, inputs: Sequence[str], output: str) -> None:
        """Raise ValueError unless it can compute a result of this type from such inputs."""
        if output not in cls.dtypes:
            raise ValueError(f"computes {', '.join(cls.dtypes)}, not {output}")
        if not cls.converts and any(dtype != output for dtype in inputs):
            raise ValueError(f"takes {output} to compute {output}, given {', '.join(inputs)}")

    @property
    def multiply_accumulates(self) -> int:
        """Its work; an elementwise operation counts one for each element."""
        return math.prod(self.output_shape)

    def temporaries(self, limits: Limits, dtype: DType) -> Iterator[Form]:
        """Yield the arrays that `run` takes from `work.new_arrays`, for a result of `dtype`."""
        yield from ()

    @abc.abstractmethod
    def _prepare(self, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
        """Check and keep what `run` needs; return the shape of the result."""

    @abc.abstractmethod
    def run(self, inputs: Sequence[Array], out: Array, work: Work) -> None:
        """Compute into `out`, a dense array that overlaps no input and has elements.

        All arrays have types in which the backend computes, so not float16 or bfloat16.
        """


def check_dims(dims: Sequence[int], rank: int) -> None:
    """Raise ValueError unless `dims` are different dimensions of a tensor of that rank."""
    if len(set(dims)) != len(dims) or any(not 0 <= dim < rank for dim in dims):
        raise ValueError(f"{list(dims)} are not dimensions of a tensor of rank {rank}")
