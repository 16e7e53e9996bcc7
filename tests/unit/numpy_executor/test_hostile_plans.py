"""Hostile plans that pass verification: they run, or end in a typed error, and soon."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plans import KERNELS
from program_writer import Node, instruction, plan, table, tensor, value, write

from etconfig import Method
from etconfig.errors import (
    ExecutionError,
    InstructionLimitError,
    KernelArgumentError,
    OutOfMemoryError,
    ProgramError,
)
from etconfig.kernel.memory import STEPS_AHEAD
from etconfig.numpy_executor import load_method
from etconfig.program.program import open_program

FIRST_SEGMENT = table("SubsegmentOffsets", segment_index=0, offsets=[0, 0])
STATIC, BOUNDED, UNBOUNDED = range(3)
LARGEST = 2**31 - 1
NO_MEMORY = "method 'forward' asks for more memory than there is: "


def outputs_of(data: bytes, *inputs: object, limit: int = 1000) -> list[Any]:
    program = open_program(data)
    with load_method(program, "forward", KERNELS, {}, instruction_limit=limit) as method:
        return method.execute(inputs)


def refusal(data: bytes, error: type[ExecutionError], limit: int = 1000) -> str:
    with pytest.raises(error) as caught:
        outputs_of(data, limit=limit)
    return str(caught.value)


def move(source: int, target: int) -> Node:
    return instruction("MoveCall", move_from=source, move_to=target)


class TestMoves:
    """No moves can make a list an item of a list, not even of itself (TOB-31)."""

    @pytest.mark.parametrize(
        ("kind", "item"), [("IntList", value("Int", int_val=1)), ("TensorList", tensor())]
    )
    def test_a_list_in_itself_is_refused(self, kind: str, item: Node) -> None:
        data = write(plan(values=[item, value(kind, items=[0])], outputs=[1], instructions=[move(1, 0)]))
        assert refusal(data, KernelArgumentError) == "MoveCall: a list cannot be an item of a list"

    def test_a_list_in_itself_by_way_of_another_value_is_refused(self) -> None:
        values = [value("Int", int_val=1), value("IntList", items=[0]), value("Null")]
        data = write(plan(values=values, outputs=[1], instructions=[move(1, 2), move(2, 0)]))
        assert refusal(data, KernelArgumentError) == "MoveCall: a list cannot be an item of a list"

    def test_an_integer_among_tensors_is_refused_by_the_kernel(self) -> None:
        values = [tensor(), value("TensorList", items=[0]), value("Int", int_val=0), tensor()]
        cat = instruction("KernelCall", op_index=0, args=[1, 2, 3, 3])
        operators = [table("Operator", name="aten::cat", overload="out")]
        data = write(plan(values=values, operators=operators, instructions=[move(2, 0), cat]))
        text = refusal(data, KernelArgumentError)
        assert text.startswith("aten::cat.out: tensors must be a list of tensors")


class TestMemory:
    """Memory that cannot be allocated is a typed error; reserved memory is not allocated."""

    def test_an_arena_of_2_to_the_63_bytes(self) -> None:
        data = write(plan(values=[tensor()], outputs=[0], non_const_buffer_sizes=[0, 2**63 - 1]))
        assert refusal(data, OutOfMemoryError) == (f"{NO_MEMORY}cannot allocate 9223372036854775807 bytes")

    def test_the_reserved_memory_takes_no_room(self) -> None:
        data = write(plan(values=[tensor()], outputs=[0], non_const_buffer_sizes=[2**63 - 1, 64]))
        np.testing.assert_array_equal(outputs_of(data)[0], np.zeros(2, np.float32))

    @pytest.mark.parametrize("dynamism", [BOUNDED, UNBOUNDED])
    @pytest.mark.parametrize("sizes", [[LARGEST] * 3, [0, *[LARGEST] * 3]])
    def test_bounds_beyond_any_memory(self, dynamism: int, sizes: list[int]) -> None:
        order = list(range(len(sizes)))
        astronomic = tensor(sizes=sizes, dim_order=order, shape_dynamism=dynamism, allocation_info=None)
        data = write(plan(values=[astronomic], outputs=[0]))
        assert refusal(data, OutOfMemoryError) == (
            f"{NO_MEMORY}sizes {tuple(sizes)} take 2**63 bytes or more"
        )

    def test_a_tensor_of_no_elements_whose_strides_take_63_bits_is_refused_when_it_is_opened(self) -> None:
        empty = tensor(sizes=[0, *[LARGEST] * 3], dim_order=[0, 1, 2, 3])
        with pytest.raises(ProgramError) as caught:
            open_program(write(plan(values=[empty])))
        assert caught.value.code == "tensor-too-large"

    def test_a_kernel_that_runs_out_of_memory(self) -> None:
        unbounded = tensor(shape_dynamism=UNBOUNDED, allocation_info=None)
        values = [unbounded, value("Int", int_val=2**40), value("IntList", items=[1]), value("Double")]
        full = instruction("KernelCall", op_index=0, args=[2, 3, 0, 0])
        operators = [table("Operator", name="aten::full", overload="out")]
        data = write(plan(values=values, operators=operators, instructions=[full]))
        text = refusal(data, OutOfMemoryError)
        assert text.startswith(f"{NO_MEMORY}Unable to allocate 4.00 TiB")


class TestSteps:
    """An instruction may consist of thousands of steps, but not each of thousands of instructions."""

    def _convolutions(self, count: int) -> bytes:
        """Each multiplies 9,000 elements with as many weights, one after the other, in 100 bytes."""
        size = 9000
        image = tensor(sizes=[1, 1, size], dim_order=[0, 1, 2])
        out = tensor(sizes=[1, 1, 1], dim_order=[0, 1, 2])
        one, none = value("Int", int_val=1), value("Int", int_val=0)
        values = [image, value("Null"), one, none, value("IntList", items=[2]), value("IntList", items=[3])]
        values += [value("Bool", bool_val=False), out]
        operators = [table("Operator", name="aten::convolution", overload="out")]
        args = [0, 0, 1, 4, 5, 4, 6, 5, 2, 7, 7]
        calls = [instruction("KernelCall", op_index=0, args=args) for _ in range(count)]
        sizes = [0, 4 * size]
        return write(
            plan(values=values, operators=operators, instructions=calls, non_const_buffer_sizes=sizes)
        )

    def _steps_of(self, method: Method) -> int:
        runnable: Any = method._runnable
        return sum(len(block.steps) for chain in runnable._compiled.chains for block in chain)

    def test_steps_that_are_made_ahead_are_limited(self) -> None:
        program = open_program(self._convolutions(60))
        with load_method(program, "forward", KERNELS, {}, optimize=False) as method:
            assert self._steps_of(method) < STEPS_AHEAD + 60


class TestStoredData:
    """Data that a file stores fit the memory that they are copied to, even if shapes are unbounded."""

    def test_an_unbounded_state_begins_as_it_is_stored(self) -> None:
        stored = np.array([3, 4], np.float32)
        state = tensor(data_buffer_idx=1, shape_dynamism=UNBOUNDED)
        planned = plan(values=[state], outputs=[0])
        data = write(planned, payloads=[stored.tobytes()], mutable_data_segments=[FIRST_SEGMENT])
        np.testing.assert_array_equal(outputs_of(data)[0], stored)

    @pytest.mark.parametrize("dynamism", [STATIC, BOUNDED, UNBOUNDED])
    def test_more_than_is_planned_is_refused_when_the_program_is_opened(self, dynamism: int) -> None:
        state = tensor(sizes=[17], data_buffer_idx=1, shape_dynamism=dynamism)
        with pytest.raises(ProgramError, match=r"bytes 0 to 68 of memory 1 are planned, which has 64 bytes"):
            open_program(
                write(plan(values=[state]), payloads=[bytes(68)], mutable_data_segments=[FIRST_SEGMENT])
            )

    @pytest.mark.parametrize("dynamism", [STATIC, BOUNDED, UNBOUNDED])
    def test_a_constant_is_not_an_input(self, dynamism: int) -> None:
        constant = tensor(data_buffer_idx=1, shape_dynamism=dynamism, allocation_info=None)
        data = write(plan(values=[constant], inputs=[0]), payloads=[bytes(8)], constant_segment=FIRST_SEGMENT)
        with pytest.raises(ProgramError) as caught:
            open_program(data)
        assert caught.value.code == "wrong-value-type"
        assert caught.value.message.startswith("execution_plan[0].inputs[0] at byte ")
        assert "values[0] is a constant, which no input can be written to" in caught.value.message

    def test_a_kernel_cannot_write_to_a_constant(self) -> None:
        constant = tensor(data_buffer_idx=1, allocation_info=None)
        relu = instruction("KernelCall", op_index=0, args=[0, 0, 0])
        operators = [table("Operator", name="aten::relu", overload="out")]
        planned = plan(values=[constant], operators=operators, instructions=[relu])
        data = write(planned, payloads=[bytes(8)], constant_segment=FIRST_SEGMENT)
        assert refusal(data, KernelArgumentError) == "aten::relu.out: output array is read-only"


class TestLoops:
    """The instruction budget stops a program that never ends, whatever its loops."""

    NEVER = value("Bool", bool_val=False)

    @pytest.mark.parametrize("limit", [1, 1000, 1_000_000])
    def test_a_jump_to_itself(self, limit: int) -> None:
        jump = instruction("JumpFalseCall", cond_value_index=0, destination_instruction=0)
        data = write(plan(values=[self.NEVER], instructions=[jump]))
        assert refusal(data, InstructionLimitError, limit) == (
            f"method 'forward' ran {limit} instructions without coming to an end"
        )

    def test_two_jumps_to_each_other(self) -> None:
        jumps = [
            instruction("JumpFalseCall", cond_value_index=0, destination_instruction=destination)
            for destination in (1, 0)
        ]
        refusal(write(plan(values=[self.NEVER], instructions=jumps)), InstructionLimitError)

    def test_a_budget_counts_all_chains(self) -> None:
        chain = table("Chain", instructions=[instruction("FreeCall", value_index=0)] * 3)
        data = write(plan(values=[self.NEVER], chains=[chain] * 5))
        refusal(data, InstructionLimitError, 14)
        assert outputs_of(data, limit=15) == []


@pytest.mark.parametrize("index", [-1, 3, 4, 2**31, -(2**63)])
def test_a_copy_to_an_index_out_of_range_is_refused(index: int) -> None:
    """The index of `et_copy_index` is checked before anything is written (CVE-2025-54949)."""
    target, source = tensor(sizes=[3, 2], dim_order=[0, 1]), tensor()
    copy = instruction("KernelCall", op_index=0, args=[0, 1, 2, 0])
    operators = [table("Operator", name="executorch_prim::et_copy_index", overload="tensor")]
    values = [target, source, value("Int", int_val=index)]
    data = write(plan(values=values, operators=operators, instructions=[copy]))
    assert refusal(data, KernelArgumentError).startswith("executorch_prim::et_copy_index.tensor: ")
