"""Export the programs in tests/data/programs, and record what ExecuTorch itself reads in them.

Needs torch and executorch (built with 2.13 and 1.5.1); running it again gives the same bytes:

    python tools/build_program_corpus.py [NAME...]

For every NAME.pte it writes NAME.json: all fields as the accessors that flatc generated (and that
ExecuTorch ships) read them, plus size and SHA-256 of every constant, initial state, delegate payload
and named blob. Doubles are written with `float.hex`, since JSON has no infinities. The tests compare
`etconfig.program` with these files and so need neither torch nor executorch.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge,
    to_edge_transform_and_lower,
)
from executorch.exir._serialize._flatbuffer_program import (
    _patch_generated_flatbuffer_aliases,
    _program_to_flatbuffer,
)
from executorch.exir._serialize._program import _get_extended_header
from executorch.exir._serialize.generated import executorch_flatbuffer as generated
from executorch.exir._serialize.generated.executorch_flatbuffer.Program import ProgramT
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from torch import nn
from torch.export import Dim, export

CORPUS = Path(__file__).parents[1] / "tests" / "data" / "programs"


# --- the models ----------------------------------------------------------------------------


class Add(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


class Convolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 4, 3, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.convolution(x.to(memory_format=torch.channels_last)))


class TwoLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("steps", torch.zeros(1, dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.total.add_(x)
        self.steps.add_(1)
        return self.total + 0, self.steps + 0


class Branch(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))


class Map(nn.Module):
    def forward(self, xs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch._higher_order_ops.map(lambda x, z: x * z, xs, y)


class Lists(nn.Module):
    """Every kind of list that exporting emits: tensors, optional tensors, integers and doubles."""

    def forward(self, x: torch.Tensor, index: torch.Tensor) -> tuple[torch.Tensor, ...]:
        both = torch.cat([x, x * 2.0], dim=0)
        picked = torch.ops.aten.index.Tensor(both, [None, index])
        larger = torch.ops.aten.upsample_nearest2d.vec(x[None, None], None, [2.0, 0.5])
        halves = torch.split(x, [1, 2], dim=0)
        return picked, larger, halves[0], nn.functional.gelu(x, approximate="tanh")


class Types(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("halves", torch.arange(3, dtype=torch.float16))
        self.register_buffer("brains", torch.arange(4, dtype=torch.bfloat16))
        self.register_buffer("mask", torch.tensor([True, False, True]))
        self.register_buffer("scalar", torch.tensor(2.5, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> tuple[object, ...]:
        return (
            x.to(torch.float16) + self.halves,
            self.brains * 2,
            torch.where(self.mask, x, float("-inf")),
            (self.scalar + 1).to(torch.int8),
            self.mask,
            None,
            3,
            x,
        )


class Reshape(nn.Module):
    def forward(self, x: torch.Tensor, rows: int) -> torch.Tensor:
        return (x * 2.0).reshape(rows, -1)


# --- exporting them ------------------------------------------------------------------------


def portable(
    model: nn.Module,
    *inputs: object,
    dynamic_shapes: object = None,
    **config: Any,
) -> ExecutorchProgramManager:
    exported = export(model.eval(), inputs, dynamic_shapes=dynamic_shapes)
    return to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False)).to_executorch(
        ExecutorchBackendConfig(**config)
    )


def delegated(models: Mapping[str, nn.Module], *inputs: object, **config: Any) -> ExecutorchProgramManager:
    exported = {name: export(model.eval(), inputs) for name, model in models.items()}
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    return lowered.to_executorch(ExecutorchBackendConfig(**config))


def with_inline_constants(manager: ExecutorchProgramManager) -> bytes:
    """The layout of ExecuTorch before 0.4: constants in `constant_buffer`, no segments, no header."""
    program = manager.executorch_program
    return bytes(_program_to_flatbuffer(program).data)


def add() -> bytes:
    return portable(Add(), torch.ones(2, 3), torch.ones(2, 3)).buffer


def add_unplanned() -> bytes:
    planning = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
    inputs = torch.ones(2, 3), torch.ones(2, 3)
    return portable(Add(), *inputs, memory_planning_pass=planning).buffer


def linear() -> bytes:
    return portable(nn.Linear(4, 3), torch.ones(2, 4)).buffer


def linear_inline_constants() -> bytes:
    return with_inline_constants(portable(nn.Linear(4, 3), torch.ones(2, 4)))


def linear_external_constants() -> bytes:
    return portable(nn.Linear(4, 3), torch.ones(2, 4), external_constants=True).buffer


def convolution_channels_last() -> bytes:
    return portable(Convolution(), torch.ones(1, 3, 8, 8)).buffer


def dynamic_shapes() -> bytes:
    rows = Dim("rows", min=1, max=7)
    shapes = ({0: rows}, {0: rows})
    return portable(Add(), torch.ones(3, 2), torch.ones(3, 2), dynamic_shapes=shapes).buffer


def symbolic_integer() -> bytes:
    shapes = ({0: Dim("n", min=2, max=16)}, Dim.DYNAMIC)
    return portable(Reshape(), torch.ones(6), 3, dynamic_shapes=shapes).buffer


def two_methods() -> bytes:
    methods = {
        "forward": export(nn.Linear(4, 4).eval(), (torch.ones(1, 4),)),
        "größe": export(Add(), (torch.ones(2), torch.ones(2))),
    }
    constants = {"version_of_model": 7, "name_of_model": "corpus", "scale": 0.25}
    return to_edge(methods, constant_methods=constants).to_executorch().buffer


def mutable_buffers() -> bytes:
    passes = [InitializedMutableBufferPass(["total"])]
    return portable(Counter(), torch.ones(3), passes=passes, emit_mutable_buffer_names=True).buffer


def branch() -> bytes:
    return portable(Branch(), torch.ones(3)).buffer


def mapping() -> bytes:
    return portable(Map(), torch.ones(3, 2), torch.ones(2)).buffer


def lists() -> bytes:
    return portable(Lists(), torch.ones(3, 3), torch.tensor([0, 2])).buffer


def types() -> bytes:
    return portable(Types(), torch.ones(3)).buffer


def xnnpack() -> bytes:
    return delegated({"forward": TwoLayers()}, torch.ones(1, 8)).buffer


def xnnpack_inline() -> bytes:
    return delegated({"forward": TwoLayers()}, torch.ones(1, 8), extract_delegate_segments=False).buffer


def xnnpack_two_methods() -> bytes:
    shared = TwoLayers()
    return delegated({"decode": shared, "prefill": nn.Sequential(shared, nn.ReLU())}, torch.ones(1, 8)).buffer


CASES: Sequence[Callable[[], bytes]] = (
    add,
    add_unplanned,
    linear,
    linear_inline_constants,
    linear_external_constants,
    convolution_channels_last,
    dynamic_shapes,
    symbolic_integer,
    two_methods,
    mutable_buffers,
    branch,
    mapping,
    lists,
    types,
    xnnpack,
    xnnpack_inline,
    xnnpack_two_methods,
)


# --- reading them with ExecuTorch ------------------------------------------------------------


def dump(pte: bytes) -> dict[str, object]:
    """Return everything in the file, by the field names of program.fbs, and digests of its payloads."""
    _patch_generated_flatbuffer_aliases()
    raw = _plain(ProgramT.InitFromPackedBuf(pte))
    header = _get_extended_header(pte)
    base = header.segment_base_offset if header else 0

    def segment(index: int) -> bytes:
        start = base + raw["segments"][index]["offset"]
        return pte[start : start + raw["segments"][index]["size"]]

    digests: dict[str, object] = {
        "named_data": {d["key"]: _digest(segment(d["segment_index"])) for d in raw["named_data"] or []},
        "delegates": [
            [
                _digest(
                    segment(delegate["processed"]["index"])
                    if delegate["processed"]["location"]
                    else bytes(raw["backend_delegate_data"][delegate["processed"]["index"]]["data"])
                )
                for delegate in plan["delegates"]
            ]
            for plan in raw["execution_plan"]
        ],
        "constants": _subsegments(raw["constant_segment"], segment)
        if raw["constant_segment"] and len(raw["constant_segment"]["offsets"]) > 1
        else [_digest(bytes(b["storage"] or [])) for b in raw["constant_buffer"]],
        "mutable": [_subsegments(s, segment) for s in raw["mutable_data_segments"] or []],
    }
    for plan in raw["execution_plan"]:
        del plan["container_meta_type"]
    del raw["constant_buffer"], raw["backend_delegate_data"]
    return {"size_bytes": len(pte), "header": header and _header(header), "program": raw, "digests": digests}


def _header(header: Any) -> dict[str, int]:
    names = ("program_size", "segment_base_offset", "segment_data_size")
    return {name: getattr(header, name) for name in names}


def _digest(payload: bytes) -> list[object]:
    return [len(payload), hashlib.sha256(payload).hexdigest()]


def _subsegments(subsegment: Mapping[str, Any], segment: Callable[[int], bytes]) -> list[list[object]]:
    """Return a digest for each offset, of the bytes up to the next one."""
    data = segment(subsegment["segment_index"])
    offsets = [*subsegment["offsets"], len(data)]
    return [_digest(data[start:end]) for start, end in pairwise(offsets)]


_UNIONS = {
    "val": generated.KernelTypes.KernelTypes,
    "instr_args": generated.InstructionArguments.InstructionArguments,
}


def _plain(value: Any) -> Any:
    """Return a flatc object as dicts, lists and scalars; a union becomes {"type": ..., fields...}."""
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, float):
        return value.hex()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, list):
        return [_plain(item) for item in value]
    fields = {_snake_case(name): child for name, child in vars(value).items()}
    record = {}
    for name, child in fields.items():
        if name.endswith("_type") and name.removesuffix("_type") in _UNIONS:
            continue
        record[name] = _plain(child)
        if name in _UNIONS:
            record[name] = {
                "type": _union_name(_UNIONS[name], fields[f"{name}_type"]),
                **(record[name] or {}),
            }
    return record


def _union_name(union: type, number: int) -> str:
    return next(name for name, value in vars(union).items() if value == number)


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def main(names: Sequence[str]) -> None:
    CORPUS.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        if names and case.__name__ not in names:
            continue
        torch.manual_seed(0)
        pte = bytes(case())
        text = json.dumps(dump(pte), separators=(",", ":"), ensure_ascii=False)
        (CORPUS / f"{case.__name__}.pte").write_bytes(pte)
        (CORPUS / f"{case.__name__}.json").write_text(text + "\n", encoding="utf-8")
        print(f"{case.__name__}: {len(pte)} bytes, {len(text)} characters of JSON")


if __name__ == "__main__":
    main(sys.argv[1:])
