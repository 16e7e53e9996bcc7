"""The recorded operator calls of tests/data/kernels, and runs of kernels on them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.memory import Scratch, allocate_zeroed
from etconfig.kernel.registry import Kernel, Step
from etconfig.kernel.tensor import DTYPES, Tensor
from etconfig.program.model import TensorShapeDynamism

DATA = Path(__file__).parents[1] / "data" / "kernels"

SCALAR_TYPES = {
    DTYPES[each].name: each for each in reversed(ScalarType) if each.dtype_name in np.sctypeDict
} | {"bfloat16": ScalarType.BFLOAT16}

POISON = 0xA5
"""The byte with which outputs are filled, to reveal elements that are not written."""


@dataclass(frozen=True)
class Recorded:
    """A tensor as eager PyTorch recorded it."""

    array: np.ndarray
    dim_order: tuple[int, ...]

    @property
    def scalar_type(self) -> ScalarType:
        return SCALAR_TYPES[self.array.dtype.name]

    def tensor(self, is_dynamic: bool = False) -> Tensor:
        """Return a Tensor with this dtype, shape and dim order; a dynamic one has room for more."""
        bounds = tuple(size + 2 for size in self.array.shape) if is_dynamic else self.array.shape
        dynamism = TensorShapeDynamism.DYNAMIC_BOUND if is_dynamic else TensorShapeDynamism.STATIC
        memory = allocate_zeroed(int(np.prod(bounds)) * self.array.itemsize)
        memory.fill(POISON)
        return Tensor(self.scalar_type, bounds, self.dim_order, memory, 0, dynamism)


@dataclass(frozen=True)
class KernelCase:
    """One call and its results."""

    operator: str
    arguments: tuple[Any, ...]
    outputs: tuple[Any, ...]
    changed: Mapping[int, Recorded]

    def run(self, kernel: Kernel, *, with_dynamic_outputs: bool = False) -> list[Tensor]:
        """Run `kernel` on the arguments; return the flattened outputs, then the changed arguments.

        Tensors get their values after the kernel is bound, as in a Method: it must not read them earlier.
        """
        with np.errstate(all="ignore"):
            step, arguments, outputs = self.bind(kernel, with_dynamic_outputs=with_dynamic_outputs)
            for tensor, recorded in zip(flattened(arguments), flattened(self.arguments), strict=True):
                if isinstance(recorded, Recorded):
                    np.copyto(tensor.array, recorded.array)
            step()
        return [*flattened(outputs), *(arguments[index] for index in self.changed)]

    def bind(
        self, kernel: Kernel, *, with_dynamic_outputs: bool = False
    ) -> tuple[Step, list[Any], list[Any]]:
        """Bind `kernel` to tensors like those of the case; return step, arguments and outputs."""
        outputs = [_to_argument(each, with_dynamic_outputs) for each in self.outputs]
        arguments = [_to_argument(each, is_dynamic=False) for each in self.arguments]
        return kernel.bind(self.operator, Scratch(), [*arguments, *outputs]), arguments, outputs

    @property
    def expected(self) -> list[np.ndarray]:
        """Return the expected results of `run`."""
        return [each.array for each in (*flattened(self.outputs), *self.changed.values())]


def flattened(values: Sequence[Any]) -> list[Any]:
    """Return the values, with lists of values flattened."""
    return [each for value in values for each in (value if isinstance(value, tuple) else (value,))]


def load_cases() -> list[KernelCase]:
    described = json.loads((DATA / "cases.json").read_text())["cases"]
    with np.load(DATA / "cases.npz") as archive:
        return parse_cases(described, {name: archive[name] for name in archive.files})


def parse_cases(described: Sequence[Any], data: Mapping[str, np.ndarray]) -> list[KernelCase]:
    """The cases that `tools/kernel_case_recording.py` described."""
    arrays = {
        name: array.view(ml_dtypes.bfloat16) if name == "bfloat16" else array for name, array in data.items()
    }
    return [
        KernelCase(
            each["operator"],
            tuple(_parse(argument, arrays) for argument in each["arguments"]),
            tuple(_parse(output, arrays) for output in each["outputs"]),
            {int(index): _parse(after, arrays) for index, after in each.get("changed", {}).items()},
        )
        for each in described
    ]


def _parse(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return tuple(_parse(each, arrays) for each in value)
    if not isinstance(value, dict):
        return value
    shape, start = tuple(value["shape"]), value["start"]
    array = arrays[value["dtype"]][start : start + int(np.prod(shape))].reshape(shape)
    return Recorded(array, tuple(value.get("dim_order", range(len(shape)))))


def _to_argument(value: Any, is_dynamic: bool) -> Any:
    if isinstance(value, tuple):
        return tuple(_to_argument(each, is_dynamic) for each in value)
    return value.tensor(is_dynamic) if isinstance(value, Recorded) else value


TOLERANCES: dict[str, tuple[float, float]] = {
    "float64": (1e-12, 1e-12),
    "complex128": (1e-12, 1e-12),
    "float32": (2e-6, 2e-6),
    "complex64": (2e-6, 2e-6),
    "float16": (1e-3, 1e-3),
    "bfloat16": (8e-3, 8e-3),
}
"""(relative, absolute) by dtype: a few units in the last place. All other dtypes are exact."""


def assert_close(actual: np.ndarray, expected: np.ndarray) -> None:
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if expected.dtype.name not in TOLERANCES:
        np.testing.assert_array_equal(actual, expected)
        return
    relative, absolute = TOLERANCES[expected.dtype.name]
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=relative, atol=absolute)


def case_ids(cases: Sequence[Any]) -> list[str]:
    counts: dict[str, int] = {}
    ids = []
    for each in cases:
        counts[each.operator] = counts.get(each.operator, -1) + 1
        ids.append(f"{each.operator}-{counts[each.operator]}")
    return ids
