"""A program as serialized: frozen records with the names of ExecuTorch's schema/program.fbs.

Named tuples, not dataclasses: a large program has tens of thousands of them, and a tuple is
the cheapest record to make. Every index in a record was verified against its table.
"""

from __future__ import annotations

import enum
import math
from typing import NamedTuple, TypeAlias

from etconfig.base.compile_specs import CompileSpec
from etconfig.base.records import record
from etconfig.base.scalar_types import ScalarType


class TensorShapeDynamism(enum.IntEnum):
    """The ways in which a tensor's shape may vary. Source: program.fbs."""

    STATIC = 0
    DYNAMIC_BOUND = 1
    """`sizes` are upper bounds; memory is planned for them."""
    DYNAMIC_UNBOUND = 2
    """`sizes` mean nothing; the runtime allocates."""


class DeviceType(enum.IntEnum):
    """The kind of device in whose memory a tensor lies. Source: program.fbs."""

    CPU = 0
    CUDA = 1


class AllocationDetails(NamedTuple):
    """The place of a tensor in the memory plan: arena `memory_id`, whose size is in
    `non_const_buffer_sizes`, at a byte offset.
    """

    memory_id: int
    memory_offset: int


class Int(NamedTuple):
    """A mutable integer register."""

    int_val: int


class Bool(NamedTuple):
    """A boolean."""

    bool_val: bool


class Double(NamedTuple):
    """A floating-point scalar."""

    double_val: float


class String(NamedTuple):
    """A string."""

    string_val: str


class IntList(NamedTuple):
    """Integers, by the indices of their Int values (symbolic ones change while running)."""

    items: tuple[int, ...]


class DoubleList(NamedTuple):
    """Floating-point numbers, stored directly."""

    items: tuple[float, ...]


class BoolList(NamedTuple):
    """Booleans, stored directly."""

    items: tuple[bool, ...]


class TensorList(NamedTuple):
    """Tensors, by their value indices."""

    items: tuple[int, ...]


class OptionalTensorList(NamedTuple):
    """Tensors or nothing, by their value indices; -1 is None."""

    items: tuple[int, ...]


class SerializedTensor(NamedTuple):
    """A tensor's metadata: the Tensor of program.fbs. `etconfig.kernel.tensor.Tensor` has memory as well.

    `data_buffer_idx > 0` without `allocation_info` is a constant; with it, a mutable tensor
    with an initial state. `allocation_info` alone is planned memory. With neither, the caller
    provides the memory. `external` tensors are found by `fully_qualified_name`.
    """

    scalar_type: ScalarType
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    data_buffer_idx: int
    allocation_info: AllocationDetails | None
    shape_dynamism: TensorShapeDynamism
    mutable_data_segments_idx: int = 0
    fully_qualified_name: str | None = None
    external: bool = False
    device_type: DeviceType = DeviceType.CPU
    device_index: int = 0

    @property
    def size_bytes(self) -> int:
        """The size of the data, at the upper bounds in `sizes` if the shape is dynamic."""
        return math.prod(self.sizes) * self.scalar_type.itemsize_bytes

    @property
    def attribute_name(self) -> str | None:
        """The name of a mutable buffer; None for other tensors."""
        return None if self.allocation_info is None else self.fully_qualified_name

    @property
    def is_constant(self) -> bool:
        """True if the data are read-only and come with the program or a .ptd."""
        return self.allocation_info is None and (self.data_buffer_idx > 0 or self.external)

    @property
    def constant_key(self) -> str | int | None:
        """The data of a constant: equal for tensors that share them."""
        return self.fully_qualified_name if self.external else self.data_buffer_idx


EValue: TypeAlias = (
    "Int | Bool | Double | String | IntList | DoubleList | BoolList | SerializedTensor | TensorList"
    " | OptionalTensorList | None"
)
"""One entry of a plan's `values`; None is the schema's Null."""


class Operator(NamedTuple):
    """An operator's name and overload; kernels are registered under `full_name`."""

    name: str
    overload: str

    @property
    def full_name(self) -> str:
        """Such as `aten::add.out`, or `aten::copy_` when the overload is empty."""
        return f"{self.name}.{self.overload}" if self.overload else self.name


class KernelCall(NamedTuple):
    """Run `operators[op_index]` on `values[i]` for i in `args`: inputs, then outputs."""

    op_index: int
    args: tuple[int, ...]


class DelegateCall(NamedTuple):
    """Run `delegates[delegate_index]` on `values[i]` for i in `args`: inputs, then outputs."""

    delegate_index: int
    args: tuple[int, ...]


class MoveCall(NamedTuple):
    """Make `values[move_to]` an alias of what `values[move_from]` is; nothing is copied."""

    move_from: int
    move_to: int


class JumpFalseCall(NamedTuple):
    """Go to `destination_instruction` if `values[cond_value_index]` is false."""

    cond_value_index: int
    destination_instruction: int


class FreeCall(NamedTuple):
    """Release the memory of the unbounded tensor `values[value_index]`."""

    value_index: int


Instruction: TypeAlias = "KernelCall | DelegateCall | MoveCall | JumpFalseCall | FreeCall"
"""One step of a chain."""


class Chain(NamedTuple):
    """Instructions that run in order."""

    instructions: tuple[Instruction, ...]


class DataLocation(enum.IntEnum):
    """The place of a delegate's payload: in the tables or in a segment. Source: program.fbs."""

    INLINE = 0
    SEGMENT = 1


@record(frozen=True)
class BackendDelegateDataReference:
    """A reference to a payload: an index into the inline data or into the segments.

    Not a named tuple, because a field named `index` would hide `tuple.index`.
    """

    location: DataLocation
    index: int


class BackendDelegate(NamedTuple):
    """One use of a backend inside a method."""

    id: str
    processed: BackendDelegateDataReference
    compile_specs: tuple[CompileSpec, ...]


class NonConstBufferDevice(NamedTuple):
    """The device on which arena `buffer_idx` of `non_const_buffer_sizes` is to be allocated."""

    buffer_idx: int
    device_type: DeviceType
    device_index: int


class ExecutionPlan(NamedTuple):
    """One method. `inputs` and `outputs` are indices into `values`.

    Buffers that `non_const_buffer_device` does not name are on the CPU.
    """

    name: str
    values: tuple[EValue, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    chains: tuple[Chain, ...]
    operators: tuple[Operator, ...]
    delegates: tuple[BackendDelegate, ...]
    non_const_buffer_sizes: tuple[int, ...]
    non_const_buffer_device: tuple[NonConstBufferDevice, ...] = ()

    def attributes(self) -> dict[str, SerializedTensor]:
        """Return the mutable buffers with a name; of equal names the first, as in ExecuTorch."""
        found: dict[str, SerializedTensor] = {}
        for value in self.values:
            if isinstance(value, SerializedTensor) and value.attribute_name:
                found.setdefault(value.attribute_name, value)
        return found
