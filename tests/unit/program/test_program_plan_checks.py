"""Every index, shape and size of a plan is verified when it is read."""

from __future__ import annotations

from types import SimpleNamespace as Pte
from typing import Any

import pytest

from etconfig.base.scalar_types import ScalarType
from etconfig.program import model as m
from etconfig.program.program import open_program

EXTREMES = [-(2**31), -1, 3, 4, 2**31 - 1]


def read_tensor(pte: Pte, **fields: Any) -> m.EValue:
    return open_program(pte.write_tensor(**fields)).plan("forward").values[0]


class TestIndices:
    """An index is at least 0 and less than its table's length: -1 never means the end."""

    @pytest.mark.parametrize("index", EXTREMES)
    @pytest.mark.parametrize("field", ["inputs", "outputs"])
    def test_of_inputs_and_outputs(self, pte: Pte, field: str, index: int) -> None:
        assert pte.refusal(pte.write_plan(**{field: [0, index]})) == ("index-out-of-range", f"{field}[1]")

    @pytest.mark.parametrize("index", EXTREMES)
    @pytest.mark.parametrize(
        ("kind", "field"), [("KernelCall", "op_index"), ("DelegateCall", "delegate_index")]
    )
    def test_of_calls(self, pte: Pte, kind: str, field: str, index: int) -> None:
        bad_target = pte.instruction(kind, **{field: index}, args=[0])
        bad_argument = pte.instruction(kind, **{field: 2}, args=[0, 1, index])
        region = "chains[0].instructions[0]"
        assert pte.refusal(pte.write_plan(instructions=[bad_target])) == (
            "index-out-of-range",
            f"{region}.{field}",
        )
        assert pte.refusal(pte.write_plan(instructions=[bad_argument])) == (
            "index-out-of-range",
            f"{region}.args[2]",
        )

    @pytest.mark.parametrize("index", EXTREMES)
    @pytest.mark.parametrize(
        ("kind", "fields", "bad"),
        [
            ("MoveCall", {"move_to": 2}, "move_from"),
            ("MoveCall", {"move_from": 2}, "move_to"),
            ("JumpFalseCall", {"destination_instruction": 1}, "cond_value_index"),
            ("JumpFalseCall", {"cond_value_index": 2}, "destination_instruction"),
            ("FreeCall", {}, "value_index"),
        ],
    )
    def test_of_other_instructions(
        self, pte: Pte, kind: str, fields: dict[str, int], bad: str, index: int
    ) -> None:
        data = pte.write_plan(instructions=[pte.instruction(kind, **fields, **{bad: index})])
        assert pte.refusal(data) == ("index-out-of-range", f"chains[0].instructions[0].{bad}")

    def test_a_jump_to_the_end_of_the_chain_is_legal(self, pte: Pte) -> None:
        jump = pte.instruction("JumpFalseCall", cond_value_index=0, destination_instruction=1)
        plan = open_program(pte.write_plan(instructions=[jump])).plan("forward")
        assert plan.chains[0].instructions == (m.JumpFalseCall(0, 1),)

    @pytest.mark.parametrize("index", [-(2**31), -1, 4, 2**31 - 1])
    @pytest.mark.parametrize("kind", ["IntList", "TensorList"])
    def test_of_list_items(self, pte: Pte, kind: str, index: int) -> None:
        data = pte.write_plan(pte.value(kind, items=[index]))
        assert pte.refusal(data) == ("index-out-of-range", "values[3].items[0]")

    @pytest.mark.parametrize("index", [-(2**63), 2**32, 2**63 - 1])
    def test_of_long_list_items(self, pte: Pte, index: int) -> None:
        data = pte.write_plan(pte.value("IntList", items=[1, index]))
        assert pte.refusal(data) == ("index-out-of-range", "values[3].items[1]")

    @pytest.mark.parametrize("index", [-2, 4])
    def test_of_optional_list_items(self, pte: Pte, index: int) -> None:
        data = pte.write_plan(pte.value("OptionalTensorList", items=[-1, index]))
        assert pte.refusal(data) == ("index-out-of-range", "values[3].items[1]")

    @pytest.mark.parametrize(("location", "index"), [(0, 1), (1, 0), (1, 2**32 - 1)])
    def test_of_delegate_payloads(self, pte: Pte, location: int, index: int) -> None:
        processed = pte.table("BackendDelegateDataReference", location=location, index=index)
        delegate = pte.table("BackendDelegate", id="B", processed=processed)
        data = pte.write_plan(delegates=[delegate])
        assert pte.refusal(data) == ("index-out-of-range", "delegates[0].processed.index")

    @pytest.mark.parametrize("index", [-1, 2])
    def test_of_buffer_devices(self, pte: Pte, index: int) -> None:
        device = pte.table("NonConstBufferDevice", buffer_idx=index, device_type=1)
        data = pte.write_plan(non_const_buffer_device=[device])
        assert pte.refusal(data) == ("index-out-of-range", "non_const_buffer_device[0].buffer_idx")


