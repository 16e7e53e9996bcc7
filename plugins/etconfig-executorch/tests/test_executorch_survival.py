"""Methods that ExecuTorch's runtime would not survive are refused before it sees them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program_writer import Node, instruction, plan, table, tensor, value, write

import etconfig
from etconfig.plugin.v1 import (
    InstructionLimitError,
    OutOfMemoryError,
    RuntimeFailedError,
    UnsafeProgramError,
)

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

EXPORT = """
import sys, torch
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass

class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(4))

    def forward(self, x):
        self.cache.copy_(self.cache + x)
        return self.cache * 2

config = ExecutorchBackendConfig(
    memory_planning_pass=MemoryPlanningPass(alloc_mutable_buffers=False), emit_mutable_buffer_names=True
)
edge = to_edge(torch.export.export(Counting(), (torch.ones(4),)))
open(sys.argv[1], "wb").write(edge.to_executorch(config).buffer)
"""

UNPLANNED = {"allocation_info": None}


@pytest.fixture(scope="module")
def unplanned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of the real exporter whose mutable buffer has no memory."""
    path = tmp_path_factory.mktemp("unplanned") / "unplanned.pte"
    subprocess.run([sys.executable, "-c", EXPORT, path], check=True, capture_output=True)
    return path


def operators(*names: str) -> list[Node]:
    parts = (each.rpartition(".") if "." in each else (each, "", "") for each in names)
    return [table("Operator", name=name, overload=overload) for name, _, overload in parts]


def call(op_index: int, *args: int) -> Node:
    return instruction("KernelCall", op_index=op_index, args=list(args))


SEGMENT: dict[str, Any] = {
    "payloads": [bytes(16)],
    "constant_segment": table("SubsegmentOffsets", segment_index=0, offsets=[0]),
}
"""Constants in a segment, without which ExecuTorch 1.5 opens no program."""


def program(
    values: Sequence[Node], instructions: Sequence[Node], names: Sequence[str] = (), **fields: Any
) -> bytes:
    written = {"inputs": [], "outputs": [0], "operators": operators(*names), **fields}
    return write(plan(values=list(values), instructions=list(instructions), **written), **SEGMENT)


def refusal(data: bytes) -> str:
    """Return the place and the detail of the refusal."""
    with pytest.raises(UnsafeProgramError) as caught:
        etconfig.load_program(data, executor="executorch").load_method("forward")
    assert caught.value.method == "forward"
    return f"{caught.value.place}: {caught.value.detail}"


ADD, VIEW, SUM = "aten::add.out", "executorch_prim::et_view.default", "aten::sum.IntList_out"
ONE = value("Int", int_val=1)
JUMPED = "chains[0].instructions[0].cond_value_index: values[1] is an integer, expected a boolean or a tensor"

