"""Makes a program of one operator call, with ExecuTorch's own schema and serializer.

So each recorded call can run as it is; an exporter would choose its own operators and constants.
"""

from __future__ import annotations

from typing import Any

import torch
from executorch.exir import schema
from executorch.exir._serialize._program import PTEFile, serialize_pte_binary
from kernel_case_recording import SCALAR_TYPES, Call

ALIGNMENT = 16


class _Builder:
    def __init__(self) -> None:
        self.values: list[schema.EValue] = []
        self.inputs: list[int] = []
        self.given: list[torch.Tensor] = []
        self.planned_bytes = 0

    def add(self, value: Any) -> int:
        self.values.append(schema.EValue(value))
        return len(self.values) - 1

    def tensor(self, tensor: torch.Tensor) -> int:
        is_last = tensor.dim() == 4 and not tensor.is_contiguous()
        order = [0, 2, 3, 1] if is_last else list(range(tensor.dim()))
        place = schema.AllocationDetails(1, self.planned_bytes, 0)
        size = tensor.numel() * tensor.element_size()
        self.planned_bytes += -(-size // ALIGNMENT) * ALIGNMENT
        scalar_type, dynamism = SCALAR_TYPES[tensor.dtype], schema.TensorShapeDynamism.STATIC
        return self.add(
            schema.Tensor(scalar_type, 0, list(tensor.shape), order, False, 0, 0, place, dynamism)
        )

    def input(self, tensor: torch.Tensor) -> int:
        index = self.tensor(tensor)
        self.inputs.append(index)
        self.given.append(tensor)
        return index

    def argument(self, value: Any, kind: str) -> int:
        """Add a value of a type in the notation of schemas, such as `Optional[float]` or `List[int]`."""
        if isinstance(value, torch.Tensor):
            return self.input(value)
        if value is None:
            return self.add(schema.Null())
        if isinstance(value, list):
            return self._list(value, kind)
        if isinstance(value, torch.dtype):
            return self.add(schema.Int(int(SCALAR_TYPES[value])))
        if "float" in kind:
            return self.add(schema.Double(float(value)))
        kinds = {bool: schema.Bool, int: schema.Int, float: schema.Double, str: schema.String}
        return self.add(kinds[type(value)](value))

    def _list(self, values: list[Any], kind: str) -> int:
        if "Optional[Tensor]" in kind:
            items = [-1 if each is None else self.input(each) for each in values]
            return self.add(schema.OptionalTensorList(items))
        if "Tensor" in kind:
            return self.add(schema.TensorList([self.input(each) for each in values]))
        if "bool" in kind:
            return self.add(schema.BoolList(values))
        if "float" in kind:
            return self.add(schema.DoubleList(list(map(float, values))))
        return self.add(schema.IntList([self.add(schema.Int(each)) for each in values]))


def program_of(operator: str, kinds: list[str], made: Call) -> tuple[bytes, list[torch.Tensor]]:
    """Return the program and its inputs. It outputs those of the call, then the changed arguments.

    Args:
        operator: Its full name.
        kinds: The types of its arguments.
        made: The call.
    """
    builder = _Builder()
    args = [builder.argument(value, kind) for value, kind in zip(made.args, kinds, strict=True)]
    outputs: list[int] = []
    last: list[int] = []
    for out in made.outs:
        items = [builder.tensor(each) for each in (out if isinstance(out, list) else [out])]
        outputs += items
        last.append(builder.add(schema.TensorList(items)) if isinstance(out, list) else items[0])
    repeated = last[:1] if len(last) == 1 else [builder.add(schema.TensorList(last))]
    name, _, overload = operator.partition(".")
    call = schema.KernelCall(0, [*args, *last, *(repeated if last else args[:1])])
    plan = schema.ExecutionPlan(
        name="forward",
        container_meta_type=schema.ContainerMetadata("", ""),
        values=builder.values,
        inputs=builder.inputs,
        outputs=[*outputs, *(args[index] for index in made.changed)],
        chains=[schema.Chain([], [], [schema.Instruction(call)], None)],
        operators=[schema.Operator(name, overload)],
        delegates=[],
        non_const_buffer_sizes=[0, builder.planned_bytes],
    )
    program = schema.Program(0, [plan], [schema.Buffer(b"")], [], [], schema.SubsegmentOffsets(0, []))
    return bytes(serialize_pte_binary(PTEFile(program))), builder.given