class TestLists:
    """The items of a list are values of the list's type."""

    @pytest.mark.parametrize(
        ("kind", "item"), [("IntList", 0), ("TensorList", 1), ("TensorList", 2), ("OptionalTensorList", 1)]
    )
    def test_items_of_another_type_are_refused(self, pte: Pte, kind: str, item: int) -> None:
        assert pte.refusal(pte.write_plan(pte.value(kind, items=[item]))) == (
            "wrong-value-type",
            "values[3].items[0]",
        )

    @pytest.mark.parametrize(
        ("kind", "items"),
        [
            ("IntList", [1, 2, 1]),  # a symbolic integer that is an input is Null
            ("TensorList", [0, 0]),
            ("OptionalTensorList", [-1, 0, 2]),
            ("BoolList", [True, False]),
            ("DoubleList", [float("-inf"), 0.5]),
            ("IntList", []),
        ],
    )
    def test_other_items_are_read(self, pte: Pte, kind: str, items: list[Any]) -> None:
        plan = open_program(pte.write_plan(pte.value(kind, items=items))).plan("forward")
        assert repr(plan.values[3]) == repr(getattr(m, kind)(tuple(items)))

    def test_a_list_may_name_values_that_come_later(self, pte: Pte) -> None:
        data = pte.write(pte.plan(values=[pte.value("TensorList", items=[1]), pte.tensor()]))
        assert open_program(data).plan("forward").values[0] == m.TensorList((1,))


class TestShapes:
    """Sizes, rank, dim order and element type describe a possible tensor."""

    @pytest.mark.parametrize("sizes", [[-1], [2, -(2**31)], [0, -1]])
    def test_negative_sizes_are_refused(self, pte: Pte, sizes: list[int]) -> None:
        data = pte.write_tensor(sizes=sizes, dim_order=list(range(len(sizes))))
        assert pte.refusal(data) == ("negative-size", "values[0].sizes")

    def test_rank_16_is_accepted_and_17_refused(self, pte: Pte) -> None:
        tensor = read_tensor(pte, sizes=[1] * 16, dim_order=list(range(16))[::-1])
        assert isinstance(tensor, m.SerializedTensor)
        assert len(tensor.sizes) == 16
        data = pte.write_tensor(sizes=[1] * 17, dim_order=list(range(17)))
        assert pte.refusal(data) == ("rank-too-large", "values[0].sizes")

    @pytest.mark.parametrize("dim_order", [[], [0], [0, 0], [1, 2], [0, 1, 2], [255, 0], [1, 1]])
    def test_a_dim_order_that_is_not_a_permutation_is_refused(self, pte: Pte, dim_order: list[int]) -> None:
        data = pte.write_tensor(sizes=[2, 2], dim_order=dim_order)
        assert pte.refusal(data) == ("bad-dim-order", "values[0].dim_order")

    @pytest.mark.parametrize("number", [-128, -1, 8, 18, 21, 30, 127])
    def test_unknown_scalar_types_are_refused(self, pte: Pte, number: int) -> None:
        assert pte.refusal(pte.write_tensor(scalar_type=number)) == ("unknown-value", "values[0].scalar_type")

    @pytest.mark.parametrize("scalar_type", ScalarType)
    def test_known_scalar_types_are_read(self, pte: Pte, scalar_type: ScalarType) -> None:
        tensor = read_tensor(pte, scalar_type=int(scalar_type))
        assert isinstance(tensor, m.SerializedTensor)
        assert tensor.scalar_type is scalar_type
        assert tensor.size_bytes == 2 * scalar_type.itemsize_bytes

    @pytest.mark.parametrize("field", ["shape_dynamism", "scalar_type"])
    def test_unknown_enumerators_are_refused(self, pte: Pte, field: str) -> None:
        assert pte.refusal(pte.write_tensor(**{field: 99})) == ("unknown-value", f"values[0].{field}")

    @pytest.mark.parametrize("field", ["location", "device_type"])
    def test_unknown_enumerators_of_extra_information_are_refused(self, pte: Pte, field: str) -> None:
        extra = pte.table("ExtraTensorInfo", **{field: 2}, fully_qualified_name="w")
        data = pte.write_tensor(extra_tensor_info=extra)
        assert pte.refusal(data) == ("unknown-value", f"values[0].{field}")

    @pytest.mark.parametrize("storage_offset", [-1, 1])
    def test_a_storage_offset_is_refused(self, pte: Pte, storage_offset: int) -> None:
        data = pte.write_tensor(storage_offset=storage_offset)
        assert pte.refusal(data) == ("unsupported-storage-offset", "values[0].storage_offset")