REFUSED = {
    "argument without memory": (
        lambda: program([tensor(), tensor(**UNPLANNED), ONE], [call(0, 0, 1, 2, 0, 0)], [ADD]),
        "chains[0].instructions[0].args[1], of aten::add.out: the tensor values[1] has no memory: "
        "nothing plans, stores or passes it",
    ),
    "argument of an unknown operator without memory": (
        lambda: program([tensor(), tensor(**UNPLANNED)], [call(0, 1, 0)], ["mine::op.out"]),
        "chains[0].instructions[0].args[0], of mine::op.out: the tensor values[1] has no memory: "
        "nothing plans, stores or passes it",
    ),
    "too few arguments": (
        lambda: program([tensor(), ONE], [call(0, 0, 0, 1)], [ADD]),
        "chains[0].instructions[0]: aten::add.out takes 4 arguments, but gets 3",
    ),
    "an integer for a tensor": (
        lambda: program([tensor(), ONE], [call(0, 0, 1, 1, 0, 0)], [ADD]),
        "chains[0].instructions[0].args[1], of aten::add.out: values[1] is an integer, expected a tensor",
    ),
    "None for a tensor": (
        lambda: program([tensor(), ONE, value("Null")], [call(0, 2, 0, 1, 0, 0)], [ADD]),
        "chains[0].instructions[0].args[0], of aten::add.out: values[2] is None, expected a tensor",
    ),
    "a number for a list": (
        lambda: program([tensor(), ONE], [call(0, 0, 1, 1, 1, 0, 0)], [SUM]),
        "chains[0].instructions[0].args[1], of aten::sum.IntList_out: values[1] is an integer, "
        "expected None or a list of integers",
    ),
    "a list with None": (
        lambda: program(
            [tensor(), tensor(**UNPLANNED), value("Null"), value("IntList", items=[2])],
            [call(0, 0, 3, 1)],
            [VIEW],
        ),
        "chains[0].instructions[0].args[1], of executorch_prim::et_view.default, values[3]: "
        "values[2] is None, expected an integer",
    ),
    "a view that is read before it is made": (
        lambda: program(
            [tensor(), tensor(**UNPLANNED), ONE, value("IntList", items=[2])],
            [call(0, 1, 1, 2, 0, 0), call(1, 0, 3, 1)],
            [ADD, VIEW],
        ),
        "chains[0].instructions[0].args[0], of aten::add.out: the tensor values[1] has no memory: "
        "nothing plans, stores or passes it",
    ),
    "a view that a jump leaves out": (
        lambda: program(
            [tensor(), tensor(**UNPLANNED), ONE, value("IntList", items=[2]), value("Bool", bool_val=False)],
            [
                instruction("JumpFalseCall", cond_value_index=4, destination_instruction=2),
                call(1, 0, 3, 1),
                call(0, 1, 1, 2, 0, 0),
            ],
            [ADD, VIEW],
        ),
        "chains[0].instructions[2].args[0], of aten::add.out: the tensor values[1] has no memory: "
        "nothing plans, stores or passes it",
    ),
    "a jump on an integer": (
        lambda: program(
            [tensor(), ONE],
            [instruction("JumpFalseCall", cond_value_index=1, destination_instruction=0)],
        ),
        JUMPED,
    ),
    "a move over another kind": (
        lambda: program([tensor(), ONE], [instruction("MoveCall", move_from=1, move_to=0)]),
        "chains[0].instructions[0]: moves an integer over values[0], a tensor",
    ),
    "a value of two kinds": (
        lambda: program(
            [tensor(), value("Null"), ONE, value("Bool", bool_val=False), value("Double", double_val=1.0)],
            [
                instruction("JumpFalseCall", cond_value_index=3, destination_instruction=2),
                instruction("MoveCall", move_from=2, move_to=1),
                instruction("MoveCall", move_from=4, move_to=1),
            ],
        ),
        "chains[0].instructions[2]: moves a float over values[1], one thing or another, by the way taken",
    ),
    "memory that the next run needs": (
        lambda: program([tensor()], [instruction("FreeCall", value_index=0)]),
        "chains[0].instructions[0]: releases the memory of values[0], which the next run needs",
    ),
    "a list of later tensors": (
        lambda: program([tensor(), value("TensorList", items=[2]), tensor()], []),
        "values[1]: the list names values[2], which comes after it",
    ),
    "a list of optional tensors as output": (
        lambda: program([tensor(), value("OptionalTensorList", items=[-1])], [], outputs=[1]),
        "outputs[0]: a list of optional tensors cannot be passed to Python",
    ),
    "a delegate's argument without memory": (
        lambda: write(
            plan(
                values=[tensor(), tensor(**UNPLANNED)],
                outputs=[0],
                delegates=[
                    table(
                        "BackendDelegate",
                        id="XnnpackBackend",
                        processed=table("BackendDelegateDataReference", location=0, index=0),
                    )
                ],
                instructions=[instruction("DelegateCall", delegate_index=0, args=[1, 0])],
            ),
            backend_delegate_data=[table("BackendDelegateInlineData", data=b"")],
            **SEGMENT,
        ),
        "chains[0].instructions[0].args[0], of a delegate: the tensor values[1] has no memory: "
        "nothing plans, stores or passes it",
    ),
}


