"""Views and the collected entries of a map: `et_view` and `et_copy_index`, here and on ExecuTorch's runtime.

Eager PyTorch has neither, and no exporter writes most of these programs, so they are written by hand.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from program_writer import Node, instruction, plan, table, tensor, value, write

import etconfig
from etconfig.errors import KernelArgumentError

# torch and executorch warn when they are imported
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

RUNNER = Path(__file__).parents[2] / "tools" / "run_kernel_cases.py"
INT, FLOAT = 3, 6
STATIC, BOUND = 0, 1
PLACE_BYTES = 256
Shape = tuple[int, ...]


class Case(NamedTuple):
    """A program, its inputs, and its output; None if it is refused."""

    program: bytes
    inputs: Sequence[np.ndarray]
    expected: np.ndarray | None


class Builder:
    """One method whose tensors are planned one after another."""

    def __init__(self, dynamism: int) -> None:
        self.dynamism = dynamism
        self.values: list[Node] = []
        self.operators: list[Node] = []
        self.instructions: list[Node] = []
        self.planned_bytes = 0

    def add(self, node: Node) -> int:
        self.values.append(node)
        return len(self.values) - 1

    def number(self, number: int) -> int:
        return self.add(value("Int", int_val=number))

    def alias(self, bounds: Shape, scalar_type: int = FLOAT, place: Node | None = None) -> int:
        """Add a tensor, without memory of its own unless `place` is given."""
        fields: dict[str, Any] = {"sizes": [*bounds], "dim_order": [*range(len(bounds))]}
        fields |= {"scalar_type": scalar_type, "shape_dynamism": self.dynamism, "allocation_info": place}
        return self.add(tensor(**fields))

    def tensor(self, bounds: Shape, scalar_type: int = FLOAT) -> int:
        place = table("AllocationDetails", memory_id=1, memory_offset_low=self.planned_bytes)
        self.planned_bytes += PLACE_BYTES
        return self.alias(bounds, scalar_type, place)

    def call(self, operator: str, *args: int) -> None:
        name, _, overload = operator.partition(".")
        self.operators.append(table("Operator", name=name, overload=overload))
        index = len(self.operators) - 1
        self.instructions.append(instruction("KernelCall", op_index=index, args=list(args)))

    def program(self, inputs: Sequence[int], output: int) -> bytes:
        method = plan(
            values=self.values,
            inputs=list(inputs),
            outputs=[output],
            operators=self.operators,
            instructions=self.instructions,
            non_const_buffer_sizes=[0, self.planned_bytes],
        )
        # one offset means no constants; without any, the runtime reads the constants of the old file format
        no_constants = table("SubsegmentOffsets", segment_index=0, offsets=[0])
        return write(method, constant_segment=no_constants)


def numbered(shape: Shape, start: int = 1, scalar_type: int = FLOAT) -> np.ndarray:
    numbers = np.arange(start, start + math.prod(shape))
    return numbers.reshape(shape).astype("float32" if scalar_type == FLOAT else "int32")


def view(
    given: Shape,
    size: tuple[int, ...],
    seen: Shape | None,
    bounds: Shape | None = None,
    *,
    is_computed: bool = False,
    dynamism: int = STATIC,
    scalar_type: int = FLOAT,
) -> Case:
    """The negative of a view, since an output needs memory of its own.

    Args:
        given: The shape of the input; up to 4 rows if it is dynamic.
        size: The requested sizes of the view.
        seen: The shape of the view; None if it is refused.
        bounds: The planned sizes of the view; by default `seen`.
        is_computed: The first size is computed at run time: twice the input's rows.
        dynamism: The dynamism of all tensors.
        scalar_type: The type of the view. The input has floats.
    """
    builder = Builder(dynamism)
    planned = seen if bounds is None else bounds
    assert planned is not None
    x = builder.tensor(given if dynamism == STATIC else (4, *given[1:]))
    sizes = [builder.number(each) for each in size]
    if is_computed:
        builder.call("aten::sym_size.int", x, builder.number(0), sizes[0])
        builder.call("executorch_prim::mul.Scalar", sizes[0], builder.number(2), sizes[0])
    alias, out = builder.alias(planned, scalar_type), builder.tensor(planned, scalar_type)
    builder.call("executorch_prim::et_view.default", x, builder.add(value("IntList", items=sizes)), alias)
    builder.call("aten::neg.out", alias, out, out)
    array = numbered(given)
    return Case(builder.program([x], out), [array], None if seen is None else -array.reshape(seen))


def collect(
    given: Shape,
    entry: Shape,
    indices: tuple[int, ...],
    rows: int | None,
    bounds: Shape | None = None,
    *,
    dynamism: int = BOUND,
    scalar_type: int = FLOAT,
) -> Case:
    """An input, and its shape after entries are written to it.

    Args:
        given: Its shape.
        entry: The shape of each entry.
        indices: The indices to which they are written, one after another.
        rows: The number of rows in the end; None if an entry is refused.
        bounds: The planned shape; by default `given`.
        dynamism: The dynamism of all tensors.
        scalar_type: The type of the tensor that the entries are written to. The entries are floats.
    """
    builder = Builder(dynamism)
    collected = builder.tensor(given if bounds is None else bounds, scalar_type)
    entries = [builder.tensor(entry) for _ in indices]
    for at, index in zip(entries, indices, strict=True):
        builder.call("executorch_prim::et_copy_index.tensor", collected, at, builder.number(index))
    memory = numbered(given, scalar_type=scalar_type)
    arrays = [numbered(entry, 100 * count) for count in range(1, len(entries) + 1)]
    expected = None
    if rows is not None:
        expected = np.zeros((4, *entry), np.float32)
        expected.flat[: memory.size] = memory.flat[: expected.size]
        for array, index in zip(arrays, indices, strict=True):
            expected[index] = array
        expected = expected[:rows]
    return Case(builder.program([collected, *entries], collected), [memory, *arrays], expected)


CASES = {
    "view: flat": view((2, 3), (6,), (6,)),
    "view: split": view((6,), (3, 2), (3, 2)),
    "view: same": view((2, 3), (2, 3), (2, 3)),
    "view: first inferred": view((2, 6), (-1, 4), (3, 4)),
    "view: last inferred": view((2, 6), (3, -1), (3, 4)),
    "view: one inferred": view((2, 3), (2, -1, 3), (2, 1, 3)),
    "view: of a scalar": view((), (1, 1), (1, 1)),
    "view: to a scalar": view((1, 1), (), ()),
    "view: of a scalar, inferred": view((), (-1,), (1,)),
    "view: empty": view((0, 3), (3, 0), (3, 0)),
    "view: empty, with another size": view((0, 3), (0, 7), (0, 7)),
    "view: empty, inferred": view((0, 3), (-1, 3), (0, 3)),
    "view: empty, inferred beside 0": view((0, 3), (0, -1), None, (0, 3)),
    "view: two inferred": view((2, 3), (-1, -1), None, (2, 3)),
    "view: negative": view((2, 3), (-2, -3), None, (2, 3)),
    "view: of too many": view((2, 3), (2, 4), None, (2, 4)),
    "view: of too few": view((2, 3), (5,), None, (5,)),
    "view: of none": view((2, 3), (0, 3), None, (0, 3)),
    "view: more than none": view((0, 3), (1, 3), None, (1, 3)),
    "view: inferred, with a rest": view((2, 3), (-1, 4), None, (1, 4)),
    "view: of another rank than planned": view((2, 3), (6, 1), None, (6,)),
    "view: of another shape than planned": view((2, 3), (3, 2), None, (2, 3)),
    "view: of another type": view((2, 3), (6,), None, (6,), scalar_type=INT),
    "view: dynamic, at its bounds": view((4, 3), (12,), (12,), dynamism=BOUND),
    "view: dynamic, below its bounds": view((2, 3), (-1,), (6,), (12,), dynamism=BOUND),
    "view: dynamic, empty": view((0, 3), (-1, 3), (0, 3), (4, 3), dynamism=BOUND),
    "view: dynamic, beyond its bounds": view((4, 3), (-1,), None, (9,), dynamism=BOUND),
    "view: computed": view((2, 4), (0, -1), (4, 2), (8, 2), is_computed=True, dynamism=BOUND),
    "view: computed, with a rest": view((3, 3), (0, -1), None, (8, 2), is_computed=True, dynamism=BOUND),
    "map: one": collect((4, 2), (2,), (0,), 1),
    "map: all": collect((4, 2), (2,), (0, 1, 2, 3), 4),
    "map: again": collect((4, 2), (2,), (0, 1, 2, 0), 1),
    "map: from the middle": collect((4, 2), (2,), (2,), 3),
    "map: growing": collect((1, 2), (2,), (1, 2), 3, (4, 2)),
    "map: of scalars": collect((3,), (), (0, 1), 2),
    "map: of matrices": collect((2, 2, 3), (2, 3), (0, 1), 2),
    "map: of nothing": collect((4, 0), (0,), (0, 1), 2),
    "map: static, the last": collect((2, 3), (3,), (1,), 2, dynamism=STATIC),
    "map: static, not the last": collect((2, 3), (3,), (0,), None, dynamism=STATIC),
    "map: smaller entries": collect((4, 3), (2,), (0, 1), 2),
    "map: smaller entries from the middle": collect((4, 3), (2,), (1,), None),
    "map: larger entries": collect((4, 2), (3,), (0,), None),
    "map: entries that would broadcast": collect((4, 2), (1,), (1,), None),
    "map: entries of the same rank": collect((4, 2), (1, 2), (0,), None),
    "map: entries of a much lower rank": collect((4, 2, 3), (3,), (0,), None),
    "map: beyond the bounds": collect((4, 2), (2,), (4,), None),
    "map: of another type": collect((4, 2), (2,), (0,), None, scalar_type=INT),
}

RUNTIME_DIFFERS = {
    "map: smaller entries": "refused: entries need the size of what they are written to, even the first",
    "map: of another type": "given: the bytes of floats become integers",
}
"""Calls that the runtime refuses although a result is right, or the other way round."""


def same(given: np.ndarray, expected: np.ndarray) -> bool:
    return (given.dtype, given.shape, given.tolist()) == (expected.dtype, expected.shape, expected.tolist())


@pytest.mark.parametrize("name", CASES)
def test_an_operator_gives_the_expected_result_or_is_refused(name: str) -> None:
    program, inputs, expected = CASES[name]
    with etconfig.load_program(program) as loaded, loaded.load_method("forward") as method:
        for _ in range(2):
            if expected is None:
                with pytest.raises(KernelArgumentError, match=r"^executorch_prim::et_"):
                    method.execute(inputs)
            else:
                assert same(method.execute(inputs)[0], expected)


def test_the_runtime_returns_and_refuses_the_same(tmp_path: Path) -> None:
    import torch

    def as_tensor(array: np.ndarray) -> torch.Tensor:
        # a tensor of an empty array keeps its strides, which the runtime refuses
        found = torch.from_numpy(array)
        return torch.zeros(array.shape, dtype=found.dtype).copy_(found)

    given = [(case.program, [*map(as_tensor, case.inputs)]) for case in CASES.values()]
    torch.save(given, tmp_path / "cases.pt")
    command = [sys.executable, RUNNER, tmp_path / "cases.pt", tmp_path / "results.pt"]
    subprocess.run(command, check=True, capture_output=True)
    results = dict(zip(CASES, torch.load(tmp_path / "results.pt"), strict=True))
    assert None not in results.values()  # which would mean that its process ended
    refused = {name for name, result in results.items() if isinstance(result, str)}
    expected = {name for name, case in CASES.items() if case.expected is None}
    assert refused ^ expected == RUNTIME_DIFFERS.keys()
    for name in CASES.keys() - refused - expected:
        assert same(results[name][0].numpy(), CASES[name].expected), name