class TestMemory:
    """The memory of a tensor exists and is large enough, computed without overflow."""

    def place(self, pte: Pte, memory_id: int, offset: int) -> Any:
        low, high = offset & 0xFFFFFFFF, offset >> 32
        return pte.table(
            "AllocationDetails", memory_id=memory_id, memory_offset_low=low, memory_offset_high=high
        )

    @pytest.mark.parametrize(
        ("memory_id", "offset", "elements"),
        [
            *[(1, 61, 1), (1, 64, 1), (1, 65, 0), (1, 0, 17), (1, 2**32, 1), (1, 2**64 - 4, 1)],
            *[(0, 0, 1), (2, 0, 1), (2**32 - 1, 0, 1), (1, 0, 2**31 - 1)],
        ],
    )
    def test_outside_the_plan_is_refused(self, pte: Pte, memory_id: int, offset: int, elements: int) -> None:
        data = pte.write_tensor(sizes=[elements], allocation_info=self.place(pte, memory_id, offset))
        assert pte.refusal(data) == ("bad-memory-plan", "values[0].allocation_info")

    @pytest.mark.parametrize(("offset", "elements"), [(0, 16), (60, 1), (64, 0)])
    def test_up_to_the_last_byte_is_accepted(self, pte: Pte, offset: int, elements: int) -> None:
        tensor = read_tensor(pte, sizes=[elements], allocation_info=self.place(pte, 1, offset))
        assert isinstance(tensor, m.SerializedTensor)
        assert tensor.allocation_info == (1, offset)

    def test_offsets_above_4_gib_are_read(self, pte: Pte) -> None:
        tensor = pte.tensor(allocation_info=self.place(pte, 1, 5 << 32))
        data = pte.write(pte.plan(values=[tensor], non_const_buffer_sizes=[0, 1 << 40]))
        (value,) = open_program(data).plan("forward").values
        assert isinstance(value, m.SerializedTensor)
        assert value.allocation_info == (1, 5 << 32)

    @pytest.mark.parametrize(
        ("sizes", "scalar_type"),
        [
            ([2**31 - 1] * 3, ScalarType.BYTE),
            ([2**31 - 1] * 16, ScalarType.BYTE),
            ([2**31 - 1] * 2, ScalarType.FLOAT),
            ([2**30, 2**30], ScalarType.LONG),
        ],
    )
    def test_more_than_63_bits_of_bytes_are_refused(
        self, pte: Pte, sizes: list[int], scalar_type: ScalarType
    ) -> None:
        shape = {"sizes": sizes, "dim_order": list(range(len(sizes))), "scalar_type": int(scalar_type)}
        assert pte.refusal(pte.write_tensor(**shape)) == ("tensor-too-large", "values[0].sizes")

    def test_just_below_63_bits_of_bytes_are_read(self, pte: Pte) -> None:
        tensor = pte.tensor(sizes=[2**31 - 1] * 2, dim_order=[0, 1], scalar_type=int(ScalarType.SHORT))
        data = pte.write(pte.plan(values=[tensor], non_const_buffer_sizes=[0, 2**63 - 1]))
        (value,) = open_program(data).plan("forward").values
        assert isinstance(value, m.SerializedTensor)
        assert value.size_bytes == 2 * (2**31 - 1) ** 2

    def test_bounds_without_memory_may_be_astronomic(self, pte: Pte) -> None:
        shape = {"sizes": [2**31 - 1] * 3, "dim_order": [0, 1, 2], "allocation_info": None}
        assert read_tensor(pte, **shape, shape_dynamism=1) is not None
        assert pte.refusal(pte.write_tensor(**shape)) == ("tensor-too-large", "values[0].sizes")

    def test_unbounded_shapes_need_no_planned_bytes(self, pte: Pte) -> None:
        tensor = read_tensor(pte, sizes=[1000], shape_dynamism=2)
        assert isinstance(tensor, m.SerializedTensor)
        assert tensor.shape_dynamism is m.TensorShapeDynamism.DYNAMIC_UNBOUND

    @pytest.mark.parametrize("sizes", [[-1], [0, -(2**63)]])
    def test_negative_plans_are_refused(self, pte: Pte, sizes: list[int]) -> None:
        data = pte.write(pte.plan(non_const_buffer_sizes=sizes))
        assert pte.refusal(data) == ("negative-size", "non_const_buffer_sizes")

    def test_an_external_tensor_needs_a_name(self, pte: Pte) -> None:
        data = pte.write_tensor(extra_tensor_info=pte.table("ExtraTensorInfo", location=1))
        assert pte.refusal(data) == ("missing-field", "values[0].fully_qualified_name")

    def test_an_external_tensor_has_no_data_here(self, pte: Pte) -> None:
        extra = pte.table(
            "ExtraTensorInfo", location=1, fully_qualified_name="w", device_type=1, device_index=2
        )
        tensor = read_tensor(pte, data_buffer_idx=7, allocation_info=None, extra_tensor_info=extra)
        assert isinstance(tensor, m.SerializedTensor)
        assert tensor.is_constant
        assert tensor.fully_qualified_name == "w"
        assert (tensor.device_type, tensor.device_index) == (m.DeviceType.CUDA, 2)

    @pytest.mark.parametrize(
        ("index", "code"), [(1, "truncated"), (2, "misaligned"), (9, "index-out-of-range")]
    )
    def test_constants_are_inside_the_file_and_aligned(self, pte: Pte, index: int, code: str) -> None:
        segment = pte.table("SubsegmentOffsets", segment_index=0, offsets=[0, 0, 5, 16])
        plan = pte.plan(values=[pte.tensor(data_buffer_idx=index, allocation_info=None)])
        assert pte.refusal(pte.write(plan, payloads=[bytes(32)], constant_segment=segment))[0] == code

    @pytest.mark.parametrize(
        ("segment", "index", "code"),
        [(0, 1, "truncated"), (0, 9, "index-out-of-range"), (2**64 - 1, 1, "index-out-of-range")],
    )
    def test_initial_states_are_inside_the_file(self, pte: Pte, segment: int, index: int, code: str) -> None:
        states = [pte.table("SubsegmentOffsets", segment_index=0, offsets=[0, 1])]
        extra = pte.table("ExtraTensorInfo", mutable_data_segments_idx=segment)
        plan = pte.plan(values=[pte.tensor(data_buffer_idx=index, extra_tensor_info=extra)])
        assert pte.refusal(pte.write(plan, payloads=[bytes(8)], mutable_data_segments=states))[0] == code