class TestUnplannedBuffers:
    """A mutable buffer without memory, which ends the process with ExecuTorch's own Python API."""

    def test_the_refusal_names_the_buffer_and_the_way_out(self, unplanned: Path) -> None:
        with pytest.raises(UnsafeProgramError, match="'cache'") as caught:
            etconfig.load_program(unplanned, executor="executorch").load_method("forward")
        assert "alloc_mutable_buffers=True" in str(caught.value)
        assert "executor='numpy'" in str(caught.value)

    def test_the_other_executor_runs_it(self, unplanned: Path) -> None:
        method = etconfig.load_program(unplanned, executor="numpy").load_method("forward")
        assert [method.execute([np.ones(4, np.float32)])[0][0] for _ in range(3)] == [2, 4, 6]


class TestRefusals:
    @pytest.mark.parametrize("case", REFUSED)
    def test_the_refusal_names_the_value(self, case: str) -> None:
        make, expected = REFUSED[case]
        assert refusal(make()) == expected

    def test_more_memory_than_there_is(self) -> None:
        data = program([tensor()], [], non_const_buffer_sizes=[0, 2**62])
        with pytest.raises(OutOfMemoryError, match="'forward'"):
            etconfig.load_program(data, executor="executorch").load_method("forward")


class TestAccepted:
    def test_a_view_that_is_made_first(self) -> None:
        data = program(
            [tensor(), tensor(**UNPLANNED), ONE, value("IntList", items=[4]), value("Int", int_val=2)],
            [call(0, 0, 3, 1), call(1, 1, 1, 2, 0, 0)],
            [VIEW, ADD],
        )
        method = etconfig.load_program(data, executor="executorch").load_method("forward")
        assert [method.execute([])[0].tolist() for _ in range(2)] == [[0, 0], [0, 0]]

    def test_a_value_of_either_kind_moved_over_nothing(self) -> None:
        data = program([tensor(), value("Null"), ONE], [instruction("MoveCall", move_from=2, move_to=1)])
        with pytest.raises(UnsafeProgramError, match="at first"):
            etconfig.load_program(data, executor="executorch").load_method("forward")


FAILED_CHECKS: dict[str, Callable[[], bytes]] = {
    "size of a dimension that is not there": lambda: program(
        [tensor(), value("Int", int_val=7), value("Int", int_val=0)],
        [call(0, 0, 1, 2)],
        ["aten::sym_size.int"],
    ),
}


class TestDivisions:
    """ExecuTorch divides symbolic integers without a look at the divisor, which ends the process."""

    @pytest.mark.parametrize("operator", ["floordiv.int", "floordiv.Scalar", "mod.int", "mod.Scalar"])
    @pytest.mark.parametrize(("dividend", "divisor"), [(7, 0), (-(2**63), -1)])
    def test_a_division_that_faults_is_an_error(self, operator: str, dividend: int, divisor: int) -> None:
        numbers = [value("Int", int_val=each) for each in (dividend, divisor, 0)]
        data = program([tensor(), *numbers], [call(0, 1, 2, 3)], [f"executorch_prim::{operator}"])
        with (
            etconfig.load_program(data, executor="executorch").load_method("forward") as method,
            pytest.raises(RuntimeFailedError, match=f"division of {dividend} by {divisor}"),
        ):
            method.execute([])

    @pytest.mark.parametrize(
        ("operator", "dividend", "divisor", "expected"),
        [("floordiv.Scalar", -7, 2, -4), ("floordiv.int", 7, 2, 3), ("mod.int", 7, 4, 3)],
    )
    def test_other_divisions_give_what_they_gave(
        self, operator: str, dividend: int, divisor: int, expected: int
    ) -> None:
        numbers = [value("Int", int_val=each) for each in (dividend, divisor, 0)]
        data = program(numbers, [call(0, 0, 1, 2)], [f"executorch_prim::{operator}"], outputs=[2])
        with etconfig.load_program(data, executor="executorch").load_method("forward") as method:
            assert method.execute([]) == [expected]


