"""A small writer of .pte files, valid or damaged in an exactly defined way."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

# Copied from program.fbs independently, to reveal errors in etconfig.program.program_tables.
# A field is `name:kind`; kinds are struct codes, `s` string, `t` table, `[x]` vector of x.
SCHEMA = {
    "Program": "version:I execution_plan:[t] constant_buffer:[t] backend_delegate_data:[t] segments:[t] "
    "constant_segment:t mutable_data_segments:[t] named_data:[t]",
    "Buffer": "storage:[B]",
    "BackendDelegateInlineData": "data:[B]",
    "DataSegment": "offset:Q size:Q",
    "SubsegmentOffsets": "segment_index:I offsets:[Q]",
    "NamedData": "key:s segment_index:I",
    "ExecutionPlan": "name:s container_meta_type:t values:[t] inputs:[i] outputs:[i] chains:[t] "
    "operators:[t] delegates:[t] non_const_buffer_sizes:[q] non_const_buffer_device:[t]",
    "NonConstBufferDevice": "buffer_idx:i device_type:b device_index:b",
    "Operator": "name:s overload:s",
    "BackendDelegate": "id:s processed:t compile_specs:[t]",
    "BackendDelegateDataReference": "location:b index:I",
    "CompileSpec": "key:s value:[B]",
    "Chain": "inputs:[i] outputs:[i] instructions:[t] stacktrace:[t]",
    "Instruction": "instr_args_type:B instr_args:t",
    "KernelCall": "op_index:i args:[i]",
    "DelegateCall": "delegate_index:i args:[i]",
    "MoveCall": "move_from:i move_to:i",
    "JumpFalseCall": "cond_value_index:i destination_instruction:i",
    "FreeCall": "value_index:i",
    "EValue": "val_type:B val:t",
    "Null": "",
    "Int": "int_val:q",
    "Bool": "bool_val:?",
    "Double": "double_val:d",
    "Tensor": "scalar_type:b storage_offset:i sizes:[i] dim_order:[B] requires_grad:? data_buffer_idx:I "
    "allocation_info:t layout:b shape_dynamism:b extra_tensor_info:t",
    "String": "string_val:s",
    "IntList": "items:[q]",
    "DoubleList": "items:[d]",
    "BoolList": "items:[?]",
    "TensorList": "items:[i]",
    "OptionalTensorList": "items:[i]",
    "AllocationDetails": "memory_id:I memory_offset_low:I memory_offset_high:I",
    "ExtraTensorInfo": "mutable_data_segments_idx:Q fully_qualified_name:s location:b device_type:b "
    "device_index:b",
    # flat_tensor.fbs; its DataSegment is that of program.fbs
    "FlatTensor": "version:I segments:[t] named_data:[t]",
    "FlatNamedData": "key:s segment_index:I tensor_layout:t",
    "TensorLayout": "scalar_type:b sizes:[i] dim_order:[B]",
    # bundled_program_schema.fbs; its Int, Bool and Double are those of program.fbs
    "BundledProgram": "version:I method_test_suites:[t] program:[B]",
    "TestSuite": "method_name:s test_cases:[t]",
    "TestCase": "inputs:[t] expected_outputs:[t]",
    "Value": "val_type:B val:t",
    "BundledTensor": "scalar_type:b sizes:[i] data:[B] dim_order:[B]",
}
FIELDS = {name: dict(field.split(":") for field in text.split()) for name, text in SCHEMA.items()}
UNIONS = {
    "EValue": "Null Int Bool Double Tensor String IntList DoubleList BoolList TensorList OptionalTensorList",
    "Instruction": "KernelCall DelegateCall MoveCall JumpFalseCall FreeCall",
    "Value": "BundledTensor Int Bool Double",
}


class Raw(int):
    """A number that is written in the place of a reference."""


class Node:
    """A table, vector or string; `position` is set when it is written. It may be referenced many times."""

    position = 0
    shift: int | None = None  # for a vector: the offset of its elements from a multiple of 16

    def __init__(self, kind: str, value: Any) -> None:
        self.kind = kind
        self.value = value


def table(kind: str, **fields: Any) -> Node:
    """Return a table of program.fbs; fields that are None or omitted are absent."""
    nodes = {}
    for name, value in fields.items():
        field = FIELDS[kind][name]
        is_reference = field in "st" or field.startswith("[")
        if value is not None:
            nodes[name] = Node(field, value) if is_reference and not isinstance(value, (Node, Raw)) else value
    return Node(kind, nodes)


def union(owner: str, member: Node) -> Node:
    """Return an EValue, an Instruction or a Value with `member` in its union."""
    names = ("instr_args_type", "instr_args") if owner == "Instruction" else ("val_type", "val")
    return table(
        owner, **dict(zip(names, (UNIONS[owner].split().index(member.kind) + 1, member), strict=True))
    )


def value(kind: str, **fields: Any) -> Node:
    return union("EValue", table(kind, **fields))


def tensor(**fields: Any) -> Node:
    """Return a planned float tensor of shape (2,), unless the fields differ."""
    planned = table("AllocationDetails", memory_id=1, memory_offset_low=0)
    defaults = {"scalar_type": 6, "sizes": [2], "dim_order": [0], "allocation_info": planned}
    return value("Tensor", **{**defaults, **fields})


def instruction(kind: str, **fields: Any) -> Node:
    return union("Instruction", table(kind, **fields))


def plan(**fields: Any) -> Node:
    """Return an empty method named forward with 64 bytes of memory, unless the fields differ."""
    defaults: dict[str, Any] = {
        name: [] for name in ("values", "inputs", "outputs", "operators", "delegates")
    }
    defaults |= {"name": "forward", "non_const_buffer_sizes": [0, 64]}
    instructions = fields.pop("instructions", [])
    defaults["chains"] = [table("Chain", inputs=[], outputs=[], instructions=instructions)]
    return table("ExecutionPlan", **{**defaults, **fields})


def children(node: Node) -> list[Node]:
    if isinstance(node.value, bytes):
        return []
    values = node.value.values() if isinstance(node.value, dict) else node.value
    return [child for child in values if isinstance(child, Node)] if not isinstance(values, str) else []


def in_order(root: Node) -> list[Node]:
    """Return every node once, parents before children, since offsets only point forward."""
    done: list[Node] = []
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, is_finished = stack.pop()
        if is_finished:
            done.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack += [(node, True), *((child, False) for child in children(node))]
    return done[::-1]


class Writer:
    """Writes nodes one after another, then the references between them."""

    def __init__(self, start: int) -> None:
        self.data = bytearray(start)
        self.references: list[tuple[int, Node]] = []

    def align(self, alignment: int, remainder: int = 0) -> None:
        self.data += bytes((remainder - len(self.data)) % alignment)

    def put(self, value: Any, code: str) -> None:
        if isinstance(value, Node):
            self.references.append((len(self.data), value))
            value, code = 0, "I"
        self.data += struct.pack("<" + ("I" if isinstance(value, Raw) else code), value)

    def write(self, node: Node) -> None:
        if node.kind in FIELDS:
            self.write_table(node)
        elif node.kind == "s":
            text = node.value.encode() if isinstance(node.value, str) else node.value
            self.align(4)
            node.position = len(self.data)
            self.data += struct.pack("<I", len(text)) + text + b"\0"
        else:
            code = node.kind[1]
            size = 4 if code == "t" else struct.calcsize("<" + code)
            if node.shift is None:
                self.align(max(size, 4), max(size, 4) - 4)
            else:
                self.align(16, 12 + node.shift)
            node.position = len(self.data)
            self.data += struct.pack("<I", len(node.value))
            if isinstance(node.value, bytes) and code == "B":
                self.data += node.value
                return
            for item in node.value:
                self.put(item, code)

    def write_table(self, node: Node) -> None:
        kinds = FIELDS[node.kind]
        sizes = {n: struct.calcsize("<" + k) if k in "BbiIqQd?" else 4 for n, k in kinds.items()}
        offsets, end = {}, 4
        for name in sorted(node.value, key=lambda n: -sizes[n]):
            end += -end % min(sizes[name], 4)
            offsets[name], end = end, end + sizes[name]
        self.align(2)
        vtable = len(self.data)
        self.data += struct.pack(
            f"<{2 + len(kinds)}H", 4 + 2 * len(kinds), end, *(offsets.get(n, 0) for n in kinds)
        )
        self.align(8, 4)  # fields of 8 bytes come first, at offset 4
        node.position = len(self.data)
        self.data += struct.pack("<i", node.position - vtable)
        for name in offsets:
            self.data += bytes(node.position + offsets[name] - len(self.data))
            self.put(node.value[name], kinds[name])


def write_segments(payloads: Sequence[bytes]) -> list[Node]:
    offsets = [sum(map(len, payloads[:i])) for i in range(len(payloads))]
    return [
        table("DataSegment", offset=offset, size=len(data))
        for offset, data in zip(offsets, payloads, strict=True)
    ]


def write_tables(root: Node, header_bytes: int, identifier: bytes) -> bytearray:
    """Return the tables, with room for a header of this size."""
    writer = Writer(8 + header_bytes)
    for node in in_order(root):
        writer.write(node)
    writer.align(16)
    data = writer.data
    for at, node in writer.references:
        struct.pack_into("<I", data, at, node.position - at)
    struct.pack_into("<I4s", data, 0, root.position, identifier)
    return data


def write_data_file(
    *named_data: Node,
    payloads: Sequence[bytes] = (bytes(8),),
    header: dict[str, int] | None = None,
    identifier: bytes = b"FT01",
    magic: bytes = b"FH01",
    **fields: Any,
) -> bytes:
    """Return a data file with these entries, and `payloads` as segments; otherwise the same as `write`."""
    content = {"version": 0, "segments": write_segments(payloads), "named_data": list(named_data)}
    data = write_tables(table("FlatTensor", **{**content, **fields}), 40, identifier)
    values = {"length": 40, "offset": 48, "size": len(data) - 48, "base": len(data)}
    values["segment_bytes"] = sum(map(len, payloads))
    struct.pack_into("<4sIQQQQ", data, 8, magic, *(values | (header or {})).values())
    return bytes(data) + b"".join(payloads)


def named(key: str = "w", segment_index: int = 0, **layout: Any) -> Node:
    """Return an entry of a data file: a float tensor of shape (2,), unless `layout` differs."""
    fields = {"scalar_type": 6, "sizes": [2], "dim_order": [0], **layout}
    return table(
        "FlatNamedData", key=key, segment_index=segment_index, tensor_layout=table("TensorLayout", **fields)
    )


def write_bundle(*suites: Node, program: bytes | None = b"", shift: int = 0) -> bytes:
    """Return a bundled program with these suites; `shift` moves the program off its alignment."""
    data = None if program is None else Node("[B]", program)
    if data is not None:
        data.shift = shift
    root = table("BundledProgram", version=0, method_test_suites=list(suites), program=data)
    return bytes(write_tables(root, 0, b"BP08"))


def recorded(**fields: Any) -> Node:
    """Return a value of a test case: a float tensor of two zeros, unless the fields differ."""
    defaults = {"scalar_type": 6, "sizes": [2], "dim_order": [0], "data": bytes(8)}
    return union("Value", table("BundledTensor", **{**defaults, **fields}))


def suite(*inputs: Node, method_name: str = "forward", **fields: Any) -> Node:
    """Return a suite of one test case with these inputs and no expected outputs."""
    case = table("TestCase", inputs=list(inputs), expected_outputs=[])
    return table("TestSuite", **{"method_name": method_name, "test_cases": [case], **fields})


def write(
    *plans: Node,
    payloads: Sequence[bytes] = (),
    header: dict[str, int] | None = None,
    identifier: bytes = b"ET12",
    **fields: Any,
) -> bytes:
    """Return a program with these plans, and `payloads` as its segments.

    Args:
        payloads: The segments after the tables; if there are any, a header is written.
        header: Wrong values for fields of the extended header.
        fields: Other values for fields of the root table, such as `segments`.
    """
    content = {"version": 0, "execution_plan": list(plans), "segments": write_segments(payloads)}
    has_header = bool(payloads) or header is not None
    data = write_tables(table("Program", **{**content, **fields}), 32 * has_header, identifier)
    if has_header:
        values = {"length": 32, "program_size": len(data)}
        values |= {
            "segment_base_offset": len(data) if payloads else 0,
            "segment_data_size": sum(map(len, payloads)),
        }
        struct.pack_into("<4sIQQQ", data, 8, b"eh00", *(values | (header or {})).values())
    return bytes(data) + b"".join(payloads)


def write_plan(*more_values: Node, **fields: Any) -> bytes:
    """Return a plan of a tensor, an integer, None and `more_values`, with 3 operators and 3 delegates."""
    processed = table("BackendDelegateDataReference", location=0, index=0)
    lists = {
        "values": [tensor(), value("Int", int_val=5), value("Null"), *more_values],
        "operators": [table("Operator", name="aten::add", overload="out") for _ in range(3)],
        "delegates": [table("BackendDelegate", id="B", processed=processed) for _ in range(3)],
    }
    payload = [table("BackendDelegateInlineData", data=b"")]
    return write(plan(**{**lists, **fields}), backend_delegate_data=payload)


def write_tensor(**fields: Any) -> bytes:
    """Return a plan of one tensor with these fields."""
    return write(plan(values=[tensor(**fields)]))
