"""Writes tests/data/hostile/: for each class of published defects of readers, a program with the defect.

The classes are those that ExecuTorch fixed, with the CVE, the finding of its audit, or the commit.
`hostile.json` records etconfig's answer to each file: the error, its code, and the byte that it names. The
bytes are the same each time; `tests/unit/hardening/test_hostile_corpus.py` verifies both.

    python tools/build_hostile_programs.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
OUTPUT = ROOT / "tests" / "data" / "hostile"
sys.path.insert(0, str(ROOT / "tests" / "support"))

from program_writer import (  # noqa: E402  the writer lies with the tests
    Node,
    instruction,
    plan,
    table,
    tensor,
    value,
    write,
    write_bundle,
    write_data_file,
)

from etconfig.errors import EtconfigError, ProgramError  # noqa: E402
from etconfig.kernels import builtin_kernels  # noqa: E402
from etconfig.numpy_executor import load_method  # noqa: E402
from etconfig.program.flat_tensor import open_data_file  # noqa: E402
from etconfig.program.program import open_program  # noqa: E402

LARGEST = 2**31 - 1
COPY_INDEX = "executorch_prim::et_copy_index.tensor"
FIRST_SEGMENT = table("SubsegmentOffsets", segment_index=0, offsets=[0, 0])


class Hostile(NamedTuple):
    """One file: its name, the class of defects, the publication, and its bytes."""

    file: str
    defect: str
    records: tuple[str, ...]
    build: Callable[[], bytes]


def planned(low: int = 0, high: int = 0, memory_id: int = 1) -> Node:
    return table("AllocationDetails", memory_id=memory_id, memory_offset_low=low, memory_offset_high=high)


def one(value: Node, **fields: Any) -> bytes:
    return write(plan(values=[value], outputs=[0], **fields))


def shaped(*sizes: int, dim_order: Sequence[int] | None = None, **fields: Any) -> Node:
    order = list(range(len(sizes))) if dim_order is None else list(dim_order)
    return tensor(sizes=list(sizes), dim_order=order, **fields)


def calling(operator: str, values: Sequence[Node], args: Sequence[int], *before: Node) -> bytes:
    name, _, overload = operator.partition(".")
    call = instruction("KernelCall", op_index=0, args=list(args))
    operators = [table("Operator", name=name, overload=overload)]
    return write(plan(values=list(values), operators=operators, instructions=[*before, call]))


def stepping(kind: str, **fields: int) -> bytes:
    return write(plan(values=[value("Int", int_val=1)], instructions=[instruction(kind, **fields)]))


def with_segment(**fields: int) -> bytes:
    return write(plan(), payloads=[bytes(16)], segments=[table("DataSegment", **fields)])


def delegating(index: int, payload: bytes = b"\xff" * 32) -> bytes:
    processed = table("BackendDelegateDataReference", location=0, index=index)
    delegate = table("BackendDelegate", id="XnnpackBackend", processed=processed)
    data = [table("BackendDelegateInlineData", data=payload)]
    return write(plan(delegates=[delegate]), backend_delegate_data=data)


def with_root(position: int) -> bytes:
    return position.to_bytes(4, "little") + write(plan())[4:]


def copy_to_index(index: int) -> bytes:
    values = [shaped(3, 2), tensor(), value("Int", int_val=index)]
    return calling(COPY_INDEX, values, [0, 1, 2, 0])


def int_among_tensors() -> bytes:
    values = [tensor(), value("TensorList", items=[0]), value("Int", int_val=0), tensor()]
    move = instruction("MoveCall", move_from=2, move_to=0)
    return calling("aten::cat.out", values, [1, 2, 3, 3], move)


def list_in_itself() -> bytes:
    values = [value("Int", int_val=1), value("IntList", items=[0])]
    move = instruction("MoveCall", move_from=1, move_to=0)
    return write(plan(values=values, outputs=[1], instructions=[move]))


def strides_that_leave() -> bytes:
    values = [tensor(), value("Int", int_val=2), value("IntList", items=[1]), value("Int", int_val=LARGEST)]
    values += [value("IntList", items=[3]), value("Null"), tensor()]
    return calling("aten::as_strided_copy.out", values, [0, 2, 4, 5, 6, 6])


def self_jump() -> bytes:
    jump = instruction("JumpFalseCall", cond_value_index=0, destination_instruction=0)
    return write(plan(values=[value("Bool", bool_val=False)], instructions=[jump]))


def fan_out() -> bytes:
    step = instruction("FreeCall", value_index=0)
    chain = table("Chain", instructions=Node("[t]", [step] * 60))
    chains, values = Node("[t]", [chain] * 60), Node("[t]", [value("Int", int_val=1)])
    return write(*[plan(name=f"{i}", values=values, chains=chains) for i in range(20)])


def list_bomb() -> bytes:
    values = [tensor(), value("TensorList", items=[0] * 500), value("Int", int_val=0)]
    call = [instruction("KernelCall", op_index=0, args=[1, 2, 0, 0]) for _ in range(40)]
    operators = [table("Operator", name="aten::cat", overload="out")]
    return write(plan(values=values, operators=operators, instructions=call))


def constant(size_bytes: int) -> bytes:
    stored = shaped(4, data_buffer_idx=1, allocation_info=None)
    data = [table("Buffer"), table("Buffer", storage=bytes(size_bytes))]
    return write(plan(values=[stored]), constant_buffer=data)


def larger_state() -> bytes:
    state = shaped(32, data_buffer_idx=1)
    return write(plan(values=[state]), payloads=[bytes(128)], mutable_data_segments=[FIRST_SEGMENT])


def data_file(**layout: Any) -> bytes:
    fields = {"scalar_type": 6, "sizes": [2], "dim_order": [0], **layout}
    blob = table("FlatNamedData", key="w", segment_index=0, tensor_layout=table("TensorLayout", **fields))
    return write_data_file(blob)


FILES = (
    Hostile("numel.pte", "numel or nbytes overflow", ("CVE-2025-30402", "faa132b"),
            lambda: one(shaped(LARGEST, LARGEST, 4))),
    Hostile("numel_wraps_to_little.pte", "numel or nbytes overflow", ("CVE-2025-30402", "56da964"),
            lambda: one(shaped(*[2**16] * 4, scalar_type=7))),
    Hostile("numel_of_none.pte", "numel or nbytes overflow", ("56da964",),
            lambda: one(shaped(0, LARGEST, LARGEST, LARGEST))),
    Hostile("numel.ptd", "numel or nbytes overflow", ("CVE-2025-30402",),
            lambda: data_file(sizes=[LARGEST] * 3, dim_order=[0, 1, 2])),
    Hostile("allocation_too_small.pte", "allocator wrap", ("CVE-2025-30404", "CVE-2025-54952"),
            lambda: one(shaped(17))),
    Hostile("pool_of_63_bits.pte", "allocator wrap", ("CVE-2025-54952", "6b545a2"),
            lambda: one(tensor(), non_const_buffer_sizes=[0, 2**63 - 1])),
    Hostile("planned_offset_wraps.pte", "offset and size wrap in the memory plan",
            ("CVE-2025-30405", "0830af8", "42e3222"),
            lambda: one(tensor(allocation_info=planned(2**32 - 8, 2**32 - 1)))),
    Hostile("planned_end.pte", "offset and size wrap in the memory plan", ("CVE-2025-30405",),
            lambda: one(tensor(allocation_info=planned(57)))),
    Hostile("planned_memory.pte", "offset and size wrap in the memory plan", ("CVE-2025-30405",),
            lambda: one(tensor(allocation_info=planned(memory_id=2**32 - 1)))),
    Hostile("copy_index.pte", "index op overflow", ("CVE-2025-54949", "64fa85e"),
            lambda: copy_to_index(2**62)),
    Hostile("copy_index_negative.pte", "index op overflow", ("CVE-2025-54949",), lambda: copy_to_index(-1)),
    Hostile("prim_op_arity.pte", "prim-op arity or type unchecked", ("CVE-2025-54950", "b6b7a16"),
            lambda: calling("executorch_prim::add.Scalar", [value("Int", int_val=1)], [0])),
    Hostile("prim_op_type.pte", "prim-op arity or type unchecked", ("CVE-2025-54950",),
            lambda: calling(COPY_INDEX, [value("Int", int_val=1)] * 3, [0, 1, 2, 0])),
    Hostile("rank_17.pte", "rank above 16", ("CVE-2025-54951", "cea9b23"), lambda: one(shaped(*[1] * 17))),
    Hostile("segment_offset_wraps.pte", "segment or loader offset wrap", ("MACA-2026-001", "beca948"),
            lambda: with_segment(offset=2**64 - 8, size=16)),
    Hostile("segment_size_wraps.pte", "segment or loader offset wrap", ("MACA-2026-001", "e59c0bd"),
            lambda: with_segment(offset=0, size=2**64 - 1)),
    Hostile("segment_base_wraps.pte", "segment or loader offset wrap", ("8919ef8",),
            lambda: write(plan(), payloads=[bytes(16)], header={"segment_base_offset": 2**64 - 16})),
    Hostile("subsegment_offset_wraps.pte", "segment or loader offset wrap", ("MACA-2026-001",),
            lambda: write(plan(), payloads=[bytes(16)], constant_segment=table(
                "SubsegmentOffsets", segment_index=0, offsets=[0, 2**64 - 8]))),
    Hostile("constant_larger_than_its_buffer.pte", "inverted inequality, heap write", ("ad9f381",),
            lambda: write(
                plan(values=[shaped(16, data_buffer_idx=1, allocation_info=None)]),
                constant_buffer=[table("Buffer", storage=b""), table("Buffer", storage=bytes(4))])),
    Hostile("state_larger_than_its_memory.pte", "state larger than its memory", ("found here",),
            larger_state),
    Hostile("no_plans.pte", "optional field null", ("45d9231",), lambda: write(execution_plan=None)),
    Hostile("no_value.pte", "optional field null", ("092f42f",),
            lambda: write(plan(values=[table("EValue", val_type=1), table("EValue", val_type=5)]))),
    Hostile("no_instructions.pte", "optional field null", ("7ceccdf",),
            lambda: write(plan(chains=[table("Chain")]))),
    Hostile("no_sizes.pte", "optional field null", ("eeb0646",), lambda: one(tensor(sizes=None))),
    Hostile("no_program.bpte", "optional field null", ("54645a8",), lambda: write_bundle(program=None)),
    Hostile("free_out_of_range.pte", "instruction index out of range", ("ee92757",),
            lambda: stepping("FreeCall", value_index=1)),
    Hostile("move_out_of_range.pte", "instruction index out of range", ("1e9bd73",),
            lambda: stepping("MoveCall", move_from=0, move_to=LARGEST)),
    Hostile("jump_out_of_range.pte", "instruction index out of range", ("1e9bd73",),
            lambda: stepping("JumpFalseCall", cond_value_index=0, destination_instruction=-1)),
    Hostile("list_of_the_wrong_type.pte", "type confusion", ("TOB-31", "deaf73b"),
            lambda: write(plan(values=[value("Int"), value("TensorList", items=[0])]))),
    Hostile("int_among_tensors.pte", "type confusion", ("TOB-31", "930ecfd"), int_among_tensors),
    Hostile("list_in_itself.pte", "type confusion", ("TOB-31",), list_in_itself),
    Hostile("self_jump.pte", "self-jump, infinite loop", ("c4983ce", "8e99f3b"), self_jump),
    Hostile("dim_order_repeats.pte", "dim order no permutation", ("90e6e4c",),
            lambda: one(shaped(2, 2, dim_order=[1, 1]))),
    Hostile("dim_order_length.pte", "dim order no permutation", ("8b30cfe",),
            lambda: one(shaped(2, 2, dim_order=[0]))),
    Hostile("negative_size.pte", "negative sizes", ("5e8a0df",), lambda: one(shaped(-1))),
    Hostile("negative_pool.pte", "negative sizes", ("5e8a0df",),
            lambda: one(tensor(), non_const_buffer_sizes=[0, -64])),
    Hostile("root_in_the_identifier.pte", "root offset", ("3d2c853",), lambda: with_root(4)),
    Hostile("root_outside.pte", "root offset", ("3d2c853",), lambda: with_root(2**32 - 4)),
    Hostile("payload_short_by_one.pte", "payload shorter than claimed", ("TOB-9", "c0cef6c"),
            lambda: constant(15)),
    Hostile("segment_short_by_one.pte", "payload shorter than claimed", ("TOB-9",),
            lambda: write(plan(), payloads=[bytes(16)])[:-1]),
    Hostile("payload_short.ptd", "payload shorter than claimed", ("TOB-9",),
            lambda: data_file(sizes=[3])),
    Hostile("delegate_index.pte", "delegate blob trusted", ("TOB-44", "edb8c98"),
            lambda: delegating(1)),
    Hostile("delegate_junk.pte", "delegate blob trusted", ("TOB-44", "dbd5118", "0af4992"),
            lambda: delegating(0)),
    Hostile("strides_that_leave.pte", "kernel stride walk", ("3dfa644", "cedfe4c"), strides_that_leave),
    Hostile("fan_out.pte", "shared children", ("naive readers",), fan_out),
    Hostile("list_bomb.pte", "shared children", ("found here",), list_bomb),
)  # fmt: skip


KERNELS = builtin_kernels()


def outcome(name: str, data: bytes) -> Mapping[str, object]:
    """Return etconfig's answer to a file: the stage that refuses it, and the error."""
    stage = "open"
    try:
        if name.endswith(".ptd"):
            open_data_file(data)
        else:
            program = open_program(data)
            stage = "load"
            with load_method(program, "forward", KERNELS, {}, instruction_limit=1_000_000) as method:
                stage = "execute"
                method.execute()
    except EtconfigError as error:
        code, offset = (error.code, error.offset) if isinstance(error, ProgramError) else (None, None)
        found = {"stage": stage, "error": type(error).__name__, "code": code, "offset": offset}
        return {**found, "message": error.message}
    return {"stage": "none"}


def main() -> None:
    OUTPUT.mkdir(exist_ok=True)
    index = []
    for file, defect, records, build in FILES:
        data = build()
        (OUTPUT / file).write_bytes(data)
        index.append({"file": file, "defect": defect, "records": records, **outcome(file, data)})
    lines = ",\n".join(f"  {json.dumps(each)}" for each in index)
    (OUTPUT / "hostile.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
