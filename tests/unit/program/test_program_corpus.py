"""Every field of every exported program, compared with what ExecuTorch reads in it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from every import every

from etconfig.base.scalar_types import ScalarType
from etconfig.program import model as m
from etconfig.program.program import Verification, open_program
from etconfig.program.source import LoadMode

CORPUS = Path(__file__).parents[2] / "data" / "programs"
PROGRAMS = sorted(path.stem for path in CORPUS.glob("*.pte"))


def load(name: str) -> dict[str, Any]:
    return json.loads((CORPUS / f"{name}.json").read_text(encoding="utf-8"))


def expected_tensor(val: dict[str, Any]) -> m.SerializedTensor:
    allocation, extra = val["allocation_info"], val["extra_tensor_info"] or {}
    return m.SerializedTensor(
        scalar_type=ScalarType(val["scalar_type"]),
        sizes=tuple(val["sizes"]),
        dim_order=tuple(val["dim_order"]),
        data_buffer_idx=val["data_buffer_idx"],
        allocation_info=allocation
        and m.AllocationDetails(
            allocation["memory_id"],
            allocation["memory_offset_low"] + (allocation["memory_offset_high"] << 32),
        ),
        shape_dynamism=m.TensorShapeDynamism(val["shape_dynamism"]),
        mutable_data_segments_idx=extra.get("mutable_data_segments_idx", 0),
        fully_qualified_name=extra.get("fully_qualified_name"),
        external=bool(extra.get("location", 0)),
        device_type=m.DeviceType(extra.get("device_type", 0)),
        device_index=extra.get("device_index", 0),
    )


def expected_value(evalue: dict[str, Any]) -> m.EValue:
    val = dict(evalue["val"])
    kind = val.pop("type")
    if kind == "Null":
        return None
    if kind == "Tensor":
        return expected_tensor(val)
    if kind == "Double":
        return m.Double(float.fromhex(val["double_val"]))
    if kind == "DoubleList":
        return m.DoubleList(tuple(map(float.fromhex, val["items"])))
    if "items" in val:
        return getattr(m, kind)(tuple(val["items"]))
    return getattr(m, kind)(**val)


def expected_instruction(instruction: dict[str, Any]) -> m.Instruction:
    fields = {k: tuple(v) if k == "args" else v for k, v in instruction["instr_args"].items() if k != "type"}
    return getattr(m, instruction["instr_args"]["type"])(**fields)


def expected_delegate(delegate: dict[str, Any]) -> m.BackendDelegate:
    processed = delegate["processed"]
    return m.BackendDelegate(
        delegate["id"],
        m.BackendDelegateDataReference(m.DataLocation(processed["location"]), processed["index"]),
        tuple(m.CompileSpec(spec["key"], bytes(spec["value"])) for spec in delegate["compile_specs"]),
    )


def expected_plan(plan: dict[str, Any]) -> m.ExecutionPlan:
    return m.ExecutionPlan(
        name=plan["name"],
        values=tuple(map(expected_value, plan["values"])),
        inputs=tuple(plan["inputs"]),
        outputs=tuple(plan["outputs"]),
        chains=tuple(m.Chain(tuple(map(expected_instruction, c["instructions"]))) for c in plan["chains"]),
        operators=tuple(m.Operator(op["name"], op["overload"]) for op in plan["operators"]),
        delegates=tuple(map(expected_delegate, plan["delegates"])),
        non_const_buffer_sizes=tuple(plan["non_const_buffer_sizes"]),
    )


def texts(plan: m.ExecutionPlan) -> dict[str, list[str]]:
    """Return a plan as text, because tuples of different types compare equal if their items do."""
    return {
        name: [repr(item) for item in field] if isinstance(field, tuple) else [repr(field)]
        for name, field in plan._asdict().items()
    }


def digest(data: memoryview) -> list[object]:
    return [len(data), hashlib.sha256(data).hexdigest()]


@pytest.fixture(params=PROGRAMS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


class TestCorpus:
    """etconfig reads the same as ExecuTorch's own accessors."""

    def test_the_corpus_is_there_and_small(self) -> None:
        assert len(PROGRAMS) >= 17
        assert sum(path.stat().st_size for path in CORPUS.iterdir()) < 400_000

    def test_every_field_of_every_plan_is_equal(self, name: str) -> None:
        program, dump = open_program(CORPUS / f"{name}.pte"), load(name)["program"]
        assert program.method_names == tuple(plan["name"] for plan in dump["execution_plan"])
        for plan in dump["execution_plan"]:
            assert texts(program.plan(plan["name"])) == texts(expected_plan(plan))

    def test_header_segments_and_sizes_are_equal(self, name: str) -> None:
        program, dump = open_program(CORPUS / f"{name}.pte"), load(name)
        header, base = dump["header"], (dump["header"] or {}).get("segment_base_offset", 0)
        assert program.size_bytes == dump["size_bytes"]
        assert program.version == dump["program"]["version"]
        assert (program.header and program.header._asdict()) == (header and {"length": 32, **header})
        assert [(s.start - base, s.size_bytes) for s in program.segments] == [
            (s["offset"], s["size"]) for s in dump["program"]["segments"]
        ]

    def test_constants_and_initial_states_are_the_same_bytes(self, name: str) -> None:
        program, digests = open_program(CORPUS / f"{name}.pte"), load(name)["digests"]
        for index, (size_bytes, sha256) in enumerate(digests["constants"][1:], 1):
            assert digest(program.constant(index, size_bytes)) == [size_bytes, sha256]
        for segment, states in enumerate(digests["mutable"]):
            for index, (size_bytes, sha256) in enumerate(states[1:], 1):
                data = program.mutable_initial_data(segment, index, size_bytes)
                assert digest(data) == [size_bytes, sha256]

    def test_delegate_and_named_data_are_the_same_bytes(self, name: str) -> None:
        program, digests = open_program(CORPUS / f"{name}.pte"), load(name)["digests"]
        for method, expected in zip(program.method_names, digests["delegates"], strict=True):
            delegates = program.plan(method).delegates
            assert [digest(program.delegate_data(delegate)) for delegate in delegates] == expected
        assert {key: digest(data) for key, data in program.named_data.items()} == digests["named_data"]

    @every("verification", Verification)
    @every("load_mode", [LoadMode.File, LoadMode.Mmap])
    def test_level_and_load_mode_change_nothing_that_is_read(
        self, name: str, verification: Verification, load_mode: Any
    ) -> None:
        path = CORPUS / f"{name}.pte"
        reference = open_program(path.read_bytes())
        with open_program(path, verification=verification, load_mode=load_mode) as program:
            assert program.verification is verification
            assert [texts(program.plan(n)) for n in program.method_names] == [
                texts(reference.plan(n)) for n in reference.method_names
            ]
            assert program.named_data == reference.named_data


