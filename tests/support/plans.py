"""Plans and programs built by hand from the records of etconfig.program.model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from etconfig import Method
from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.tensor import DTYPES
from etconfig.kernels import builtin_kernels
from etconfig.numpy_executor import load_method
from etconfig.program import model
from etconfig.program.model import TensorShapeDynamism

FLOAT = ScalarType.FLOAT
KERNELS = builtin_kernels()


class PlanBuilder:
    """One method. By default, tensors are planned one after another in memory 1."""

    def __init__(self, name: str = "forward") -> None:
        self.name = name
        self.values: list[model.EValue] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.instructions: list[model.Instruction] = []
        self.operators: list[model.Operator] = []
        self.delegates: list[model.BackendDelegate] = []
        self.payloads: list[bytes] = []
        self.constants: list[bytes] = [b""]
        self.initial: list[bytes] = [b""]
        self.named_data: dict[str, bytes] = {}
        self.planned_bytes = 0

    def add(self, value: model.EValue) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def tensor(
        self,
        *sizes: int,
        dtype: ScalarType = FLOAT,
        dim_order: tuple[int, ...] | None = None,
        dynamism: TensorShapeDynamism = TensorShapeDynamism.STATIC,
        offset: int | None = None,
        is_planned: bool = True,
        initial: np.ndarray | None = None,
    ) -> int:
        order = tuple(range(len(sizes))) if dim_order is None else dim_order
        value = model.SerializedTensor(dtype, sizes, order, 0, None, dynamism)
        if initial is not None:
            self.initial.append(initial.tobytes())
            value = value._replace(data_buffer_idx=len(self.initial) - 1)
        if is_planned:
            if offset is None:
                offset = self.planned_bytes
                self.planned_bytes += -(-value.size_bytes // 16) * 16
            value = value._replace(allocation_info=model.AllocationDetails(1, offset))
        return self.add(value)

    def constant(self, array: np.ndarray, scalar_type: ScalarType = FLOAT) -> int:
        self.constants.append(array.astype(DTYPES[scalar_type]).tobytes())
        order = tuple(range(array.ndim))
        index = len(self.constants) - 1
        return self.add(
            model.SerializedTensor(scalar_type, array.shape, order, index, None, TensorShapeDynamism.STATIC)
        )

    def external(self, name: str, *sizes: int) -> int:
        order = tuple(range(len(sizes)))
        return self.add(
            model.SerializedTensor(FLOAT, sizes, order, 0, None, TensorShapeDynamism.STATIC, 0, name, True)
        )

    def scalar(self, value: bool | int | float | str | None) -> int:
        records: dict[type, Any] = {bool: model.Bool, int: model.Int, float: model.Double, str: model.String}
        return self.add(None if value is None else records[type(value)](value))

    def ints(self, *values: int) -> int:
        return self.add(model.IntList(tuple(self.scalar(value) for value in values)))

    def int_list(self, *items: int) -> int:
        """Add a list of existing values."""
        return self.add(model.IntList(items))

    def tensors(self, *items: int) -> int:
        return self.add(model.TensorList(items))

    def call(self, operator: str, *args: int) -> None:
        name, _, overload = operator.partition(".")
        record = model.Operator(name, overload)
        if record not in self.operators:
            self.operators.append(record)
        self.instructions.append(model.KernelCall(self.operators.index(record), args))

    def add_(self, a: int, b: int, out: int) -> None:
        self.call("aten::add.out", a, b, self.scalar(1), out, out)

    def delegate(
        self, backend_id: str, payload: bytes = b"", *pairs: tuple[str, bytes], **specs: bytes
    ) -> int:
        reference = model.BackendDelegateDataReference(model.DataLocation.INLINE, len(self.payloads))
        self.payloads.append(payload)
        compile_specs = tuple(model.CompileSpec(key, value) for key, value in (*pairs, *specs.items()))
        self.delegates.append(model.BackendDelegate(backend_id, reference, compile_specs))
        return len(self.delegates) - 1

    def delegate_call(self, index: int, *args: int) -> None:
        self.instructions.append(model.DelegateCall(index, args))

    def jump_unless(self, condition: int, destination: int) -> None:
        self.instructions.append(model.JumpFalseCall(condition, destination))

    def move(self, source: int, target: int) -> None:
        self.instructions.append(model.MoveCall(source, target))

    def free(self, value: int) -> None:
        self.instructions.append(model.FreeCall(value))

    def plan(self) -> model.ExecutionPlan:
        return model.ExecutionPlan(
            self.name,
            tuple(self.values),
            tuple(self.inputs),
            tuple(self.outputs),
            (model.Chain(tuple(self.instructions)),),
            tuple(self.operators),
            tuple(self.delegates),
            (0, self.planned_bytes),
        )

    def program(self) -> FakeProgram:
        return FakeProgram(self)

    def load(self, backends: Mapping[str, Any] | None = None, **options: Any) -> Method:
        """Load the method with the built-in kernels."""
        kernels = options.pop("kernels", KERNELS)
        return load_method(self.program(), self.name, kernels, backends or {}, **options)


class FakeProgram:
    """A stand-in for the parts of a Program that the executor uses."""

    def __init__(self, builder: PlanBuilder) -> None:
        self._builder = builder
        self._plan = builder.plan()
        self.named_data = {key: memoryview(data) for key, data in builder.named_data.items()}

    def plan(self, name: str) -> model.ExecutionPlan:
        assert name == self._plan.name
        return self._plan

    def external_tensors(self, plan: model.ExecutionPlan) -> Mapping[str, memoryview]:
        return self.named_data

    def constant(self, data_buffer_idx: int, size_bytes: int) -> memoryview:
        return memoryview(self._builder.constants[data_buffer_idx])[:size_bytes]

    def mutable_initial_data(self, segment: int, data_buffer_idx: int, size_bytes: int) -> memoryview:
        assert segment == 0
        return memoryview(self._builder.initial[data_buffer_idx])[:size_bytes]

    def delegate_data(self, delegate: model.BackendDelegate) -> memoryview:
        return memoryview(self._builder.payloads[delegate.processed.index])


def adding_plan(*sizes: int) -> PlanBuilder:
    """`x + y`."""
    builder = PlanBuilder()
    x, y, out = (builder.tensor(*sizes) for _ in range(3))
    builder.inputs += [x, y]
    builder.outputs.append(out)
    builder.add_(x, y, out)
    return builder


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def as_lists(outputs: Sequence[Any]) -> list[Any]:
    return [each.tolist() if isinstance(each, np.ndarray) else each for each in outputs]