IMAGE: dict[str, Any] = {"sizes": [1, 1, 4, 4], "dim_order": [0, 1, 2, 3]}
LONG = 4


def pooling() -> bytes:
    """A pooling with a stride of 0, which ExecuTorch does not look at."""
    pair, zeros = (value("IntList", items=[each, each]) for each in (3, 4))
    values = [tensor(**IMAGE), tensor(**IMAGE), pair, ONE, value("Int", int_val=0), zeros]
    indices = tensor(**IMAGE, scalar_type=LONG)
    more = [value("Bool", bool_val=False), indices, value("TensorList", items=[1, 7])]
    return program(
        [*values, *more],
        [call(0, 0, 2, 5, 5, 2, 6, 1, 7, 8)],
        ["aten::max_pool2d_with_indices.out"],
        non_const_buffer_sizes=[0, 256],
    )


class TestDivisionsInKernels:
    """The processor's signal for a division by zero is an error, and not the end of the process."""

    def test_it_is_an_error_of_the_run(self) -> None:
        with etconfig.load_program(pooling(), executor="executorch").load_method("forward") as method:
            for _ in range(2):
                with pytest.raises(RuntimeFailedError, match="Internal") as caught:
                    method.execute([])
                assert any("divided an integer by zero" in line for line in caught.value.log)

    def test_other_code_gets_its_signal_as_before(self, in_process: Callable[..., str]) -> None:
        code = """
import signal, sys
import numpy as np
import etconfig
method = etconfig.load_program(sys.argv[1], executor="executorch").load_method("forward")
method.execute([np.ones((1, 1, 8, 8), np.float32)])
signal.signal(signal.SIGFPE, lambda *_: print("ours"))
signal.raise_signal(signal.SIGFPE)
"""
        path = Path(__file__).parents[3] / "tests" / "data" / "digits" / "digits_portable.pte"
        assert in_process(code, path).splitlines()[-1] == "ours"

    def test_a_fault_elsewhere_ends_the_process(self) -> None:
        code = """
import ctypes, signal
import etconfig
etconfig.load_program({!r}, executor="executorch").load_method("forward")
ctypes.CDLL(None)["raise"](signal.SIGFPE)
"""
        path = Path(__file__).parents[3] / "tests" / "data" / "digits" / "digits_portable.pte"
        done = subprocess.run([sys.executable, "-c", code.format(str(path))], check=False)
        assert done.returncode == -8


class TestFailedChecks:
    """ExecuTorch ends the process where a check inside of it fails; here it is an error."""

    @pytest.mark.parametrize("case", FAILED_CHECKS)
    def test_it_is_an_error_with_the_runtimes_log(self, case: str) -> None:
        method = etconfig.load_program(FAILED_CHECKS[case](), executor="executorch").load_method("forward")
        with pytest.raises(RuntimeFailedError) as caught:
            method.execute([])
        assert any("dim" in line for line in caught.value.log), caught.value.log
        with pytest.raises(RuntimeFailedError, match="InvalidState"):
            method.execute([])


NEVER = value("Bool", bool_val=False)


def jump(to: int) -> Node:
    return instruction("JumpFalseCall", cond_value_index=0, destination_instruction=to)


class TestEndlessLoops:
    """A damaged program that jumps back forever ends with one error on both executors."""

    @pytest.mark.parametrize("executor", ["numpy", "executorch"])
    @pytest.mark.parametrize(
        ("options", "targets"), [({}, [0]), ({"timeout": 500.0}, [1, 0])], ids=["to itself", "around"]
    )
    def test_the_limit_ends_it(self, executor: str, options: dict[str, float], targets: list[int]) -> None:
        data = program([NEVER], [jump(each) for each in targets], outputs=[])
        with etconfig.load_program(data, executor=executor).load_method("forward") as method:
            for _ in range(2):  # the first error leaves the method usable
                with pytest.raises(InstructionLimitError) as caught:
                    method.execute([], **options)
        assert (caught.value.method, caught.value.limit) == ("forward", 10_000_000)