class TestCoverage:
    """The corpus contains everything that real programs contain."""

    def plans(self) -> list[m.ExecutionPlan]:
        programs = [open_program(CORPUS / f"{name}.pte") for name in PROGRAMS]
        return [program.plan(name) for program in programs for name in program.method_names]

    def test_all_types_of_values_that_are_exported_occur(self) -> None:
        found = {type(value) for plan in self.plans() for value in plan.values}
        assert found == {
            *(m.Int, m.Bool, m.Double, m.String, m.SerializedTensor, type(None)),
            *(m.IntList, m.DoubleList, m.TensorList, m.OptionalTensorList),
        }

    def test_all_instructions_that_are_exported_occur(self) -> None:
        found = {type(i) for plan in self.plans() for chain in plan.chains for i in chain.instructions}
        assert found == {m.KernelCall, m.DelegateCall, m.MoveCall, m.JumpFalseCall}

    def test_both_places_of_a_payload_occur(self) -> None:
        found = {delegate.processed.location for plan in self.plans() for delegate in plan.delegates}
        assert found == set(m.DataLocation)

    def test_tensors_of_all_memories_occur(self) -> None:
        tensors = [
            value for plan in self.plans() for value in plan.values if isinstance(value, m.SerializedTensor)
        ]
        assert any(t.is_constant and not t.external for t in tensors)
        assert any(t.is_constant and t.external for t in tensors)
        assert any(t.data_buffer_idx and t.allocation_info for t in tensors)
        assert any(not t.data_buffer_idx and not t.allocation_info for t in tensors)
        assert any(t.shape_dynamism is m.TensorShapeDynamism.DYNAMIC_BOUND for t in tensors)
        assert any(t.dim_order == (0, 2, 3, 1) for t in tensors)
